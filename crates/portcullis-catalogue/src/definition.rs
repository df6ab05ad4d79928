//! A tool's definition as the server published it: only the fields that are judged, everything bounded.
//!
//! Reads what `tools/list` gives. Knows nothing of classes; follows no reference, least of all over a
//! network.

use portcullis_json::{Pointer, Value};

/// Parameters that are looked at; a schema with more gets a finding and the rest is not read.
pub const PARAMETERS_MAX: usize = 400;
/// Objects inside one another that are looked at.
pub const SCHEMA_DEPTH_MAX: usize = 6;
/// Values of one `enum` that are looked at.
pub const ENUM_VALUES_MAX: usize = 200;
/// A longer name is refused.
pub const NAME_BYTES_MAX: usize = 512;

/// What the vendor states about the tool. A hint that is absent is not the same as one that is false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

impl Hints {
    /// The hints that are stated, by the names of the protocol.
    pub fn stated(&self) -> Vec<(&'static str, bool)> {
        let all = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        all.into_iter().filter_map(|(name, hint)| Some((name, hint?))).collect()
    }

    pub(crate) fn from_value(annotations: Option<&Value>) -> Hints {
        let stated = |key| annotations?.get(key)?.as_bool();
        Hints {
            read_only: stated("readOnlyHint"),
            destructive: stated("destructiveHint"),
            idempotent: stated("idempotentHint"),
            open_world: stated("openWorldHint"),
        }
    }
}

/// A tool's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The name, byte for byte as the server has it.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// For the model.
    pub description: Option<String>,
    /// What the arguments must look like.
    pub input_schema: Option<Value>,
    /// What the structured result looks like.
    pub output_schema: Option<Value>,
    /// Everything under `annotations`, verbatim.
    pub annotations: Option<Value>,
    /// The four hints out of the annotations.
    pub hints: Hints,
}

/// Why a definition cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionFault {
    /// Not an object.
    NotAnObject,
    /// No `name`, or one that is no string.
    NoName,
    /// A name that is empty or longer than [`NAME_BYTES_MAX`].
    BadName,
    /// A known field of the wrong kind.
    WrongKind(&'static str),
}

impl std::fmt::Display for DefinitionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DefinitionFault::NotAnObject => f.write_str("a tool must be a JSON object"),
            DefinitionFault::NoName => f.write_str("the tool has no `name`"),
            DefinitionFault::BadName => {
                write!(f, "a tool's `name` must have 1 to {NAME_BYTES_MAX} bytes")
            }
            DefinitionFault::WrongKind(field) => write!(f, "`{field}` is of the wrong kind"),
        }
    }
}

impl std::error::Error for DefinitionFault {}

impl ToolDefinition {
    /// A definition with a name and nothing else.
    pub fn named(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: None,
            input_schema: None,
            output_schema: None,
            annotations: None,
            hints: Hints::default(),
        }
    }

    /// The same with a description; an empty one is none.
    #[must_use]
    pub fn described(mut self, description: &str) -> ToolDefinition {
        let said = !description.trim().is_empty();
        self.description = said.then(|| description.to_owned());
        self
    }

    /// The same with an input schema.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> ToolDefinition {
        self.input_schema = Some(schema);
        self
    }

    /// The same with annotations.
    #[must_use]
    pub fn annotated(mut self, annotations: Value) -> ToolDefinition {
        self.hints = Hints::from_value(Some(&annotations));
        self.annotations = Some(annotations);
        self
    }

    /// The same as if the vendor had stated nothing.
    #[must_use]
    pub fn without_annotations(mut self) -> ToolDefinition {
        self.hints = Hints::default();
        self.annotations = None;
        self
    }

    /// Reads one element of a `tools/list` answer.
    pub fn from_value(value: &Value) -> Result<ToolDefinition, DefinitionFault> {
        if value.as_object().is_none() {
            return Err(DefinitionFault::NotAnObject);
        }
        let name = value.get("name").and_then(Value::as_str).ok_or(DefinitionFault::NoName)?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(DefinitionFault::BadName);
        }
        let annotations = object(value, "annotations")?.cloned();
        let definition = ToolDefinition {
            title: text(value, "title")?,
            input_schema: object(value, "inputSchema")?.cloned(),
            output_schema: object(value, "outputSchema")?.cloned(),
            hints: Hints::from_value(annotations.as_ref()),
            annotations,
            ..ToolDefinition::named(name)
        };
        Ok(definition.described(&text(value, "description")?.unwrap_or_default()))
    }

    /// The parameters, nested ones included, in the order of the schema and bounded.
    pub fn parameters(&self) -> Vec<Parameter<'_>> {
        let mut found = Vec::new();
        if let Some(schema) = &self.input_schema {
            collect(schema, &Pointer::root().key("inputSchema"), 0, &mut found);
        }
        found
    }
}

fn text(value: &Value, field: &'static str) -> Result<Option<String>, DefinitionFault> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(DefinitionFault::WrongKind(field)),
    }
}

fn object<'a>(value: &'a Value, field: &'static str) -> Result<Option<&'a Value>, DefinitionFault> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(found @ Value::Object(_)) => Ok(Some(found)),
        Some(_) => Err(DefinitionFault::WrongKind(field)),
    }
}

/// One parameter of a tool.
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    /// Where it stands in the definition.
    pub place: Pointer,
    /// Its name.
    pub name: &'a str,
    /// What the schema says of it.
    pub description: Option<&'a str>,
    /// `format`, if stated.
    pub format: Option<&'a str>,
    /// `type`, if it is one word.
    pub kind: Option<&'a str>,
    /// The strings of `enum`, bounded.
    pub choices: Vec<&'a str>,
    /// Whether `pattern`, `enum`, `const` or a length bounds it.
    pub bounded: bool,
}

fn collect<'a>(schema: &'a Value, place: &Pointer, depth: usize, found: &mut Vec<Parameter<'a>>) {
    if depth > SCHEMA_DEPTH_MAX {
        return;
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let place = place.key("properties");
        for member in properties {
            if found.len() >= PARAMETERS_MAX {
                return;
            }
            let place = place.key(&member.key);
            found.push(parameter(&member.key, &member.value, place.clone()));
            collect(&member.value, &place, depth + 1, found);
        }
    }
    for branch in ["anyOf", "oneOf", "allOf"] {
        let choices = schema.get(branch).and_then(Value::as_array).unwrap_or_default();
        for (index, choice) in choices.iter().enumerate() {
            collect(choice, &place.key(branch).index(index), depth + 1, found);
        }
    }
    if let Some(items) = schema.get("items") {
        collect(items, &place.key("items"), depth + 1, found);
    }
}

fn parameter<'a>(name: &'a str, schema: &'a Value, place: Pointer) -> Parameter<'a> {
    let text = |key| schema.get(key).and_then(Value::as_str);
    let choices = schema.get("enum").and_then(Value::as_array).unwrap_or_default();
    let bounds = ["pattern", "enum", "const", "maxLength", "maximum"];
    Parameter {
        place,
        name,
        description: text("description"),
        format: text("format"),
        kind: text("type"),
        choices: choices.iter().filter_map(Value::as_str).take(ENUM_VALUES_MAX).collect(),
        bounded: bounds.iter().any(|key| schema.get(key).is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ToolDefinition, DefinitionFault> {
        let limits = portcullis_json::Limits::message();
        ToolDefinition::from_value(&portcullis_json::parse(json.as_bytes(), &limits).unwrap())
    }

    #[test]
    fn a_hint_that_is_absent_is_not_false() {
        let tool = read(r#"{"name":"t","annotations":{"readOnlyHint":false}}"#).unwrap();
        assert_eq!(tool.hints.read_only, Some(false));
        assert_eq!(tool.hints.destructive, None);
    }

    #[test]
    fn nested_parameters_carry_their_place() {
        let tool = read(
            r#"{"name":"t","inputSchema":{"type":"object","properties":
                {"a":{"type":"object","properties":{"b":{"enum":["x",1,"y"]}}}}}}"#,
        )
        .unwrap();
        let parameters = tool.parameters();
        let last = parameters.last().unwrap();
        assert_eq!(last.place.as_str(), "/inputSchema/properties/a/properties/b");
        assert_eq!(last.choices, ["x", "y"]);
        assert!(last.bounded);
    }

    #[test]
    fn what_is_no_definition_is_refused_with_its_reason() {
        assert_eq!(read("[]"), Err(DefinitionFault::NotAnObject));
        assert_eq!(read(r#"{"name":7}"#), Err(DefinitionFault::NoName));
        assert_eq!(read(r#"{"name":""}"#), Err(DefinitionFault::BadName));
        assert_eq!(read(r#"{"name":"t","description":7}"#), Err(DefinitionFault::WrongKind("description")));
    }
}
