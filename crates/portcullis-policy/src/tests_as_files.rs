//! Policy tests as files: a policy, tools, and cases with the decision that is expected of each.
//!
//! Files are read elsewhere: a document comes in as a value, and the policies it names through a function.

mod case;
mod expectation;
mod shape;

use std::collections::HashMap;

use portcullis_json::{Limits, Object, Pointer, Value};

use crate::class::Class;
use crate::json_schema::{Dialect, JsonSchema};
use crate::limits::Counters;
use crate::policy::Policy;
use crate::problem::Problems;
use crate::time::Time;

pub use case::CaseResult;

/// Where cases start when they do not say.
const DEFAULT_TIME: &str = "2026-01-01T00:00:00Z";

/// Finds the bytes of a policy by the path a test file gives.
pub type Load<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Runs all tests of a document, which is one test object or an array of them. The error says why they
/// could not be run at all.
pub fn run_tests(document: &Value, load: &Load<'_>) -> Result<Vec<CaseResult>, String> {
    let tests = match document {
        Value::Array(tests) => {
            tests.iter().enumerate().map(|(index, test)| (Pointer::root().index(index), test)).collect()
        }
        test => vec![(Pointer::root(), test)],
    };
    let mut results = Vec::new();
    for (at, test) in tests {
        run_test(test, &at, load, &mut results).map_err(|message| match at.as_str() {
            "" => message,
            at => format!("{at}: {message}"),
        })?;
    }
    Ok(results)
}

fn run_test(
    test: &Value,
    at: &Pointer,
    load: &Load<'_>,
    results: &mut Vec<CaseResult>,
) -> Result<(), String> {
    let mut problems = Problems::default();
    shape::TEST.check(test, &Pointer::root(), &mut problems);
    let object = match test.as_object() {
        Some(object) if !problems.has_errors() => object,
        _ => return Err(problems.text()),
    };
    let policy = policy(object, load)?;
    let refused = object.get("valid").and_then(Value::as_bool) == Some(false);
    if object.contains_key("error_contains") && !refused {
        return Err("`error_contains` goes with `valid: false` only".to_owned());
    }
    if refused {
        results.push(refusal(object, at, policy)?);
        return Ok(());
    }
    let policy = match policy {
        None => None,
        Some(Ok(policy)) => Some(policy),
        Some(Err(problems)) => return Err(format!("the policy is invalid:\n{}", problems.text())),
    };
    let cases = object.get("cases").and_then(Value::as_array).filter(|cases| !cases.is_empty());
    let cases = cases.ok_or("a test needs at least one case in `cases`, or `valid: false`")?;
    let mut world = World {
        policy,
        tools: tools(object),
        defaults: object.get("defaults").and_then(Value::as_object).cloned().unwrap_or_default(),
        counters: Counters::new(),
        clock: Time::parse(DEFAULT_TIME)?,
    };
    if let Some(clock) = world.defaults.get("at").and_then(Value::as_str) {
        world.clock = Time::parse(clock)?;
    }
    for (index, case) in cases.iter().enumerate() {
        let case = case.as_object().ok_or("a case is an object")?;
        results.push(case::run(case, index, &mut world)?);
    }
    Ok(())
}

/// `None` is a grant without a policy.
fn policy(test: &Object, load: &Load<'_>) -> Result<Option<Result<Policy, Problems>>, String> {
    match test.get("policy") {
        None => Err("a test needs a `policy`: a path, a document, or null".to_owned()),
        Some(Value::Null) => Ok(None),
        Some(Value::String(path)) => Ok(Some(Policy::parse(&load(path)?))),
        Some(document) => Ok(Some(Policy::from_value(document))),
    }
}

fn refusal(
    test: &Object,
    at: &Pointer,
    policy: Option<Result<Policy, Problems>>,
) -> Result<CaseResult, String> {
    if test.contains_key("cases") {
        return Err("a test with `valid: false` has no `cases`".to_owned());
    }
    let words = test.get("error_contains").and_then(Value::as_str);
    let message = match policy {
        Some(Err(problems)) => Some(problems.text()),
        _ => None,
    };
    let passed = message.as_ref().is_some_and(|message| words.is_none_or(|words| message.contains(words)));
    let expected =
        Object::new().with("valid", false).with("error_contains", words.map_or(Value::Null, Value::from));
    let actual = Object::new()
        .with("valid", message.is_none())
        .with("error", message.map_or(Value::Null, Value::from));
    Ok(CaseResult {
        name: format!("{at} the policy is refused").trim().to_owned(),
        passed,
        expected: expected.into(),
        actual: actual.into(),
    })
}

/// What the cases of one test share.
struct World {
    policy: Option<Policy>,
    tools: HashMap<String, Tool>,
    defaults: Object,
    counters: Counters,
    clock: Time,
}

#[derive(Default)]
struct Tool {
    class: Option<Class>,
    schema: Option<JsonSchema>,
}

fn tools(test: &Object) -> HashMap<String, Tool> {
    let members = test.get("tools").and_then(Value::as_object).into_iter().flatten();
    let tool = |value: &Value| Tool {
        class: value.get("class").and_then(Value::as_str).and_then(Class::from_name),
        // One that does not compile is like one that is not known: the call is denied.
        schema: value
            .get("input_schema")
            .and_then(|schema| JsonSchema::compile(schema, Dialect::AsDeclared).ok()),
    };
    members.map(|member| (member.key.to_string(), tool(&member.value))).collect()
}

/// Arguments as a gateway would read them: exactly one object.
fn read_arguments(text: &str) -> Option<Value> {
    portcullis_json::parse(text.as_bytes(), &Limits::message())
        .ok()
        .filter(|value| value.as_object().is_some())
}
