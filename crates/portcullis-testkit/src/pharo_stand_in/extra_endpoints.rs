//! The endpoints that only newer image sides have. Flags and numbers are real JSON values here.

use serde_json::{Value, json};

use super::{
    answers::Outcome,
    endpoints::class,
    evaluator,
    request::Recorded,
    world::{Class, Method, World, selector_of},
};

type Answer = Result<Outcome, Outcome>;

/// The answer; nothing when there is no such endpoint.
pub(super) fn answer(world: &mut World, request: &Recorded) -> Option<Outcome> {
    let handler = match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/transcript/poll") => poll_transcript,
        ("POST", "/transcript/clear") => clear_transcript,
        ("POST", "/inspect/expression") => inspect_expression,
        ("GET", "/inspect/ref") => inspect_ref,
        ("POST", "/compile-method") => compile_method,
        ("POST", "/compile-class") => compile_class,
        ("POST", "/remove-method") => remove_method,
        ("POST", "/remove-class") => remove_class,
        _ => return None,
    };
    Some(handler(world, request).unwrap_or_else(|error| error))
}

fn position(request: &Recorded, name: &str) -> Result<usize, Outcome> {
    let text = request.text(name)?;
    text.parse().map_err(|_| Outcome::error(format!("{text} is no position")))
}

fn poll_transcript(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["since"])?;
    let entries: Vec<_> = world.transcript.iter().skip(position(request, "since")?).collect();
    let text: String = entries.iter().map(|entry| entry.as_str()).collect();
    Ok(Outcome::value(json!({"seq": world.transcript.len(), "text": text, "entries": entries, "dropped": 0})))
}

fn clear_transcript(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&[])?;
    world.transcript.clear();
    Ok(Outcome::value(json!({"seq": 0})))
}

fn inspect_expression(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["expression"])?;
    let printed = match evaluator::evaluate(world, request.text("expression")?) {
        Outcome::Result(json) => json,
        Outcome::NotSerialisable(class) => format!("a {class}"),
        other => return Err(other),
    };
    world.inspected.push(printed);
    Ok(tree(world, world.inspected.len() - 1))
}

fn inspect_ref(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["ref"])?;
    Ok(tree(world, position(request, "ref")?))
}

fn tree(world: &World, reference: usize) -> Outcome {
    match world.inspected.get(reference) {
        Some(printed) => Outcome::value(
            json!({"ref": reference, "print_string": printed, "inst_vars": [], "indexable": []}),
        ),
        None => Outcome::error(format!("ref {reference} is unknown or was evicted")),
    }
}

fn compile_method(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name", "method_source", "category", "is_class_method"])?;
    let name = request.text("class_name")?;
    let package = class(world, name)?.package.clone();
    let (source, class_side) = (request.text("method_source")?, request.flag("is_class_method")?);
    let category = request.text_or("category", "as yet unclassified")?;
    let selector = selector_of(source.lines().next().unwrap_or_default());
    if selector.is_empty() || source.contains("^ ^") {
        return Err(Outcome::error("SyntaxErrorNotification: Variable or expression expected ->"));
    }
    let method = Method {
        selector: selector.clone(),
        source: source.to_owned(),
        package,
        category: category.to_owned(),
        class_side,
    };
    let before = world.add_method(name, method);
    Ok(Outcome::value(json!({
        "selector": selector, "class_name": name, "is_class_method": class_side,
        "category": category, "overwritten": before.is_some(), "previous_source": before,
    })))
}

fn compile_class(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&[
        "class_name",
        "package",
        "superclass",
        "tag",
        "inst_vars",
        "class_vars",
        "class_inst_vars",
    ])?;
    let (name, package) = (request.text("class_name")?, request.text("package")?);
    let inst_vars = request.texts("inst_vars")?;
    request.texts("class_vars")?;
    request.texts("class_inst_vars")?;
    let superclass = class(world, request.text("superclass")?)?.name.clone();
    let before = world.classes.remove(name);
    let created = before.is_none();
    world.packages.insert(package.to_owned());
    world.classes.insert(
        name.to_owned(),
        Class {
            name: name.to_owned(),
            superclass,
            package: package.to_owned(),
            comment: String::new(),
            is_trait: false,
            inst_vars,
            methods: before.map(|class| class.methods).unwrap_or_default(),
        },
    );
    Ok(Outcome::value(json!({"class_name": name, "created": created})))
}

fn remove_method(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name", "selector", "is_class_method"])?;
    let (name, selector) = (request.text("class_name")?, request.text("selector")?);
    let class_side = request.flag("is_class_method")?;
    let class = world.classes.get_mut(name);
    let existed = class.is_some_and(|class| class.remove(selector, class_side).is_some());
    Ok(Outcome::value(json!({
        "class_name": name, "selector": selector, "is_class_method": class_side,
        "existed": existed, "removed": existed,
    })))
}

fn remove_class(world: &mut World, request: &Recorded) -> Answer {
    request.expect_only(&["class_name"])?;
    let name = request.text("class_name")?;
    let existed: Value = world.classes.remove(name).is_some().into();
    Ok(Outcome::value(json!({"class_name": name, "existed": existed, "removed": existed})))
}
