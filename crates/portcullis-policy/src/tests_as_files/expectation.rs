//! What came out, in the fields of `expect`, and whether it is what was expected.

use portcullis_json::{Object, Value};

use crate::verdict::{Effect, Verdict};

/// A verdict in the fields of `expect`, with the whole message.
pub(super) fn fields(verdict: &Verdict) -> Object {
    let seconds = verdict.retry_after_s.and_then(|seconds| i64::try_from(seconds).ok());
    let set: Vec<Value> = verdict.obligations.set.iter().map(|path| path.as_str().into()).collect();
    Object::new()
        .with("decision", verdict.effect.name())
        .with("rule", &*verdict.rule)
        .with("message", verdict.message.as_deref().map_or(Value::Null, Value::from))
        .with("retryable", verdict.retryable)
        .with("retry_after_s", seconds.map_or(Value::Null, Value::from))
        .with("set", set)
        .with("would_deny", verdict.would == Some(Effect::Deny))
        .with("would_approve", verdict.would == Some(Effect::Approve))
}

/// Compares what is given, and only that.
pub(super) fn holds(expected: &Object, actual: &Object) -> bool {
    expected.iter().all(|member| match member.key.as_str() {
        "message_contains" => {
            let message = actual.get("message").and_then(Value::as_str);
            message.zip(member.value.as_str()).is_some_and(|(message, part)| message.contains(part))
        }
        "visible" => same_set(&member.value, actual.get("visible")),
        key => actual.get(key) == Some(&member.value),
    })
}

fn same_set(expected: &Value, actual: Option<&Value>) -> bool {
    let sorted = |value: &Value| {
        let mut names: Vec<String> =
            value.as_array().unwrap_or_default().iter().map(Value::to_string).collect();
        names.sort();
        names.dedup();
        names
    };
    actual.is_some_and(|actual| sorted(expected) == sorted(actual))
}
