//! Reading labelled tools from JSON lines.

use portcullis_json::{Limits, Object, Value, parse};

use crate::{Class, ToolDefinition};

/// What a row says is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The vendor's `readOnlyHint`: true is Read, all else changes something.
    ReadOnly(bool),
    /// A class label.
    Class(Class),
    /// A label that is none of the five; left out of every figure.
    NotScored,
}

/// One labelled tool.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The server it belongs to; figures are split by it.
    pub server: String,
    /// The definition, annotations included if the row has them.
    pub tool: ToolDefinition,
    /// What is right.
    pub truth: Truth,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The line, counted from one.
    pub line: usize,
    /// What was wrong.
    pub message: String,
}

/// Reads every line; what cannot be read is reported and left out.
pub fn read_rows(text: &str) -> (Vec<Labelled>, Vec<RowFault>) {
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match read_row(line) {
            Ok(row) => rows.push(row),
            Err(message) => faults.push(RowFault { line: index + 1, message }),
        }
    }
    (rows, faults)
}

fn read_row(line: &str) -> Result<Labelled, String> {
    let value = parse(line.as_bytes(), &Limits::message()).map_err(|fault| fault.to_string())?;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let server = text("server").ok_or("no `server`")?.to_owned();
    let tool = tool_of_row(&value)?;
    let truth = match text("category") {
        Some(label) => Class::from_name(label).map_or(Truth::NotScored, Truth::Class),
        None => match tool.hints.read_only {
            Some(read_only) => Truth::ReadOnly(read_only),
            None => Truth::NotScored,
        },
    };
    Ok(Labelled { server, tool, truth })
}

/// A definition out of a row: `tool`, `description`, `inputKeys`, `annotations`.
pub(crate) fn tool_of_row(value: &Value) -> Result<ToolDefinition, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let name = text("tool").or_else(|| text("name")).ok_or("no `tool`")?;
    let mut definition = Object::new().with("name", name);
    if let Some(description) = text("description") {
        definition = definition.with("description", description);
    }
    if let Some(keys) = value.get("inputKeys").and_then(Value::as_array) {
        definition = definition.with("inputSchema", schema_of_keys(keys));
    }
    for key in ["annotations", "inputSchema", "outputSchema", "title"] {
        if let Some(found) = value.get(key) {
            definition = definition.with(key, found.clone());
        }
    }
    ToolDefinition::from_value(&Value::Object(definition)).map_err(|fault| fault.to_string())
}

fn schema_of_keys(keys: &[Value]) -> Value {
    let mut properties = Object::new();
    for key in keys.iter().filter_map(Value::as_str) {
        properties.insert(key, Value::Object(Object::new()));
    }
    Value::Object(Object::new().with("type", "object").with("properties", properties))
}
