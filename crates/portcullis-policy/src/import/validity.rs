//! What Intercept refuses when it loads a policy, and what its reader takes for something else.

use portcullis_json::Value;

use super::findings::Findings;
use super::source::{Condition, Rule, State, Tool, WINDOWS};

const OPERATORS: [&str; 11] =
    ["eq", "neq", "in", "not_in", "lt", "lte", "gt", "gte", "regex", "contains", "exists"];

/// `010`, `1_000`, `0b11`, `-0x1F` and dates.
pub(super) fn is_odd_number(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let agreed = plain.starts_with("0x") || plain.starts_with("0o");
    let second = unsigned.strip_prefix('0').and_then(|rest| rest.chars().next());
    let based = second.is_some_and(|second| second.is_ascii_alphanumeric() && !"eE".contains(second));
    let date = unsigned.split('-').count() == 3 && unsigned.starts_with(|first: char| first.is_ascii_digit());
    unsigned.contains('_') || (based && !agreed) || date
}

pub(super) fn check_conditions(rule: &Rule, findings: &mut Findings) {
    match (rule.denies, rule.conditions.is_empty()) {
        (true, false) => findings.fault(&rule.at, "a rule with `action: deny` has no `conditions`"),
        (false, true) => findings.fault(&rule.at, "a rule needs at least one condition"),
        _ => {}
    }
}

pub(super) fn check_counter(tool: &Tool, rule: &Rule, findings: &mut Findings) {
    let Some(state) = &rule.state else { return };
    let mut states = tool.rules.iter().filter_map(|rule| rule.state.as_ref());
    if states.any(|other| other.counter == state.counter) {
        let message = format!("the counter `{}` is declared twice for this tool", state.counter);
        findings.fault(&state.at, message);
    }
}

pub(super) fn check_condition(condition: &Condition, findings: &mut Findings) {
    let Condition { at, path, op, value } = condition;
    if !path.starts_with("args.") && !path.starts_with("state.") {
        let message = format!("`{path}` must start with `args.` or `state.`");
        findings.fault(&at.key("path"), message);
    }
    let wanted = match (op.as_str(), value) {
        ("in" | "not_in", Value::Array(_)) => None,
        ("in" | "not_in", _) => Some("a list"),
        ("lt" | "lte" | "gt" | "gte", Value::Number(_)) => None,
        ("lt" | "lte" | "gt" | "gte", _) => Some("a number"),
        ("exists", Value::Bool(_)) => None,
        ("exists", _) => Some("true or false"),
        ("regex", Value::String(_)) => None,
        ("regex", _) => Some("a string"),
        _ => None,
    };
    if let Some(wanted) = wanted {
        findings.fault(&at.key("value"), format!("`{op}` takes {wanted}"));
    }
    if !OPERATORS.contains(&op.as_str()) {
        findings.fault(&at.key("op"), format!("unknown operator `{op}`"));
    }
}

pub(super) fn check_state(state: &State, findings: &mut Findings) {
    let State { at, counter, window, increment_from, .. } = state;
    if counter.is_empty() {
        findings.fault(at, "a counter needs a name");
    }
    if !WINDOWS.contains(&window.as_str()) {
        let message = format!("`window` must be minute, hour or day, not `{window}`");
        findings.fault(&at.key("window"), message);
    }
    if increment_from.as_ref().is_some_and(|path| !path.starts_with("args.")) {
        let message = "`increment_from` must start with `args.`";
        findings.fault(&at.key("increment_from"), message);
    }
}
