//! The endpoints that every image side has.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    answers::Outcome,
    evaluator,
    request::Recorded,
    screen::{self, Screenshot},
    test_runs, tonel,
    world::{Class, World},
};

/// The answer; nothing when there is no such endpoint.
pub(super) fn answer(world: &mut World, request: &Recorded, screenshot: Screenshot) -> Option<Outcome> {
    let handler = match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/eval" | "/eval/") => eval,
        ("POST", "/apply-settings") => apply_settings,
        ("GET", "/get-settings") => get_settings,
        ("GET", "/list-packages") => list_packages,
        ("GET", "/list-classes") => list_classes,
        ("GET", "/list-extended-classes") => list_extended_classes,
        ("GET", "/list-methods") => list_methods,
        ("GET", "/get-class-source") => get_class_source,
        ("GET", "/get-method-source") => get_method_source,
        ("GET", "/get-class-comment") => get_class_comment,
        ("GET", "/search-classes-like") => search_classes_like,
        ("GET", "/search-traits-like") => search_traits_like,
        ("GET", "/search-methods-like") => search_methods_like,
        ("GET", "/search-implementors") => search_implementors,
        ("GET", "/search-references") => search_references,
        ("GET", "/search-references-to-class") => search_references_to_class,
        ("GET", "/export-package") => export_package,
        ("GET", "/import-package") => import_package,
        ("GET", "/run-package-test") => run_package_test,
        ("GET", "/run-class-test") => run_class_test,
        ("GET", "/install-project") => install_project,
        ("GET", "/read-screen") => {
            return Some(read_screen(world, request, screenshot).unwrap_or_else(|error| error));
        }
        _ => return None,
    };
    Some(handler(world, request).unwrap_or_else(|error| error))
}

/// Both sides are what the image answers; the left one for the use of `?`.
type Answer = Result<Outcome, Outcome>;

pub(super) fn class<'a>(world: &'a World, name: &str) -> Result<&'a Class, Outcome> {
    world.classes.get(name).ok_or_else(|| {
        Outcome::error_in(
            format!("KeyNotFound: key #{name} not found in SystemDictionary"),
            "SystemDictionary",
            "a SystemDictionary(lots of globals)",
        )
    })
}

fn package<'a>(world: &World, request: &'a Recorded) -> Result<&'a str, Outcome> {
    let name = request.text("package_name")?;
    if world.packages.contains(name) {
        Ok(name)
    } else {
        Err(Outcome::error(format!("NotFound: package {name} not found")))
    }
}

fn eval(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["code"])?;
    Ok(evaluator::evaluate(world, request.text("code")?))
}

fn apply_settings(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["settings"])?;
    let Some(Value::Object(settings)) = request.parameters.get("settings") else {
        return Err(Outcome::error("KeyNotFound: key #settings not found in Dictionary"));
    };
    for (name, value) in settings {
        world.settings.insert(camel_case(name), value.clone());
    }
    Ok(Outcome::value("Settings applied successfully"))
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (head, tail) = part.split_at(part.chars().next().map_or(0, char::len_utf8));
        format!("{name}{}{tail}", head.to_uppercase())
    })
}

fn get_settings(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&[])?;
    Ok(Outcome::value(world.settings.clone()))
}

fn list_packages(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&[])?;
    Ok(Outcome::value(json!(world.packages)))
}

fn list_classes(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name"])?;
    let package = package(world, request)?;
    let classes = world.classes.values().filter(|class| class.package == package);
    Ok(Outcome::value(json!(classes.map(|class| &class.name).collect::<Vec<_>>())))
}

fn list_extended_classes(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name"])?;
    Ok(Outcome::value(json!(world.extended_classes(package(world, request)?))))
}

fn list_methods(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name"])?;
    Ok(Outcome::value(json!(world.method_names(package(world, request)?))))
}

fn get_class_source(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name"])?;
    Ok(Outcome::value(tonel::source_of(class(world, request.text("class_name")?)?)))
}

fn get_method_source(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name", "method_name", "is_class_method"])?;
    let words: Vec<_> = request.text("class_name")?.split(' ').collect();
    let flag = request.text_or("is_class_method", "false")?.trim().eq_ignore_ascii_case("true");
    let class = class(world, words.first().unwrap_or(&""))?;
    let selector = request.text("method_name")?;
    match class.method(selector, flag || words.len() == 2) {
        Some(method) => Ok(Outcome::value(method.source.as_str())),
        None => Err(Outcome::error_in(
            format!("KeyNotFound: key #{selector} not found in MethodDictionary"),
            "MethodDictionary",
            "a MethodDictionary",
        )),
    }
}

fn get_class_comment(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name"])?;
    Ok(Outcome::value(class(world, request.text("class_name")?)?.comment.as_str()))
}

fn search_classes_like(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name_query"])?;
    Ok(Outcome::value(world.names_beginning_with(request.text("class_name_query")?, false)))
}

fn search_traits_like(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["trait_name_query"])?;
    Ok(Outcome::value(world.names_beginning_with(request.text("trait_name_query")?, true)))
}

fn search_methods_like(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["method_name_query"])?;
    Ok(Outcome::value(json!(world.selectors_beginning_with(request.text("method_name_query")?))))
}

fn search_implementors(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["method_name"])?;
    let selector = request.text("method_name")?;
    Ok(Outcome::value(world.found(|method| method.selector == selector)))
}

fn search_references(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["program_symbol"])?;
    let symbol = request.text("program_symbol")?;
    Ok(Outcome::value(world.found(|method| method.refers_to(symbol))))
}

fn search_references_to_class(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name"])?;
    let name = class(world, request.text("class_name")?)?.name.clone();
    Ok(Outcome::value(world.found(|method| method.refers_to(&name))))
}

fn export_package(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name", "path"])?;
    let package = package(world, request)?;
    let path = request.text("path")?;
    match tonel::export(world, package, Path::new(path)) {
        Ok(()) => Ok(Outcome::value(format!("{package} exported to: {path}"))),
        Err(fault) => Err(Outcome::error(format!("CannotOpenFile: {path}: {fault}"))),
    }
}

fn import_package(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name", "path"])?;
    let (package, path) = (request.text("package_name")?, request.text("path")?);
    match tonel::import(world, package, Path::new(path)) {
        Ok(()) => Ok(Outcome::value(format!("{package} imported from: {path}"))),
        Err(_) => Err(Outcome::error(format!("DirectoryDoesNotExist: {path}/{package}"))),
    }
}

fn run_package_test(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["package_name"])?;
    Ok(Outcome::value(test_runs::run_package(world, package(world, request)?)))
}

fn run_class_test(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name"])?;
    Ok(Outcome::value(test_runs::run_class(class(world, request.text("class_name")?)?)))
}

fn install_project(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["project_name", "repository_url", "load_groups", "force"])?;
    let (project, url) = (request.text("project_name")?, request.text("repository_url")?);
    let groups = request.text_or("load_groups", "")?;
    if !url.contains("://") {
        return Err(Outcome::error(format!("Could not resolve: BaselineOf{project} in {url}")));
    }
    if request.text_or("force", "true")? != "true" {
        return Err(Outcome::error("stand-in: force is sent only when it is true"));
    }
    world.packages.insert(format!("BaselineOf{project}"));
    Ok(Outcome::value(format!("Installed: BaselineOf{project} [{groups}] from {url}")))
}

fn read_screen(world: &mut World, request: &Recorded, screenshot: Screenshot) -> Answer {
    request.expect_only(&["target_type", "capture_screenshot"])?;
    let target_type = request.text_or("target_type", "world")?;
    let (structure, summary) = screen::structure(target_type);
    let mut result = json!({"target_type": target_type, "structure": structure, "summary": summary});
    if request.text_or("capture_screenshot", "true")?.eq_ignore_ascii_case("true") {
        let directory = world.settings.get("screenshotDir").and_then(Value::as_str).unwrap_or_default();
        let path = screen::screenshot(Path::new(directory), screenshot)
            .map_err(|fault| Outcome::error(format!("CannotOpenFile: {fault}")))?;
        if let Value::Object(members) = &mut result {
            members.insert("screenshot".to_owned(), path.into());
        }
    }
    Ok(Outcome::value(result))
}

#[cfg(test)]
mod tests {
    #[test]
    fn setting_names_become_camel_case() {
        assert_eq!(super::camel_case("stack_size"), "stackSize");
        assert_eq!(super::camel_case("stackSize"), "stackSize");
        assert_eq!(super::camel_case("a__ö"), "aÖ");
    }
}
