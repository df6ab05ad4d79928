//! Tools as administrators see them: name, class, and who said so.
//!
//! The same rules as in the gateway, over definitions that somebody else brings.

use std::collections::BTreeMap;

use portcullis_catalogue::{Siblings, ToolDefinition, classify};
use portcullis_json::{Object, Value};
use portcullis_policy::Class;

/// Each tool with its class; `overrides` are the administrator's own.
pub(super) fn described(
    server: &str,
    overrides: &BTreeMap<String, Class>,
    definitions: &[Value],
) -> Vec<Value> {
    let names = definitions.iter().filter_map(|tool| tool.get("name")?.as_str());
    let siblings = Siblings::of_names(server, names);
    let readable =
        definitions.iter().filter(|tool| tool.get("name").is_some_and(|name| name.as_str().is_some()));
    readable.map(|tool| described_one(overrides, &siblings, tool).into()).collect()
}

fn described_one(overrides: &BTreeMap<String, Class>, siblings: &Siblings, definition: &Value) -> Object {
    let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = ToolDefinition::from_value(definition).ok();
    let by_rules = tool.map(|tool| classify(&tool, siblings).class);
    let by_hand = overrides.get(name).copied();
    let source = match (by_hand, by_rules) {
        (Some(_), _) => Value::from("override"),
        (None, Some(_)) => Value::from("rules"),
        (None, None) => Value::Null,
    };
    let class = |class: Option<Class>| class.map_or(Value::Null, |class| class.name().into());
    Object::new()
        .with("name", name)
        .with("class", class(by_hand.or(by_rules)))
        .with("class_source", source)
        .with("class_by_rules", class(by_rules))
}
