//! A condition on an argument, as a condition of `require`: both say no to a path that is not there.
//!
//! Intercept compares values of different types by how they print (`5` equals `"5"`). Equality here is
//! that of JSON, which admits less; where *unequal* is asked for, the look-alikes are listed as well.

use portcullis_json::{Number, Object, Value, compact};

use super::findings::Findings;
use super::go_regex;
use super::source::Condition;
use crate::operator;
use crate::path::Path;

/// The conditions that hold for no call for which this one does not; or why there are none.
pub(super) fn translate(condition: &Condition, findings: &mut Findings) -> Result<Vec<Value>, String> {
    let path = path(&condition.path)?;
    let same = |op: &str, value: &Value| one(&path, op, value.clone());
    let value = &condition.value;
    Ok(match condition.op.as_str() {
        "exists" if *value == Value::Bool(true) => vec![same("neq", &Value::Null)],
        "exists" => {
            let message = "`null` counts as there; Intercept takes it for absent";
            findings.changed(&condition.at, message);
            vec![same("exists", value)]
        }
        "neq" => unequal(&path, std::slice::from_ref(value), condition, findings)?,
        "not_in" => {
            let values = value.as_array().unwrap_or_default();
            unequal(&path, values, condition, findings)?
        }
        "eq" | "in" | "contains" => {
            note_look_alikes(condition, findings);
            vec![same(&condition.op, value)]
        }
        "regex" => vec![same("regex", &Value::from(regex(value)?))],
        op => vec![same(op, value)],
    })
}

pub(super) fn one(path: &str, op: &str, value: Value) -> Value {
    let condition = Object::new().with("path", path).with("op", op);
    Value::Object(condition.with("value", value))
}

/// Every dot of theirs is a step by key, whatever stands between.
pub(super) fn path(theirs: &str) -> Result<String, String> {
    let keys = theirs.strip_prefix("args.").unwrap_or(theirs);
    let mut ours = String::from("args");
    for key in keys.split('.') {
        let plain = format!("{ours}.{key}");
        let steps = |path: &str| Path::parse(path).map(|path| path.steps.len());
        let is_one_step = !key.contains('[') && steps(&plain) == steps(&ours).map(|steps| steps + 1);
        ours = if is_one_step { plain } else { format!("{ours}[{}]", compact(&Value::from(key))) };
    }
    Path::parse(&ours).map(|_| ours)
}

fn regex(value: &Value) -> Result<String, String> {
    let ours = go_regex::translate(value.as_str().unwrap_or_default())?;
    match operator::find("regex").map(|regex| regex.compile(&Value::from(ours.as_str()))) {
        Some(Err(message)) => Err(message),
        _ => Ok(ours),
    }
}

fn unequal(
    path: &str,
    values: &[Value],
    condition: &Condition,
    findings: &mut Findings,
) -> Result<Vec<Value>, String> {
    let mut unwanted = values.to_vec();
    for value in values {
        let alike = look_alikes(value).ok_or("Intercept compares lists and mappings by how they print")?;
        unwanted.extend(alike);
    }
    let mut conditions = match unwanted.as_slice() {
        [only] if condition.op == "neq" => vec![one(path, "neq", only.clone())],
        _ => vec![one(path, "not_in", Value::Array(unwanted))],
    };
    if values.iter().any(prints_like_a_list) {
        let message = "only text is admitted: Intercept compares lists and mappings by how they print";
        findings.changed(&condition.at, message);
        conditions.push(one(path, "type", Value::from("string")));
    }
    Ok(conditions)
}

fn note_look_alikes(condition: &Condition, findings: &mut Findings) {
    let values = match &condition.value {
        Value::Array(values) if condition.op == "in" => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let none = |value: &Value| look_alikes(value).is_some_and(|alike| alike.is_empty());
    if !values.iter().all(|value| none(value) && !prints_like_a_list(value)) {
        let message = "the type counts: `5` and `\"5\"` are not equal here, in Intercept they are";
        findings.changed(&condition.at, message);
    }
}

fn prints_like_a_list(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('[') || text.starts_with("map["))
}

/// The values of other types that Intercept takes for equal; `None` if they cannot be listed.
fn look_alikes(value: &Value) -> Option<Vec<Value>> {
    Some(match value {
        Value::Null => vec![Value::from("<nil>")],
        Value::Bool(truth) => vec![Value::from(truth.to_string())],
        Value::Number(number) => printed(number).into_iter().map(Value::from).collect(),
        Value::String(text) => match (text.as_str(), Number::parse(text)) {
            (_, Some(number)) => vec![Value::Number(number)],
            ("true", _) => vec![Value::Bool(true)],
            ("false", _) => vec![Value::Bool(false)],
            ("<nil>", _) => vec![Value::Null],
            _ => Vec::new(),
        },
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// The ways in which Go prints a number: as it is, and as a double, plain or with an exponent.
fn printed(number: &Number) -> Vec<String> {
    let double = number.nearest_double();
    let mut spellings = vec![number.spelling().to_owned(), double.to_string()];
    let scientific = format!("{double:e}");
    if let Some((mantissa, exponent)) = scientific.split_once('e') {
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        spellings.push(format!("{mantissa}e{sign}{digits:0>2}"));
    }
    spellings.extend(number.as_i64().map(|whole| whole.to_string()));
    spellings.sort();
    spellings.dedup();
    spellings
}
