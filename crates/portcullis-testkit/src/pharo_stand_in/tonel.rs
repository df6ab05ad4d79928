//! Classes as Tonel text, out and in again: as much of the format as the world needs.

use std::{fs, io, path::Path};

use super::world::{Class, Method, World, selector_of};

/// The source of one class, with the methods of its own package.
pub(super) fn source_of(class: &Class) -> String {
    let own = class.methods.iter().filter(|method| method.package == class.package);
    let methods: String = own.map(|method| method_text(class, method)).collect();
    format!("{}{methods}", definition(class))
}

fn definition(class: &Class) -> String {
    let comment = if class.comment.is_empty() {
        String::new()
    } else {
        format!("\"\n{}\n\"\n", class.comment.replace('"', "\"\""))
    };
    let keyword = if class.is_trait { "Trait" } else { "Class" };
    let variables: Vec<_> = class.inst_vars.iter().map(|name| format!("'{name}'")).collect();
    format!(
        "{comment}{keyword} {{\n\t#name : '{}',\n\t#superclass : '{}',\n\t#instVars : [ {} ],\n\t#category : '{package}',\n\t#package : '{package}'\n}}\n",
        class.name,
        class.superclass,
        variables.join(" "),
        package = class.package
    )
}

fn method_text(class: &Class, method: &Method) -> String {
    let (header, body) = method.source.split_once('\n').unwrap_or((&method.source, ""));
    let category = &method.category;
    let class = method.class_name(class);
    format!("\n{{ #category : '{category}' }}\n{class} >> {header} [\n{body}\n]\n")
}

/// Writes a package into a folder of its name, one file for each class.
pub(super) fn export(world: &World, package: &str, directory: &Path) -> io::Result<()> {
    let folder = directory.join(package);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.st"), format!("Package {{ #name : '{package}' }}\n"))?;
    for class in world.classes.values() {
        if class.package == package {
            let kind = if class.is_trait { "trait" } else { "class" };
            fs::write(folder.join(format!("{}.{kind}.st", class.name)), source_of(class))?;
            continue;
        }
        let extensions: String = class
            .methods
            .iter()
            .filter(|method| method.package == package)
            .map(|method| method_text(class, method))
            .collect();
        if !extensions.is_empty() {
            let text = format!("Extension {{ #name : '{}' }}\n{extensions}", class.name);
            fs::write(folder.join(format!("{}.extension.st", class.name)), text)?;
        }
    }
    Ok(())
}

/// Reads what `export` wrote.
pub(super) fn import(world: &mut World, package: &str, directory: &Path) -> io::Result<()> {
    let folder = directory.join(package);
    let mut texts = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != "package.st") {
            texts.push((path.clone(), fs::read_to_string(path)?));
        }
    }
    world.packages.insert(package.to_owned());
    // Extensions last: their classes may be in this package's neighbours, or just be loaded.
    texts.sort_by_key(|(path, _)| path.to_string_lossy().contains(".extension."));
    for (_, text) in texts {
        read_class(world, package, &text);
    }
    Ok(())
}

fn read_class(world: &mut World, package: &str, text: &str) {
    let Some(name) = quoted_after(text, "#name : ") else {
        return;
    };
    if let Some(superclass) = quoted_after(text, "#superclass : ") {
        // What other packages added to the class stays.
        let mut methods = world.classes.remove(&name).map(|class| class.methods).unwrap_or_default();
        methods.retain(|method| method.package != package);
        let class = Class {
            name: name.clone(),
            superclass,
            package: package.to_owned(),
            comment: comment_of(text),
            is_trait: text.lines().any(|line| line == "Trait {"),
            inst_vars: variables_of(text),
            methods,
        };
        world.classes.insert(name.clone(), class);
    }
    for method in read_methods(package, text) {
        world.add_method(&name, method);
    }
}

fn quoted_after(text: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(key)?;
    let (_, rest) = rest.split_once('\'')?;
    Some(rest.split_once('\'')?.0.to_owned())
}

fn comment_of(text: &str) -> String {
    let inner = text.strip_prefix("\"\n").and_then(|rest| rest.split_once("\n\"\n"));
    inner.map(|(comment, _)| comment.replace("\"\"", "\"")).unwrap_or_default()
}

fn variables_of(text: &str) -> Vec<String> {
    let list = text.split_once("#instVars : [").and_then(|(_, rest)| rest.split_once(']'));
    let names = list.map_or("", |(names, _)| names);
    names.split_whitespace().map(|name| name.trim_matches('\'').to_owned()).collect()
}

fn read_methods(package: &str, text: &str) -> Vec<Method> {
    let mut methods = Vec::new();
    let mut lines = text.lines();
    let mut category = String::new();
    while let Some(line) = lines.next() {
        if let Some(name) = quoted_after(line, "{ #category : ") {
            category = name;
        } else if let Some((class, header)) = line.strip_suffix(" [").and_then(|line| line.split_once(" >> "))
        {
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != "]").collect();
            methods.push(Method {
                selector: selector_of(header),
                source: format!("{header}\n{}", body.join("\n")),
                package: package.to_owned(),
                category: category.clone(),
                class_side: class.ends_with(" class"),
            });
        }
    }
    methods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pharo_stand_in::fixture;

    #[test]
    fn import_brings_what_export_wrote() {
        let directory = std::env::temp_dir().join(format!("tonel-{}", std::process::id()));
        let whole = fixture::world("");
        let packages: Vec<_> = whole.packages.iter().cloned().collect();
        let mut empty = fixture::world("");
        empty.classes.clear();
        for package in &packages {
            export(&whole, package, &directory).unwrap();
        }
        for package in packages.iter().chain(&packages) {
            import(&mut empty, package, &directory).unwrap();
        }
        fs::remove_dir_all(&directory).unwrap();
        for package in &packages {
            assert_eq!(empty.method_names(package), whole.method_names(package));
        }
        for (name, class) in &whole.classes {
            assert_eq!(source_of(&empty.classes[name]), source_of(class));
        }
    }
}
