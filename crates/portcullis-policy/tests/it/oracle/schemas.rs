//! JSON Schema: whether a value satisfies one is asked of the `jsonschema` crate; whether it holds
//! only properties that the schema speaks of is walked here, over the keywords that the generator and
//! the case files write. Branches (`anyOf`, `oneOf`, `if`) may not hold references.

use std::cell::RefCell;
use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::Value;

use super::operators::is_match;
use super::print::compact;
use super::value::Val;

/// How many compiled schemas are kept: the same ones come again and again, but not for ever.
const COMPILED_MAX: usize = 4_096;

fn compile(schema: &Val) -> Option<Validator> {
    let draft = jsonschema::Draft::Draft202012;
    jsonschema::options().with_draft(draft).build(&as_serde(schema)).ok()
}

/// False also when the schema does not compile.
pub(crate) fn satisfies(value: &Val, schema: &Val) -> bool {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Option<Validator>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        let known = compiled.entry(compact(schema));
        let validator = known.or_insert_with(|| compile(schema));
        validator.as_ref().is_some_and(|v| v.is_valid(&as_serde(value)))
    })
}

/// Whether the value, which satisfies the schema, holds nothing the schema does not speak of.
pub(crate) fn is_spoken_of(value: &Val, schema: &Val) -> bool {
    let walk = Walk { root: schema };
    walk.all_spoken_of(value, &walk.applying(schema, value))
}

/// The whole schema, for references into it.
struct Walk<'a> {
    root: &'a Val,
}

impl<'a> Walk<'a> {
    /// Whether every object in the value has only properties that one of these schemas speaks of.
    fn all_spoken_of(&self, value: &Val, schemas: &[&'a Val]) -> bool {
        match value {
            Val::Obj(members) => members.iter().all(|(key, member)| {
                let below = schemas.iter().flat_map(|s| for_property(s, key));
                let below: Vec<&Val> = below.collect();
                !below.is_empty() && self.all_spoken_of(member, &self.all_applying(below, member))
            }),
            Val::Arr(elements) => elements.iter().all(|element| {
                let below = schemas.iter().filter_map(|s| s.get("items"));
                self.all_spoken_of(element, &self.all_applying(below.collect(), element))
            }),
            _ => true,
        }
    }

    fn all_applying(&self, schemas: Vec<&'a Val>, value: &Val) -> Vec<&'a Val> {
        let applying = |schema| self.applying(schema, value);
        schemas.into_iter().flat_map(applying).collect()
    }

    /// The schema and all within it that apply to this very value.
    fn applying(&self, schema: &'a Val, value: &Val) -> Vec<&'a Val> {
        let mut within: Vec<&Val> = list(schema, "allOf").iter().collect();
        let branches = list(schema, "anyOf").iter().chain(list(schema, "oneOf"));
        within.extend(branches.filter(|branch| satisfies(value, branch)));
        if let Some(condition) = schema.get("if") {
            let holds = satisfies(value, condition);
            within.extend(holds.then_some(condition));
            within.extend(schema.get(if holds { "then" } else { "else" }));
        }
        if let Some(Val::Str(reference)) = schema.get("$ref") {
            within.push(self.referred(reference));
        }
        let mut found = vec![schema];
        found.extend(self.all_applying(within, value));
        found
    }

    /// What `#/a/b` leads to.
    fn referred(&self, reference: &str) -> &'a Val {
        let names = reference.split('/').skip(1);
        names.fold(self.root, |schema, name| schema.get(name).unwrap())
    }
}

fn list<'a>(schema: &'a Val, keyword: &str) -> &'a [Val] {
    match schema.get(keyword) {
        Some(Val::Arr(schemas)) => schemas,
        _ => &[],
    }
}

/// What a schema says about a property: by its name, by a pattern, or else of all others.
fn for_property<'a>(schema: &'a Val, key: &str) -> Vec<&'a Val> {
    let mut found = Vec::new();
    found.extend(schema.get("properties").and_then(|named| named.get(key)));
    if let Some(Val::Obj(patterns)) = schema.get("patternProperties") {
        let matching = patterns.iter().filter(|(pattern, _)| is_match(pattern, key));
        found.extend(matching.map(|(_, schema)| schema));
    }
    if found.is_empty() {
        found.extend(schema.get("additionalProperties"));
    }
    if found.is_empty() {
        found.extend(schema.get("unevaluatedProperties"));
    }
    found
}

fn as_serde(value: &Val) -> Value {
    match value {
        Val::Null => Value::Null,
        Val::Bool(truth) => Value::Bool(*truth),
        Val::Num(spelling) => serde_json::from_str(spelling).unwrap(),
        Val::Str(text) => Value::String(text.clone()),
        Val::Arr(elements) => Value::Array(elements.iter().map(as_serde).collect()),
        Val::Obj(members) => {
            let members = members.iter().map(|(k, v)| (k.clone(), as_serde(v)));
            Value::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::value::read;

    fn strict(value: &str, schema: &str) -> bool {
        let (value, schema) = (read(value), read(schema));
        assert!(satisfies(&value, &schema));
        is_spoken_of(&value, &schema)
    }

    #[test]
    fn strict_means_no_property_the_schema_is_silent_about() {
        let named = r#"{"properties":{"a":{}}}"#;
        assert!(strict(r#"{"a":1}"#, named));
        assert!(!strict(r#"{"a":1,"b":1}"#, named));
        assert!(!strict(r#"{"a":{"x":1}}"#, named));
        assert!(strict(r#"{"a":{}}"#, named));
        assert!(!strict(r#"{"a":[{"x":1}]}"#, named));
        assert!(strict(r#"{"b":1}"#, r#"{"additionalProperties":true}"#));
        assert!(!strict(r#"{"b":{"c":1}}"#, r#"{"additionalProperties":true}"#));
        let items = r#"{"properties":{"a":{"items":{"properties":{"x":true}}}}}"#;
        assert!(strict(r#"{"a":[{"x":1}]}"#, items));
    }

    #[test]
    fn branches_that_hold_speak_too() {
        let any = r#"{"anyOf":[{"required":["b"],"properties":{"b":{}}},{"properties":{"a":{}}}]}"#;
        assert!(strict(r#"{"a":1}"#, any));
        assert!(strict(r#"{"a":1,"b":1}"#, any));
        let all = r#"{"properties":{"a":{}},"allOf":[{"properties":{"b":{}}}]}"#;
        assert!(strict(r#"{"a":1,"b":1}"#, all));
        let chosen = r#"{"if":{"required":["a"]},"then":{"properties":{"a":{}}}}"#;
        assert!(strict(r#"{"a":1}"#, chosen));
        assert!(!strict(r#"{"b":1}"#, chosen));
        let named = r##"{"$ref":"#/$defs/t","$defs":{"t":{"patternProperties":{"^a":{}}}}}"##;
        assert!(strict(r#"{"ab":1}"#, named));
        assert!(!strict(r#"{"b":1}"#, named));
        let failing = r#"{"anyOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"a":{}}}]}"#;
        assert!(!strict(r#"{"a":1,"b":1}"#, failing));
    }
}
