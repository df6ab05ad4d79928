//! Tool definitions: the fields that are judged. The rest stays in the value and is written back as it is.
//!
//! Servers are read a little more kindly than clients: `null` counts as absent here.

use portcullis_json::{Object, Value};

use crate::params::{Fields, NAME_BYTES_MAX};
use crate::{FieldFault, Problem, keys};

/// What a server says of one tool. Borrowed from the list it came in.
#[derive(Clone, Debug)]
pub struct ToolDefinition<'a> {
    /// The name it is called by.
    pub name: &'a str,
    /// A name for people.
    pub title: Option<&'a str>,
    /// What it does, in the server's words.
    pub description: Option<&'a str>,
    /// The schema of its arguments.
    pub input_schema: &'a Object,
    /// The schema of its structured result.
    pub output_schema: Option<&'a Value>,
    /// Hints; never proof.
    pub annotations: Annotations<'a>,
    /// Everything, as it came.
    pub definition: &'a Object,
}

/// A server's hints about a tool, as far as it gave any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations<'a> {
    /// A name for people.
    pub title: Option<&'a str>,
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy.
    pub destructive: Option<bool>,
    /// Calling it again changes nothing more.
    pub idempotent: Option<bool>,
    /// It reaches beyond its own world.
    pub open_world: Option<bool>,
}

impl<'a> ToolDefinition<'a> {
    /// From one element of a `tools` array.
    pub fn read(value: &'a Value) -> Result<ToolDefinition<'a>, FieldFault> {
        let fault = |problem| FieldFault { place: "result", key: "tools", problem };
        let definition = value.as_object().ok_or(fault(Problem::Not("an array of objects")))?;
        ToolDefinition::of(definition)
    }

    /// From a definition.
    pub fn of(definition: &'a Object) -> Result<ToolDefinition<'a>, FieldFault> {
        let fault = |problem| FieldFault { place: "result", key: "tools", problem };
        if !keys::tool_is_clear(definition) {
            return Err(fault(Problem::Confusable));
        }
        let fields = Fields::new("tool", definition);
        Ok(ToolDefinition {
            name: require_name(&fields)?,
            title: fields.nullable_string("title")?,
            description: fields.nullable_string("description")?,
            input_schema: fields.require_object("inputSchema")?,
            output_schema: definition.get("outputSchema").filter(not_null),
            annotations: Annotations::read(definition.get("annotations")),
            definition,
        })
    }
}

fn require_name<'a>(fields: &Fields<'a>) -> Result<&'a str, FieldFault> {
    match fields.require_bounded("name", NAME_BYTES_MAX)? {
        "" => Err(fields.fault("name", Problem::Not("a name that is not empty"))),
        name => Ok(name),
    }
}

fn not_null(value: &&Value) -> bool {
    !matches!(value, Value::Null)
}

impl<'a> Annotations<'a> {
    /// A hint that cannot be read is no hint.
    fn read(annotations: Option<&'a Value>) -> Annotations<'a> {
        let get = |key| annotations.and_then(|annotations| annotations.get(key));
        let hint = |key| get(key).and_then(Value::as_bool);
        Annotations {
            title: get("title").and_then(Value::as_str),
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }
}
