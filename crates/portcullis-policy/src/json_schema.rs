//! JSON Schema, for `validate` and for the `schema` operator.
//!
//! A shell around the `jsonschema` crate that fetches nothing, matches patterns in linear time, and adds
//! the strict reading: no property that the schema does not speak of.

mod cost;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, Validator};
use portcullis_json::{Object, Pointer, Value};

use cost::Cost;

/// What a pattern inside a schema may compile to.
const PATTERN_PROGRAM_BYTES_MAX: usize = 256 << 10;

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
    cost: Cost,
    source: Value,
    dialect: Dialect,
    strict: OnceLock<Option<Strict>>,
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonSchema")
    }
}

impl JsonSchema {
    /// Compiles a schema; the error says why it cannot be used.
    pub fn compile(schema: &Value, dialect: Dialect) -> Result<JsonSchema, String> {
        let cost = Cost::of(schema)?;
        let validator = build(schema, dialect)?;
        let source = schema.clone();
        Ok(JsonSchema { validator, cost, source, dialect, strict: OnceLock::new() })
    }

    /// Whether the value satisfies the schema.
    pub fn is_satisfied_by(&self, value: &Value) -> bool {
        self.cost.is_bearable(value) && self.validator.is_valid(&to_serde(value))
    }

    /// Whether the value satisfies the schema and holds, at every object, only properties that some part
    /// of the schema which applied to that object speaks of.
    pub fn is_strictly_satisfied_by(&self, value: &Value) -> bool {
        if !self.cost.is_bearable_in_full(value) || !self.is_satisfied_by(value) {
            return false;
        }
        let strict = self.strict.get_or_init(|| Strict::compile(&self.source, self.dialect).ok());
        strict.as_ref().is_some_and(|strict| strict.only_spoken(value))
    }
}

fn build(schema: &Value, dialect: Dialect) -> Result<Validator, String> {
    let mut options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_PROGRAM_BYTES_MAX));
    if dialect == Dialect::Draft202012 {
        options = options.with_draft(Draft::Draft202012);
    }
    options.build(&to_serde(schema)).map_err(|error| format!("the JSON Schema does not compile: {error}"))
}

/// What the strict reading needs besides: made when it is first asked for.
struct Strict {
    marked: Validator,
    /// What each marked part of the schema says about properties.
    spoken: Vec<Spoken>,
}

impl Strict {
    fn compile(schema: &Value, dialect: Dialect) -> Result<Strict, String> {
        let mut marks =
            Marks { spoken: Vec::new(), dialect, knows_unevaluated: knows_unevaluated(schema, dialect) };
        let marked = build(&marks.mark(schema), dialect)?;
        Ok(Strict { marked, spoken: marks.spoken })
    }

    fn only_spoken(&self, value: &Value) -> bool {
        let evaluation = self.marked.evaluate(&to_serde(value));
        let mut applied: HashMap<&str, Vec<&Spoken>> = HashMap::new();
        for entry in evaluation.iter_annotations() {
            let mark = entry.annotations.value().get(MARK).and_then(serde_json::Value::as_u64);
            let part = mark.and_then(|mark| self.spoken.get(usize::try_from(mark).ok()?));
            applied.entry(entry.instance_location.as_str()).or_default().extend(part);
        }
        evaluation.flag().valid && only_spoken(value, &Pointer::root(), &applied)
    }
}

/// Drafts before 2019-09 have no `unevaluatedProperties`.
fn knows_unevaluated(schema: &Value, dialect: Dialect) -> bool {
    let declared = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    dialect == Dialect::Draft202012 || !declared.contains("/draft-0")
}

/// The keyword that is put into every part of a schema that speaks of properties. Unknown keywords come
/// out as annotations of the parts that applied, which is just what the strict reading needs to know;
/// the annotations of the known keywords themselves are not complete in the crate.
const MARK: &str = "portcullis:speaks";

/// The properties that one part of a schema speaks of.
struct Spoken {
    names: HashSet<String>,
    /// By the same engine that applies them: dialects of patterns differ.
    patterns: Vec<Validator>,
    all: bool,
}

impl Spoken {
    fn speaks_of(&self, name: &str) -> bool {
        let text = serde_json::Value::from(name);
        self.all || self.names.contains(name) || self.patterns.iter().any(|pattern| pattern.is_valid(&text))
    }
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

/// Puts marks into a schema.
struct Marks {
    spoken: Vec<Spoken>,
    dialect: Dialect,
    knows_unevaluated: bool,
}

impl Marks {
    /// The schema with a mark in every part that speaks of properties.
    fn mark(&mut self, schema: &Value) -> Value {
        let Value::Object(object) = schema else {
            return match schema {
                Value::Array(elements) => {
                    Value::Array(elements.iter().map(|element| self.mark(element)).collect())
                }
                other => other.clone(),
            };
        };
        let mut marked = object.map(|member| match member.key.as_str() {
            // Values, not schemas; and a schema for names, which are no objects.
            "enum" | "const" | "default" | "examples" | "required" | "propertyNames" => member.value.clone(),
            // Names to schemas: the names are no keywords.
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            | "dependencies" => self.mark_each(&member.value),
            _ => self.mark(&member.value),
        });
        if self.speaks_of_properties(object) {
            marked.insert(MARK, Value::from(i64::try_from(self.spoken.len()).unwrap_or(i64::MAX)));
            let spoken = self.spoken_by(object);
            self.spoken.push(spoken);
        }
        Value::Object(marked)
    }

    fn mark_each(&mut self, schemas: &Value) -> Value {
        match schemas {
            Value::Object(object) => object.map(|member| self.mark(&member.value)).into(),
            other => other.clone(),
        }
    }

    fn speaks_of_properties(&self, schema: &Object) -> bool {
        let keywords = ["properties", "patternProperties", "additionalProperties"];
        keywords.iter().any(|keyword| schema.contains_key(keyword))
            || (self.knows_unevaluated && schema.contains_key("unevaluatedProperties"))
    }

    fn spoken_by(&self, schema: &Object) -> Spoken {
        let keys = |keyword: &str| {
            schema
                .get(keyword)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|member| member.key.as_str())
        };
        let says_yes = |keyword: &str| schema.get(keyword).is_some_and(|value| *value != Value::Bool(false));
        let pattern = |pattern: &str| {
            let schema = Object::new().with("pattern", pattern);
            build(&schema.into(), self.dialect).ok()
        };
        Spoken {
            names: keys("properties").map(str::to_owned).collect(),
            // One that does not compile speaks of nothing.
            patterns: keys("patternProperties").filter_map(pattern).collect(),
            all: says_yes("additionalProperties")
                || (self.knows_unevaluated && says_yes("unevaluatedProperties")),
        }
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
            object.iter().map(|member| (member.key.to_string(), to_serde(&member.value))).collect(),
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
    fn a_part_that_did_not_apply_to_the_object_does_not_speak() {
        check(r#"{"propertyNames":{"properties":{"b":{}}}}"#, r#"{"b":1}"#, true, false);
        let draft_07 = r#""$schema":"http://json-schema.org/draft-07/schema#""#;
        check(
            &format!(r#"{{{draft_07},"properties":{{"a":{{}}}},"unevaluatedProperties":{{}}}}"#),
            r#"{"b":1}"#,
            true,
            false,
        );
        check(&format!(r#"{{{draft_07},"dependencies":{{"properties":["b"]}}}}"#), "{}", true, true);
    }

    #[test]
    fn patterns_speak_as_they_are_applied() {
        // An Arabic digit is no `\d` in JSON Schema.
        check(r#"{"patternProperties":{"^\\d+$":{"type":"integer"}}}"#, "{\"\u{663}\":\"x\"}", true, false);
        check(r#"{"patternProperties":{"^\\d+$":{"type":"integer"}}}"#, r#"{"3":1}"#, true, true);
    }

    #[test]
    fn what_would_take_for_ever_is_refused_at_once() {
        // Each of 60 definitions refers twice to the next.
        let definitions: Vec<String> = (0..60)
            .map(|n| {
                format!(
                    r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##,
                    n + 1
                )
            })
            .collect();
        let doubling =
            format!(r##"{{"$defs":{{{},"d60":{{}}}},"$ref":"#/$defs/d0"}}"##, definitions.join(","));
        assert!(JsonSchema::compile(&read(&doubling), Dialect::AsDeclared).is_err());
        // A recursive schema with two branches, on deep arguments.
        let tree = r##"{"$defs":{"e":{"anyOf":[{"type":"object","properties":{"left":{"$ref":"#/$defs/e"},"a":{}}},{"type":"object","properties":{"left":{"$ref":"#/$defs/e"},"b":{}}}]}},"$ref":"#/$defs/e"}"##;
        let deep = |levels: usize| format!("{}1{}", r#"{"left":"#.repeat(levels), "}".repeat(levels));
        let deep_object = |levels: usize| deep(levels).replace('1', "{}");
        let schema = JsonSchema::compile(&read(tree), Dialect::AsDeclared).unwrap();
        assert!(schema.is_strictly_satisfied_by(&read(&deep_object(3))));
        assert!(!schema.is_strictly_satisfied_by(&read(&deep_object(40))));
        assert!(!schema.is_satisfied_by(&read(&deep_object(50))));
        // One branch costs what the arguments are long.
        let list = r##"{"$defs":{"n":{"properties":{"left":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##;
        check(list, &deep_object(60), true, true);
    }

    /// Not fetched, and not taken for a schema that permits anything.
    #[test]
    fn a_reference_that_leads_outside_or_nowhere_does_not_compile() {
        for reference in [
            "#/nowhere",
            "file:///etc/passwd",
            "http://127.0.0.1:1/schema",
            "https://example.com/schema",
            "other",
        ] {
            let schema = format!(r#"{{"type":"object","properties":{{"a":{{"$ref":"{reference}"}}}}}}"#);
            assert!(JsonSchema::compile(&read(&schema), Dialect::AsDeclared).is_err(), "{reference}");
        }
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
