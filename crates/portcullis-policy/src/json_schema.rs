//! JSON Schema, for `validate` and for the `schema` operator.
//!
//! A shell around the `jsonschema` crate that fetches nothing, matches patterns in linear time, and adds
//! the strict reading: no property that the schema does not speak of.

use std::collections::HashMap;
use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use portcullis_json::{Object, Pointer, Value};
use regex::{Regex, RegexBuilder};

/// What a pattern inside a schema may compile to.
const PATTERN_PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Which revision of JSON Schema a document is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Always 2020-12.
    Draft202012,
    /// What `$schema` says; 2020-12 without it.
    AsDeclared,
}

/// A compiled schema.
pub struct JsonSchema {
    validator: Validator,
    /// What each marked part of the schema says about properties.
    spoken: Vec<Spoken>,
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonSchema")
    }
}

impl JsonSchema {
    /// Compiles a schema; the error says why it cannot be used.
    pub fn compile(schema: &Value, dialect: Dialect) -> Result<JsonSchema, String> {
        let mut options = jsonschema::options()
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_PROGRAM_BYTES_MAX));
        if dialect == Dialect::Draft202012 {
            options = options.with_draft(Draft::Draft202012);
        }
        let mut spoken = Vec::new();
        let marked = mark(schema, &mut spoken);
        let validator = options
            .build(&to_serde(&marked))
            .map_err(|error| format!("the JSON Schema does not compile: {error}"))?;
        Ok(JsonSchema { validator, spoken })
    }

    /// Whether the value satisfies the schema.
    pub fn is_satisfied_by(&self, value: &Value) -> bool {
        self.validator.is_valid(&to_serde(value))
    }

    /// Whether the value satisfies the schema and holds, at every object, only properties that some part
    /// of the schema which applied to that object speaks of.
    pub fn is_strictly_satisfied_by(&self, value: &Value) -> bool {
        let evaluation = self.validator.evaluate(&to_serde(value));
        if !evaluation.flag().valid {
            return false;
        }
        let mut applied: HashMap<&str, Vec<&Spoken>> = HashMap::new();
        for entry in evaluation.iter_annotations() {
            let mark = entry.annotations.value().get(MARK).and_then(serde_json::Value::as_u64);
            let part = mark.and_then(|mark| self.spoken.get(usize::try_from(mark).ok()?));
            applied.entry(entry.instance_location.as_str()).or_default().extend(part);
        }
        only_spoken(value, &Pointer::root(), &applied)
    }
}

/// The keyword that is put into every part of a schema that speaks of properties. Unknown keywords come
/// out as annotations of the parts that applied, which is just what the strict reading needs to know;
/// the annotations of the known keywords themselves are not complete in the crate.
const MARK: &str = "portcullis:speaks";

/// The properties that one part of a schema speaks of.
#[derive(Default)]
struct Spoken {
    names: Vec<String>,
    patterns: Vec<Regex>,
    all: bool,
}

impl Spoken {
    fn of(schema: &Object) -> Spoken {
        let keys = |keyword: &str| {
            schema.get(keyword).and_then(Value::as_object).into_iter().flatten().map(|member| &member.key)
        };
        let says_yes = |keyword: &str| schema.get(keyword).is_some_and(|value| *value != Value::Bool(false));
        Spoken {
            names: keys("properties").cloned().collect(),
            patterns: keys("patternProperties").filter_map(|pattern| pattern_regex(pattern)).collect(),
            all: says_yes("additionalProperties") || says_yes("unevaluatedProperties"),
        }
    }

    fn speaks_of(&self, name: &str) -> bool {
        self.all
            || self.names.iter().any(|spoken| spoken == name)
            || self.patterns.iter().any(|pattern| pattern.is_match(name))
    }
}

/// A pattern that does not compile speaks of nothing; the schema as a whole does not compile then.
fn pattern_regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(PATTERN_PROGRAM_BYTES_MAX).build().ok()
}

fn only_spoken(value: &Value, at: &Pointer, applied: &HashMap<&str, Vec<&Spoken>>) -> bool {
    match value {
        Value::Object(object) => object.iter().all(|member| {
            let parts = applied.get(at.as_str()).map_or(&[][..], Vec::as_slice);
            parts.iter().any(|part| part.speaks_of(&member.key))
                && only_spoken(&member.value, &at.key(&member.key), applied)
        }),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .all(|(index, element)| only_spoken(element, &at.index(index), applied)),
        _ => true,
    }
}

/// The schema with a mark in every part that speaks of properties.
fn mark(schema: &Value, spoken: &mut Vec<Spoken>) -> Value {
    match schema {
        Value::Object(object) => {
            let mut marked = object.map(|member| match member.key.as_str() {
                // Values, not schemas.
                "enum" | "const" | "default" | "examples" | "required" => member.value.clone(),
                // Names to schemas: the names are no keywords.
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    mark_each(&member.value, spoken)
                }
                _ => mark(&member.value, spoken),
            });
            let keywords =
                ["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];
            if keywords.iter().any(|keyword| object.contains_key(keyword)) {
                marked.insert(MARK, Value::from(i64::try_from(spoken.len()).unwrap_or(i64::MAX)));
                spoken.push(Spoken::of(object));
            }
            Value::Object(marked)
        }
        Value::Array(elements) => {
            Value::Array(elements.iter().map(|element| mark(element, spoken)).collect())
        }
        other => other.clone(),
    }
}

fn mark_each(schemas: &Value, spoken: &mut Vec<Spoken>) -> Value {
    match schemas {
        Value::Object(object) => object.map(|member| mark(&member.value, spoken)).into(),
        other => other.clone(),
    }
}

fn to_serde(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(truth) => serde_json::Value::Bool(*truth),
        // The reader took it as a number, so `serde_json` does; null would only ever be stricter.
        Value::Number(number) => {
            number.spelling().parse().map_or(serde_json::Value::Null, serde_json::Value::Number)
        }
        Value::String(text) => serde_json::Value::String(text.clone()),
        Value::Array(elements) => serde_json::Value::Array(elements.iter().map(to_serde).collect()),
        Value::Object(object) => serde_json::Value::Object(
            object.iter().map(|member| (member.key.clone(), to_serde(&member.value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Value {
        portcullis_json::parse(json.as_bytes(), &portcullis_json::Limits::document()).unwrap()
    }

    fn check(schema: &str, value: &str, loose: bool, strict: bool) {
        let schema = JsonSchema::compile(&read(schema), Dialect::AsDeclared).unwrap();
        assert_eq!(schema.is_satisfied_by(&read(value)), loose, "{value}");
        assert_eq!(schema.is_strictly_satisfied_by(&read(value)), strict, "strict {value}");
    }

    #[test]
    fn strict_refuses_what_the_schema_does_not_speak_of() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}}},"l":{"type":"array","items":{"properties":{"x":true}}}}}"#;
        check(schema, "{}", true, true);
        check(schema, r#"{"a":{"b":1}}"#, true, true);
        check(schema, r#"{"z":1}"#, true, false);
        check(schema, r#"{"a":{"c":1}}"#, true, false);
        check(schema, r#"{"a":{"b":{"deep":1}}}"#, true, false);
        check(schema, r#"{"l":[{"x":1},{"x":2,"y":3}]}"#, true, false);
        check(schema, r#"{"l":[{"x":1}]}"#, true, true);
        check(schema, r#"{"a":5}"#, false, false);
    }

    #[test]
    fn every_part_of_the_schema_that_applied_may_speak() {
        let union = r#"{"allOf":[{"properties":{"a":{"properties":{"x":{}}}}},{"properties":{"a":{"properties":{"y":{}}},"b":{}}}]}"#;
        check(union, r#"{"a":{"x":1,"y":2},"b":3}"#, true, true);
        check(union, r#"{"a":{"z":1}}"#, true, false);
        let either = r#"{"anyOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k"]},{"properties":{"k":{"const":2},"b":{}}}]}"#;
        check(either, r#"{"k":1,"a":0}"#, true, true);
        // The branch that speaks of `b` did not apply.
        check(either, r#"{"k":1,"b":0}"#, true, false);
        let list = r##"{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##;
        check(list, r#"{"n":{"n":{}}}"#, true, true);
        check(list, r#"{"n":{"m":{}}}"#, true, false);
    }

    #[test]
    fn open_objects_speak_of_everything_in_them() {
        check(r#"{"additionalProperties":true}"#, r#"{"any":1}"#, true, true);
        check(r#"{"additionalProperties":{}}"#, r#"{"any":1}"#, true, true);
        check(r#"{"additionalProperties":{"type":"integer"}}"#, r#"{"any":1}"#, true, true);
        check(r#"{"patternProperties":{"^x":{}}}"#, r#"{"x1":1}"#, true, true);
        check(r#"{"patternProperties":{"^x":{}}}"#, r#"{"y1":1}"#, true, false);
        check(r#"{"properties":{"a":{}},"unevaluatedProperties":true}"#, r#"{"a":1,"b":2}"#, true, true);
        check(r#"{"properties":{"a":{}},"additionalProperties":true}"#, r#"{"a":1,"b":2}"#, true, true);
        check(
            r#"{"properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":true}"#,
            r#"{"a":1,"b":2,"x":3}"#,
            true,
            true,
        );
        check(
            r#"{"properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":false}"#,
            r#"{"a":1,"x":3}"#,
            true,
            true,
        );
        check(r#"{"properties":{"a":{}},"additionalProperties":false}"#, r#"{"a":1}"#, true, true);
    }

    #[test]
    fn schemas_that_lead_nowhere_or_outside_do_not_hang() {
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#"}]}"##,
            r##"{"$ref":"#/nowhere"}"##,
            r#"{"$ref":"file:///etc/passwd"}"#,
        ] {
            if let Ok(schema) = JsonSchema::compile(&read(schema), Dialect::AsDeclared) {
                let _ = schema.is_satisfied_by(&read(r#"{"a":[1]}"#));
            }
        }
    }
}
