//! A naive reading of Intercept's rules, straight from the source, that every call which an imported policy
//! admits must pass as well, given the same calls before it.

use std::collections::HashMap;

use portcullis_json::{Number, Value};
use proptest::prelude::*;

use super::import_intercept;
use super::tests::Gate;
use crate::{Effect, Policy, yaml_to_value};

struct Intercept {
    document: Value,
    /// By key: the window's number since 1970 in its unit, and the count.
    counts: HashMap<String, (i64, i64)>,
}

impl Intercept {
    fn rules(&self, tool: &str) -> Vec<(String, Value)> {
        let scopes = [(tool, tool), ("*", "_global")];
        let tools = self.document.get("tools");
        let of = |(key, scope): (&str, &str)| {
            let rules = tools.and_then(|tools| tools.get(key)?.get("rules")?.as_array());
            let rules = rules.unwrap_or_default().iter();
            rules.map(|rule| (scope.to_owned(), rule.clone())).collect::<Vec<_>>()
        };
        scopes.into_iter().flat_map(of).collect()
    }

    fn admits(&mut self, tool: &str, arguments: &Value, minute: i64) -> bool {
        let listed = self.document.get("tools").is_some_and(|tools| tools.get(tool).is_some());
        if text(&self.document, "default") == "deny" && !listed {
            return false;
        }
        let rules = self.rules(tool);
        if !rules.iter().all(|(_, rule)| self.passes(rule, arguments, minute)) {
            return false;
        }
        rules.iter().all(|(scope, rule)| self.count(scope, rule, arguments, minute))
    }

    fn passes(&self, rule: &Value, arguments: &Value, minute: i64) -> bool {
        let conditions = rule.get("conditions").and_then(Value::as_array);
        text(rule, "action") != "deny"
            && conditions.unwrap_or_default().iter().all(|condition| {
                let value = condition.get("value").unwrap();
                let path = text(condition, "path");
                let actual = match path.strip_prefix("state.") {
                    Some(key) => Some(Value::from(self.total(key, minute))),
                    None => find(arguments, path.strip_prefix("args.").unwrap()).cloned(),
                };
                holds(text(condition, "op"), actual.as_ref(), value)
            })
    }

    fn total(&self, key: &str, minute: i64) -> i64 {
        let count = self.counts.get(key).filter(|(window, _)| *window == minute / 60);
        count.map_or(0, |(_, total)| *total)
    }

    /// Counts one call, if its rule's own limit admits it.
    fn count(&mut self, scope: &str, rule: &Value, arguments: &Value, minute: i64) -> bool {
        let (counter, amount, limit) = match (rule.get("state"), rule.get("rate_limit")) {
            (Some(state), _) => {
                let counter = text(state, "counter").to_owned();
                let limit = own_limit(rule, &format!("state.{scope}.{counter}"));
                (counter, amount(state, arguments), limit)
            }
            (None, Some(rate)) => {
                let (max, _) = rate.as_str().unwrap().split_once('/').unwrap();
                ("_rate_hour".to_owned(), Some(1), max.parse().unwrap())
            }
            (None, None) => return true,
        };
        let Some(amount) = amount else { return false };
        let key = format!("{scope}.{counter}");
        let total = self.total(&key, minute) + amount;
        self.counts.insert(key, (minute / 60, total));
        total <= limit
    }
}

fn own_limit(rule: &Value, path: &str) -> i64 {
    let conditions = rule.get("conditions").and_then(Value::as_array).unwrap();
    let limits = conditions.iter().filter(|condition| text(condition, "path") == path);
    let limit = limits.filter_map(|condition| {
        let number = condition.get("value")?.as_number()?.nearest_double() as i64;
        match text(condition, "op") {
            "lt" => Some(number - 1),
            "lte" => Some(number),
            _ => None,
        }
    });
    limit.min().unwrap_or(i64::MAX)
}

fn amount(state: &Value, arguments: &Value) -> Option<i64> {
    match state.get("increment_from") {
        Some(path) => {
            let path = path.as_str()?.strip_prefix("args.")?;
            Some(find(arguments, path)?.as_number()?.nearest_double() as i64)
        }
        None => Some(state.get("increment").and_then(|number| number.as_number()?.as_i64()).unwrap_or(1)),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn find<'v>(arguments: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(arguments, |value, key| value.get(key))
}

fn holds(op: &str, actual: Option<&Value>, value: &Value) -> bool {
    if op == "exists" {
        let there = actual.is_some_and(|actual| *actual != Value::Null);
        return *value == Value::Bool(there);
    }
    let Some(actual) = actual else { return false };
    let any_of = |actual: &Value| value.as_array().unwrap().iter().any(|value| equal(actual, value));
    let numbers = || Some((actual.as_number()?.nearest_double(), value.as_number()?.nearest_double()));
    match op {
        "eq" => equal(actual, value),
        "neq" => !equal(actual, value),
        "in" => any_of(actual),
        "not_in" => !any_of(actual),
        "lt" => numbers().is_some_and(|(a, b)| a < b),
        "lte" => numbers().is_some_and(|(a, b)| a <= b),
        "gt" => numbers().is_some_and(|(a, b)| a > b),
        "gte" => numbers().is_some_and(|(a, b)| a >= b),
        "contains" => match (actual, value) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            (Value::Array(elements), _) => elements.iter().any(|element| equal(element, value)),
            _ => false,
        },
        other => panic!("{other}"),
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.nearest_double() == b.nearest_double(),
        _ => printed(a).iter().any(|a| printed(b).contains(a)),
    }
}

/// As Go prints it; a number may be one as it was written, or a double.
fn printed(value: &Value) -> Vec<String> {
    let first = |value: &Value| printed(value).swap_remove(0);
    match value {
        Value::Null => vec!["<nil>".to_owned()],
        Value::Bool(truth) => vec![truth.to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.spelling().to_owned(), go_double(number)],
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(first).collect();
            vec![format!("[{}]", elements.join(" "))]
        }
        Value::Object(object) => {
            let mut members: Vec<String> =
                object.iter().map(|member| format!("{}:{}", member.key, first(&member.value))).collect();
            members.sort();
            vec![format!("map[{}]", members.join(" "))]
        }
    }
}

fn go_double(number: &Number) -> String {
    let double = number.nearest_double();
    let scientific = format!("{double:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    if (-4..6).contains(&exponent) {
        return double.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

const SCALARS: [&str; 14] = [
    "5",
    "-1",
    "0.5",
    "1000000",
    "a",
    "'5'",
    "'1e+06'",
    "true",
    "'true'",
    "null",
    "'<nil>'",
    "'[a 5]'",
    "'map[a:5]'",
    "''",
];

fn any_condition() -> impl Strategy<Value = String> {
    let scalar = || prop::sample::select(SCALARS.to_vec());
    let list = prop::collection::vec(scalar(), 0..3).prop_map(|list| format!("[{}]", list.join(", ")));
    let any = prop_oneof![4 => scalar().prop_map(str::to_owned), 1 => Just("[a, 5]".to_owned()), 1 => Just("{a: 5}".to_owned())];
    let number = prop::sample::select(vec!["-1", "0", "1", "2", "2.5", "4", "0.5"]);
    let by_value = prop_oneof![
        (prop::sample::select(vec!["eq", "neq", "contains"]), any),
        (prop::sample::select(vec!["in", "not_in"]), list),
        (prop::sample::select(vec!["lt", "lte", "gt", "gte"]), number.prop_map(str::to_owned)),
        (Just("exists"), prop::sample::select(vec!["true".to_owned(), "false".to_owned()])),
    ];
    let on_args = (prop::sample::select(vec!["args.a", "args.n", "args.a.b"]), by_value);
    let counters = prop::sample::select(vec!["state.t.c", "state.u.c", "state._global.c"]);
    let maxima = prop::sample::select(vec!["0", "1", "2", "3", "3.5", "5"]);
    let limit = (prop::sample::select(vec!["lt", "lte"]), maxima.prop_map(str::to_owned));
    let on_state = (counters, limit);
    prop_oneof![on_args, on_state]
        .prop_map(|(path, (op, value))| format!("{{path: {path}, op: {op}, value: {value}}}"))
}

fn any_source() -> impl Strategy<Value = String> {
    let state = prop::sample::select(vec![
        "",
        ", state: {counter: c, window: hour}",
        ", state: {counter: c, window: hour, increment: 2}",
        ", state: {counter: c, window: hour, increment_from: args.n}",
    ]);
    let evaluate = (prop::collection::vec(any_condition(), 1..3), state).prop_map(|(conditions, state)| {
        format!("{{name: r, conditions: [{}]{state}}}", conditions.join(", "))
    });
    let rule = prop_oneof![
        8 => evaluate,
        1 => Just("{name: d, action: deny}".to_owned()),
        2 => Just("{name: l, rate_limit: 2/hour}".to_owned()),
    ];
    // Declared everywhere, so that most sources are ones that Intercept takes.
    let plain =
        "{name: p, conditions: [{path: args.a, op: exists, value: true}], state: {counter: c, window: hour}}";
    let rules = prop_oneof![
        Just(plain.to_owned()),
        rule.clone().prop_map(move |rule| format!("{rule}, {plain}")),
        prop::collection::vec(rule, 0..3).prop_map(|rules| rules.join(", ")),
    ];
    let name = prop::sample::select(vec!["t", "u", "'*'", "'t?'"]);
    let tools = prop::collection::btree_map(name, rules, 1..4);
    (tools, prop::sample::select(vec!["allow", "deny"])).prop_map(|(tools, default)| {
        let tools: Vec<String> =
            tools.into_iter().map(|(name, rules)| format!("{name}: {{rules: [{rules}]}}")).collect();
        format!("version: '1'\ndefault: {default}\ntools: {{{}}}\n", tools.join(", "))
    })
}

fn any_call() -> impl Strategy<Value = (&'static str, String, i64)> {
    let a = prop::sample::select(vec![
        "\"a\": 5,",
        "\"a\": \"5\",",
        "\"a\": \"a\",",
        "\"a\": null,",
        "\"a\": true,",
        "\"a\": [\"a\", 5],",
        "\"a\": {\"b\": 5},",
        "\"a\": 1e6,",
        "\"a\": \"true\",",
        "",
    ]);
    let n = prop::sample::select(vec!["0", "1", "2", "0.5", "-1", "\"1\"", "null"]);
    let tool = prop::sample::select(vec!["t", "u", "tx", "other"]);
    (tool, a, n, 0..30_i64).prop_map(|(tool, a, n, wait)| (tool, format!("{{{a}\"n\": {n}}}"), wait))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn an_imported_policy_admits_nothing_that_intercept_denies(
        source in any_source(),
        calls in prop::collection::vec(any_call(), 1..12),
    ) {
        let imported = match import_intercept(source.as_bytes()) {
            Ok(imported) => imported,
            Err(faults) => {
                // Faults blame the source, never the policy that was made of it.
                prop_assert!(!faults.to_string().contains("does not load"), "{}\n{}", source, faults);
                return Ok(());
            }
        };
        let mut gate = Gate::of(Policy::from_value(&imported.policy).unwrap());
        let document = yaml_to_value(source.as_bytes()).unwrap();
        let mut intercept = Intercept { document, counts: HashMap::new() };
        let mut minute = 0;
        for (tool, arguments, wait) in calls {
            minute += wait;
            let time = format!("2026-11-15T{:02}:{:02}:00Z", minute / 60, minute % 60);
            if gate.call_at(&time, tool, &arguments).effect == Effect::Allow {
                let arguments = super::tests::json(&arguments);
                prop_assert!(
                    intercept.admits(tool, &arguments, minute),
                    "{}\n{} {} at {}\n{}", source, tool, arguments, time, imported.policy
                );
            }
        }
    }
}
