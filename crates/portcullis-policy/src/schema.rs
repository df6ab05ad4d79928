//! The JSON Schema of the language, for editors: printed from the same tables that check documents.
//!
//! It is looser than the reader where JSON Schema cannot say more: paths, expressions and shared counters
//! are checked by `policy check` alone.

use std::collections::BTreeMap;

use portcullis_json::{Object, Value};

use crate::class::Class;
use crate::operator::{OPERATORS, Operand, TYPE_NAMES};
use crate::shape::{DOCUMENT, Field, Form, Shape, window_names};

/// The JSON Schema (2020-12) of a policy.
pub fn json_schema() -> Value {
    let mut definitions = BTreeMap::new();
    let root = object_schema(&DOCUMENT, &mut definitions);
    let definitions =
        definitions.into_iter().fold(Object::new(), |all, (name, schema)| all.with(name, schema));
    let mut schema = Object::new()
        .with("$schema", "https://json-schema.org/draft/2020-12/schema")
        .with("title", "Portcullis policy, version 1");
    for member in root {
        schema.insert(&member.key, member.value);
    }
    schema.with("$defs", definitions).into()
}

type Definitions = BTreeMap<&'static str, Value>;

fn object_schema(shape: &'static Shape, definitions: &mut Definitions) -> Object {
    let properties = shape.fields.iter().fold(Object::new(), |properties, field| {
        properties.with(field.name, field_schema(field, definitions))
    });
    let required = shape.fields.iter().filter(|field| field.required).map(|field| Value::from(field.name));
    let schema = Object::new()
        .with("description", shape.about)
        .with("type", "object")
        .with("properties", properties)
        .with("required", required.collect::<Vec<_>>())
        .with("additionalProperties", false);
    if shape.name == "condition" { schema.with("allOf", operands()) } else { schema }
}

fn field_schema(field: &'static Field, definitions: &mut Definitions) -> Value {
    let schema = form_schema(&field.form, definitions);
    let described = Object::new().with("description", field.about);
    schema.into_iter().fold(described, |all, member| all.with(&member.key, member.value)).into()
}

fn form_schema(form: &'static Form, definitions: &mut Definitions) -> Object {
    match form {
        Form::Any => Object::new(),
        Form::Boolean => typed("boolean"),
        Form::TextOrNull => Object::new().with("type", texts(&["string", "null"])),
        Form::NumberOrNull => Object::new().with("type", texts(&["number", "null"])),
        Form::Text => typed("string"),
        Form::Number => typed("number"),
        Form::Choice(choices) => one_of_these(choices),
        Form::Texts => typed("array").with("items", typed("string")),
        Form::Choices(choices) => typed("array").with("items", one_of_these(choices)),
        Form::Objects(shape) => typed("array").with("items", reference(shape, definitions)),
        Form::Object(shape) => reference(shape, definitions),
        Form::Map(shape) => typed("object").with("additionalProperties", reference(shape, definitions)),
        Form::ByClass(shape) => {
            let entry = reference(shape, definitions);
            let properties =
                Class::NAMES.iter().fold(Object::new(), |all, name| all.with(name, entry.clone()));
            typed("object").with("properties", properties).with("additionalProperties", false)
        }
        Form::Assignments => {
            typed("object").with("propertyNames", Object::new().with("pattern", "^args[.\\[]"))
        }
        Form::Window => window(),
        Form::RateLimit(shape) => {
            let text = typed("string").with("pattern", "^[0-9.eE+]+/([a-z]+|[0-9]+[smhdw]?)$");
            let object = reference(shape, definitions);
            Object::new().with("anyOf", vec![Value::from(object), Value::from(text)])
        }
        Form::Operator => operators(),
    }
}

fn typed(name: &str) -> Object {
    Object::new().with("type", name)
}

fn texts(choices: &[&str]) -> Vec<Value> {
    choices.iter().map(|choice| Value::from(*choice)).collect()
}

fn one_of_these(choices: &[&str]) -> Object {
    Object::new().with("enum", texts(choices))
}

/// Every object is defined once.
fn reference(shape: &'static Shape, definitions: &mut Definitions) -> Object {
    if !definitions.contains_key(shape.name) {
        definitions.insert(shape.name, Value::Null);
        let schema = object_schema(shape, definitions);
        definitions.insert(shape.name, schema.into());
    }
    Object::new().with("$ref", format!("#/$defs/{}", shape.name))
}

fn window() -> Object {
    let seconds = typed("integer").with("minimum", 1);
    let length = typed("string").with("pattern", "^[1-9][0-9]*[smhdw]$");
    let forms = [one_of_these(window_names()), seconds, length];
    Object::new().with("anyOf", forms.into_iter().map(Value::from).collect::<Vec<_>>())
}

/// Each operator with its meaning, so that an editor can show it.
fn operators() -> Object {
    let constant = |name: &str, meaning: &str| Object::new().with("const", name).with("description", meaning);
    let all = OPERATORS.iter().map(|info| Value::from(constant(info.name, info.meaning)));
    Object::new().with("oneOf", all.collect::<Vec<_>>())
}

/// What `value` must be, for every operator that does not take any.
fn operands() -> Vec<Value> {
    let rules = OPERATORS.iter().filter_map(|info| {
        let operand = operand(info.operand)?;
        let named = Object::new()
            .with("properties", Object::new().with("op", Object::new().with("const", info.name)));
        let then = Object::new().with("properties", Object::new().with("value", operand));
        Some(Object::new().with("if", named).with("then", then).into())
    });
    rules.collect()
}

fn operand(operand: Operand) -> Option<Object> {
    Some(match operand {
        Operand::Any => return None,
        Operand::Boolean => typed("boolean"),
        Operand::Integer => typed("integer").with("minimum", 0),
        Operand::List => typed("array"),
        Operand::Number => typed("number"),
        Operand::Schema => typed("object"),
        Operand::Text => typed("string"),
        Operand::TextList => typed("array").with("items", typed("string")),
        Operand::TypeName => one_of_these(&TYPE_NAMES),
    })
}
