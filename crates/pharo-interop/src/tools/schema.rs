//! The JSON Schemas of a tool, for the tool list. Checking does not read them; `check` and these
//! are both made from the same table.

use serde_json::{Map, Value, json};

use super::{Absent, Argument, Kind, ResultKind, Tool};
use crate::{image::Image, time_limits::TIME_LIMIT_SECONDS_MAX};

/// The schema of a tool's arguments. `image` is there only if there is a choice.
pub(crate) fn input_schema(tool: &Tool, images: &[Image]) -> Map<String, Value> {
    let mut properties: Map<String, Value> =
        tool.arguments.iter().map(|argument| (argument.name.to_owned(), property(argument))).collect();
    properties.insert(
        "timeout_seconds".into(),
        json!({"type": "integer", "minimum": 1, "maximum": TIME_LIMIT_SECONDS_MAX,
               "description": "Give up waiting after this many seconds"}),
    );
    if let [first, _, ..] = images {
        let names: Vec<_> = images.iter().map(|image| image.name.as_str()).collect();
        properties.insert(
            "image".into(),
            json!({"type": "string", "enum": names, "default": first.name,
                   "description": "Which image to ask"}),
        );
    }
    if let Some(paging) = tool.result.paging() {
        let unit = paging.unit;
        properties.insert(
            "offset".into(),
            json!({"type": "integer", "minimum": 0, "default": 0,
                   "description": format!("Leave out this many {unit} at the beginning")}),
        );
        properties.insert(
            "limit".into(),
            json!({"type": "integer", "minimum": 1, "maximum": paging.max, "default": paging.default,
                   "description": format!("At most this many {unit}")}),
        );
    }
    let required: Vec<_> = tool
        .arguments
        .iter()
        .filter(|argument| matches!(argument.absent, Absent::Refused))
        .map(|argument| argument.name)
        .collect();
    object(json!({"type": "object", "properties": properties, "required": required,
                  "additionalProperties": false}))
}

fn property(argument: &Argument) -> Value {
    let kind = match argument.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::TextOrNull => json!({"type": ["string", "null"]}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::TextsOrNull => json!({"type": ["array", "null"], "items": {"type": "string"}}),
        Kind::Object => json!({"type": "object"}),
    };
    let mut property = object(kind);
    property.insert("description".into(), argument.description.into());
    let default = match argument.absent {
        Absent::Refused => None,
        Absent::Text(text) => Some(Value::from(text)),
        Absent::Flag(flag) => Some(Value::from(flag)),
        Absent::Count(count) => Some(Value::from(count)),
        Absent::LeftOutUnlessTrue => Some(Value::from(false)),
        Absent::EmptyList | Absent::LeftOut => Some(Value::Null),
    };
    property.extend(default.map(|default| ("default".to_owned(), default)));
    property.into()
}

/// The schema of the structured content: the image's own answer, with what this server adds.
pub(crate) fn output_schema(tool: &Tool) -> Map<String, Value> {
    let mut properties = object(json!({
        "success": {"type": "boolean"},
        "result": result(tool.result),
        "error": {"description": "The image's error, or a text when the image was not reached"},
        "failure": {"type": "object", "properties": {
            "kind": {"type": "string"}, "what": {"type": "string"}, "next": {"type": "string"}}},
    }));
    if tool.result.paging().is_some() {
        properties.insert("page".into(), page());
    }
    if tool.result == ResultKind::TestReport {
        properties.insert("tests".into(), test_report());
    }
    object(json!({"type": "object", "properties": properties, "required": ["success"]}))
}

fn result(kind: ResultKind) -> Value {
    let text = || json!({"type": ["string", "null"]});
    match kind {
        ResultKind::Anything => json!({"description": "The value, as JSON"}),
        ResultKind::Source | ResultKind::Message | ResultKind::TestReport => text(),
        ResultKind::Names => json!({"type": "array", "items": {"type": "string"}}),
        ResultKind::Methods => json!({"type": "array", "items": {"type": "object", "properties": {
            "class": text(), "method": text(), "package": text()}}}),
        ResultKind::Screen => json!({"type": "object", "properties": {
            "screenshot": text(), "target_type": text(), "summary": text(),
            "structure": {"type": ["object", "null"]}}}),
        ResultKind::Object(members) => {
            let members: Map<String, Value> = members
                .iter()
                .map(|(name, kind)| {
                    ((*name).to_owned(), kind.map_or(json!({}), |kind| json!({"type": kind})))
                })
                .collect();
            json!({"type": "object", "properties": members})
        }
    }
}

fn page() -> Value {
    json!({"type": "object", "description": "Which part of the whole this is", "properties": {
        "offset": {"type": "integer"}, "count": {"type": "integer"}, "total": {"type": "integer"},
        "unit": {"type": "string"}, "next_offset": {"type": ["integer", "null"]}}})
}

fn test_report() -> Value {
    let names = json!({"type": "array", "items": {"type": "string"}});
    json!({"type": "object", "description": "The counts and failing tests of the text", "properties": {
        "ran": {"type": "integer"}, "passed": {"type": "integer"}, "all_passed": {"type": ["boolean", "null"]},
        "failing": names, "erring": names}})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
