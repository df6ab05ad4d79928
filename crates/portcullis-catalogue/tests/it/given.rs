//! Values for tests, out of JSON text.

use portcullis_catalogue::ToolDefinition;
use portcullis_json::{Limits, Value, parse};

/// A value out of JSON text.
pub(crate) fn json(text: &str) -> Value {
    let limits = Limits { bytes_max: 64 << 20, depth_max: 128 };
    parse(text.as_bytes(), &limits).unwrap()
}

/// A definition out of JSON text.
pub(crate) fn tool(text: &str) -> ToolDefinition {
    ToolDefinition::from_value(&json(text)).unwrap()
}
