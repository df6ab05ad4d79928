//! What a tool is: its definition for clients, and how its arguments are read.

use portcullis_json::{Object, Value};
use portcullis_policy::Class;

use crate::world::World;

/// One tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) class: Class,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) work: Work,
}

/// How a tool does its work.
pub(crate) enum Work {
    /// At once.
    Now(fn(&mut World, &Arguments<'_>) -> Result<String, String>),
    /// Counts for a while and reports progress.
    Count,
    /// Sends its text piece by piece.
    Story,
}

/// One argument; all are required.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) kind: Kind,
}

/// What an argument may be.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A text of at most so many characters.
    Text(usize),
    /// A whole number in this range.
    Integer(i64, i64),
    /// At most so many numbers.
    Numbers(usize),
}

impl Tool {
    /// As it stands in the list.
    pub(crate) fn definition(&self) -> Value {
        let mut properties = Object::new();
        for parameter in self.parameters {
            properties.insert(parameter.name, parameter.schema());
        }
        let required: Vec<Value> = self.parameters.iter().map(|parameter| parameter.name.into()).collect();
        let schema = Object::new()
            .with("type", "object")
            .with("properties", properties)
            .with("required", required)
            .with("additionalProperties", false);
        let definition = Object::new()
            .with("name", self.name)
            .with("title", self.title)
            .with("description", self.description)
            .with("inputSchema", schema)
            .with("annotations", self.annotations());
        definition.into()
    }

    fn annotations(&self) -> Object {
        let destroys = matches!(self.class, Class::Destructive | Class::Financial);
        Object::new()
            .with("readOnlyHint", self.class == Class::Read)
            .with("destructiveHint", destroys)
            .with("idempotentHint", self.class == Class::Read)
            .with("openWorldHint", false)
    }

    /// The arguments, if they are what the schema says.
    pub(crate) fn check<'a>(&self, arguments: Option<&'a Object>) -> Result<Arguments<'a>, String> {
        let arguments = Arguments(arguments);
        let known = |key: &str| self.parameters.iter().any(|parameter| parameter.name == key);
        if let Some(member) = arguments.0.into_iter().flatten().find(|member| !known(&member.key)) {
            return Err(format!("`{}` has no argument `{}`", self.name, member.key));
        }
        for parameter in self.parameters {
            let value = arguments.get(parameter.name).ok_or(format!("`{}` is missing", parameter.name))?;
            if !parameter.kind.takes(value) {
                return Err(format!("`{}` must be {}", parameter.name, parameter.kind.in_words()));
            }
        }
        Ok(arguments)
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let schema = match self.kind {
            Kind::Text(max) => Object::new().with("type", "string").with("maxLength", count(max)),
            Kind::Integer(from, to) => {
                Object::new().with("type", "integer").with("minimum", from).with("maximum", to)
            }
            Kind::Numbers(max) => {
                let items = Object::new().with("type", "number");
                Object::new().with("type", "array").with("items", items).with("maxItems", count(max))
            }
        };
        schema.with("description", self.description).into()
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Kind::Text(max) => value.as_str().is_some_and(|text| text.chars().count() <= max),
            Kind::Integer(from, to) => value
                .as_number()
                .and_then(|number| number.as_i64())
                .is_some_and(|number| (from..=to).contains(&number)),
            Kind::Numbers(max) => value.as_array().is_some_and(|elements| {
                elements.len() <= max && elements.iter().all(|element| element.as_number().is_some())
            }),
        }
    }

    fn in_words(self) -> String {
        match self {
            Kind::Text(max) => format!("a text of at most {max} characters"),
            Kind::Integer(from, to) => format!("a whole number from {from} to {to}"),
            Kind::Numbers(max) => format!("a list of at most {max} numbers"),
        }
    }
}

/// Arguments that were checked against the schema.
pub(crate) struct Arguments<'a>(Option<&'a Object>);

impl<'a> Arguments<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.and_then(|arguments| arguments.get(key))
    }

    pub(crate) fn text(&self, key: &str) -> &'a str {
        self.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn integer(&self, key: &str) -> i64 {
        let number = self.get(key).and_then(Value::as_number);
        number.and_then(|number| number.as_i64()).unwrap_or_default()
    }

    pub(crate) fn numbers(&self, key: &str) -> Vec<f64> {
        let elements = self.get(key).and_then(Value::as_array).unwrap_or_default();
        elements.iter().filter_map(Value::as_number).map(|number| number.nearest_double()).collect()
    }
}
