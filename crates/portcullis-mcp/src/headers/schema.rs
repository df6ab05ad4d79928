//! Which arguments of a tool are mirrored in headers: `x-mcp-header` in its input schema.
//!
//! The mark counts only on properties that are reached through `properties` alone. Anywhere else, or with
//! a name that no header can have, the tool's definition breaks the rules and the tool must not be shown
//! to modern HTTP clients.

use std::fmt;

use portcullis_json::{Object, Value};

const MARK: &str = "x-mcp-header";
/// A tool mirrors at most this many arguments.
const PARAM_HEADERS_MAX: usize = 64;
/// The largest integer that every reader of JSON keeps exactly: 2^53 - 1.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;
/// Keywords whose values are data, not schemas.
const DATA_KEYWORDS: [&str; 4] = ["default", "const", "enum", "examples"];

/// The mirrored arguments of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    entries: Vec<ParamHeader>,
}

/// One mirrored argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The name after `Mcp-Param-`.
    pub name: String,
    /// The keys that lead to the argument.
    pub path: Vec<String>,
}

/// Why the marks in a schema break the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFault {
    /// The name is no HTTP token.
    BadName,
    /// Two arguments have one name, case aside.
    RepeatedName,
    /// The property is not a string, an integer or a boolean.
    BadType,
    /// The mark stands where no single argument is meant.
    Misplaced,
    /// More marks than allowed.
    TooMany,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SchemaFault::BadName => "`x-mcp-header` must be an HTTP token",
            SchemaFault::RepeatedName => "two `x-mcp-header` names are the same, case aside",
            SchemaFault::BadType => "`x-mcp-header` needs a string, an integer or a boolean",
            SchemaFault::Misplaced => "`x-mcp-header` stands where no single argument is meant",
            SchemaFault::TooMany => "the schema has too many `x-mcp-header` marks",
        })
    }
}

impl std::error::Error for SchemaFault {}

impl ParamHeaders {
    /// From a tool's input schema.
    pub fn from_schema(schema: &Object) -> Result<ParamHeaders, SchemaFault> {
        let mut headers = ParamHeaders::default();
        if schema.contains_key(MARK) {
            return Err(SchemaFault::Misplaced);
        }
        headers.collect(schema, &mut Vec::new())?;
        Ok(headers)
    }

    /// The mirrored arguments, in the schema's order.
    pub fn iter(&self) -> std::slice::Iter<'_, ParamHeader> {
        self.entries.iter()
    }

    /// `schema` describes what `path` leads to. Depth is bounded by the reader.
    fn collect(&mut self, schema: &Object, path: &mut Vec<String>) -> Result<(), SchemaFault> {
        for member in schema {
            match (member.key.as_str(), &member.value) {
                ("properties", Value::Object(properties)) => self.properties(properties, path)?,
                (key, _) if DATA_KEYWORDS.contains(&key) => {}
                (_, value) if is_marked(value) => return Err(SchemaFault::Misplaced),
                _ => {}
            }
        }
        Ok(())
    }

    fn properties(&mut self, properties: &Object, path: &mut Vec<String>) -> Result<(), SchemaFault> {
        for property in properties {
            let Value::Object(schema) = &property.value else {
                continue;
            };
            path.push(property.key.to_string());
            if let Some(mark) = schema.get(MARK) {
                self.add(mark, schema, path)?;
            }
            self.collect(schema, path)?;
            path.pop();
        }
        Ok(())
    }

    fn add(&mut self, mark: &Value, schema: &Object, path: &[String]) -> Result<(), SchemaFault> {
        let name = mark.as_str().filter(|name| is_token(name));
        let name = name.ok_or(SchemaFault::BadName)?;
        let kind = schema.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(SchemaFault::BadType);
        }
        if self.iter().any(|entry| entry.name.eq_ignore_ascii_case(name)) {
            return Err(SchemaFault::RepeatedName);
        }
        if self.entries.len() == PARAM_HEADERS_MAX {
            return Err(SchemaFault::TooMany);
        }
        self.entries.push(ParamHeader { name: name.to_owned(), path: path.to_vec() });
        Ok(())
    }
}

impl ParamHeader {
    /// The whole header name.
    pub fn header(&self) -> String {
        format!("{}{}", super::PARAM_PREFIX, self.name)
    }

    /// The argument as a header has it, not yet encoded. None when it is absent or null, and when no
    /// header can hold it: not a string, a boolean or an integer that every reader keeps exactly.
    ///
    /// Goes by what the argument is, not by what the schema wants: that is for schema validation.
    pub fn text(&self, arguments: Option<&Object>) -> Option<Mirrored> {
        let (first, rest) = self.path.split_first()?;
        let argument = rest.iter().try_fold(arguments?.get(first)?, |value, key| value.get(key))?;
        match argument {
            Value::String(text) => Some(Mirrored::Text(text.clone())),
            Value::Bool(truth) => Some(Mirrored::Text(truth.to_string())),
            Value::Number(number) => number
                .as_i64()
                .filter(|integer| integer.unsigned_abs() <= SAFE_INTEGER_MAX)
                .map(Mirrored::Integer),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// An argument as a header has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mirrored {
    /// Compared letter by letter.
    Text(String),
    /// Compared by number.
    Integer(i64),
}

impl fmt::Display for Mirrored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mirrored::Text(text) => f.write_str(text),
            Mirrored::Integer(integer) => integer.fmt(f),
        }
    }
}

/// Whether the mark stands anywhere in here.
fn is_marked(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().any(|member| member.key == MARK || is_marked(&member.value)),
        Value::Array(elements) => elements.iter().any(is_marked),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// RFC 9110, `1*tchar`.
fn is_token(name: &str) -> bool {
    let symbols = b"!#$%&'*+-.^_`|~";
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || symbols.contains(&byte))
}
