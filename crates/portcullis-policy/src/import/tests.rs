//! Sources and the policies they become; calls to the policies where what matters is what they do.

mod conditions;
mod refusals;

use portcullis_json::Limits;

use super::*;
use crate::question::{Call, Caller, Question, Subject};
use crate::time::Time;
use crate::{Effect, Verdict, decide};

pub(super) fn json(text: &str) -> Value {
    portcullis_json::parse(text.as_bytes(), &Limits::document()).unwrap()
}

/// The policy, which must load.
#[track_caller]
fn imported(yaml: &str) -> Imported {
    let imported = import_intercept(yaml.as_bytes()).unwrap_or_else(|faults| panic!("{faults}"));
    Policy::from_value(&imported.policy).unwrap();
    imported
}

/// Notes without the ones that every import has: `changed /tools/a: message`.
fn notes(imported: &Imported) -> Vec<String> {
    let special = imported.notes.iter().filter(|note| {
        let general = ["judges calls of tools only", "names of rules", "stays counted"];
        !general.iter().any(|text| note.message.contains(text))
    });
    special.map(|note| format!("{} {}: {}", note.kind.name(), note.pointer, note.message)).collect()
}

/// `tools` in YAML, and the whole policy but `version` and `default: allow`; no notes beyond the general.
#[track_caller]
fn check(yaml: &str, expected: &str) {
    check_with_notes(yaml, expected, &[]);
}

#[track_caller]
fn check_with_notes(yaml: &str, expected: &str, expected_notes: &[&str]) {
    let imported = imported(&format!("version: \"1\"\n{yaml}"));
    let mut policy = Object::new().with("version", "1").with("default", "allow");
    for member in json(expected).as_object().unwrap() {
        policy.insert(&member.key, member.value.clone());
    }
    assert_eq!(pretty(&imported.policy), pretty(&reordered(policy, &imported.policy)), "{yaml}");
    let found = notes(&imported);
    assert_eq!(found.len(), expected_notes.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected_notes) {
        let (place, text) = expected.split_once(" … ").unwrap();
        assert!(found.starts_with(place) && found.contains(text), "{found}\n{expected}");
    }
}

/// In the order of `like`, so that a difference is easy to read; values decide, not their order.
fn reordered(policy: Object, like: &Value) -> Value {
    let policy = Value::Object(policy);
    if policy == *like { like.clone() } else { policy }
}

#[track_caller]
fn check_fault(yaml: &str, message: &str, line: usize) {
    let faults = import_intercept(yaml.as_bytes()).expect_err(yaml);
    let found = faults.list.iter().any(|fault| fault.message.contains(message) && fault.place.line == line);
    assert!(found, "{faults}");
}

/// A policy with its counters, asked again and again.
pub(super) struct Gate {
    policy: Policy,
    counters: crate::Counters,
}

impl Gate {
    #[track_caller]
    fn new(yaml: &str) -> Gate {
        Gate::of(Policy::from_value(&imported(yaml).policy).unwrap())
    }

    pub(super) fn of(policy: Policy) -> Gate {
        Gate { policy, counters: crate::Counters::new() }
    }

    pub(super) fn call_at(&mut self, time: &str, tool: &str, arguments: &str) -> Verdict {
        let arguments = json(arguments);
        let subject =
            Subject::Call(Call { tool, class: None, schema: None, arguments: &arguments, approved: false });
        let caller = caller(time);
        let now = caller.now;
        let verdict = decide(Some(&self.policy), &Question { caller, subject }, &self.counters);
        if verdict.effect == Effect::Allow {
            let _stays_spent = self.counters.reserve(&verdict.obligations.charges, now).unwrap();
        }
        verdict
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Verdict {
        self.call_at("2026-11-15T10:59:30Z", tool, arguments)
    }

    fn allows(&mut self, tool: &str, arguments: &str) -> bool {
        self.call(tool, arguments).effect == Effect::Allow
    }

    fn lists(&self, tool: &str) -> bool {
        let subject = Subject::List { tool, class: None };
        let caller = caller("2026-11-15T10:59:30Z");
        decide(Some(&self.policy), &Question { caller, subject }, &self.counters).effect == Effect::Allow
    }
}

fn caller(time: &str) -> Caller<'static> {
    Caller {
        policy: "imported",
        grant_id: "g1",
        grant_label: "ci",
        grant_tags: &[],
        server: "s",
        session: None,
        client: None,
        now: Time::parse(time).unwrap(),
    }
}

#[test]
fn a_whole_document() {
    let imported = imported(
        r#"
version: "1"
description: Shop
default: deny
hide: [wipe]
tools:
  look: {rules: []}
  browse:
  order:
    rules:
      - name: small orders
        conditions:
          - {path: args.total, op: lte, value: 500}
          - {path: args.currency, op: in, value: [usd, eur]}
        on_deny: At most 500.
      - name: order rate
        rate_limit: 5/hour
      - name: spending
        conditions:
          - {path: state.order.spent, op: lt, value: 1001}
        state: {counter: spent, window: day, increment_from: args.total}
        on_deny: Enough for today.
  cancel:
    rules:
      - {name: no cancelling, action: deny, on_deny: Ask a person.}
  "*":
    rules:
      - {name: all calls, rate_limit: 60/minute, on_deny: Slow down.}
"#,
    );
    let expected = json(
        r#"{"version": "1", "description": "Shop", "default": "deny", "hide": ["wipe"],
            "all_tools": {"limits": [
              {"counter": "_global._rate_minute", "window": "minute", "max": 60, "scope": "global",
               "align": "calendar", "on_deny": "Slow down."}]},
            "tools": {
              "look": {}, "browse": {},
              "order": {
                "require": [{"conditions": [
                    {"path": "args.total", "op": "lte", "value": 500},
                    {"path": "args.currency", "op": "in", "value": ["usd", "eur"]}],
                  "on_deny": "At most 500."}],
                "limits": [
                  {"counter": "order._rate_hour", "window": "hour", "max": 5, "scope": "global", "align": "calendar"},
                  {"counter": "order.spent", "window": "day", "max": 1000, "scope": "global", "align": "calendar",
                   "increment_from": "args.total", "on_deny": "Enough for today."}]},
              "cancel": {"action": "deny", "reason": "Ask a person."}}}"#,
    );
    assert_eq!(imported.policy, expected);
    let found: Vec<(NoteKind, &str, usize)> =
        imported.notes.iter().map(|note| (note.kind, note.pointer.as_str(), note.place.line)).collect();
    assert_eq!(
        found,
        [
            (NoteKind::Changed, "", 2),
            (NoteKind::Changed, "/default", 4),
            (NoteKind::Dropped, "/tools", 6),
            (NoteKind::Changed, "/tools/order/rules/1/rate_limit", 17),
            (NoteKind::Changed, "/tools/order/rules/2/state/increment_from", 21),
        ]
    );
}

fn rules(rules: &str) -> String {
    format!("tools:\n  t:\n    rules:\n{rules}")
}

fn condition(path: &str, op: &str, value: &str) -> String {
    let yaml =
        format!("      - name: r\n        conditions: [{{path: '{path}', op: {op}, value: {value}}}]\n");
    rules(&yaml)
}

#[test]
fn what_cannot_be_said_denies_instead() {
    let denied = r#"{"tools": {"t": {"action": "deny", "reason": "Denied by rule `r`."}}}"#;
    let at = "changed /tools/t/rules/0/conditions/0: every call of `t` is denied instead … ";
    for (op, value, why) in [
        ("regex", r#""\\07""#, "`\\0`"),
        ("regex", r#""(?=x)""#, "group"),
        ("regex", r#""(x{1000}){1000}""#, ""),
        ("neq", "[a]", "by how they print"),
        ("not_in", "[{a: 1}]", "by how they print"),
    ] {
        check_with_notes(&condition("args.a", op, value), denied, &[&format!("{at}{why}")]);
    }
    let with_state = |op: &str, value: &str| {
        format!("{}        state: {{counter: c, window: hour}}\n", condition("state.t.c", op, value))
    };
    for (op, value) in
        [("gt", "1"), ("gte", "1"), ("eq", "0"), ("neq", "5"), ("exists", "false"), ("in", "[1]")]
    {
        let imported = imported(&format!("version: '1'\n{}", with_state(op, value)));
        assert_eq!(
            imported.policy.get("tools").unwrap().get("t").unwrap().get("action"),
            Some(&Value::from("deny")),
            "{op}"
        );
        assert!(notes(&imported)[0].contains("no limit can express"), "{op}");
    }
    for (op, value) in [("lte", "-1"), ("lt", "0"), ("lt", "0.5"), ("lte", "1e30")] {
        let imported = imported(&format!("version: '1'\n{}", with_state(op, value)));
        assert!(notes(&imported)[0].contains("admits no call at all"), "{op} {value}");
    }
}

#[test]
fn a_limit_hits_at_the_right_count_and_starts_anew_with_the_hour() {
    let mut gate =
        Gate::new("version: '1'\ntools:\n  t: {rules: [{name: r, rate_limit: 3/hour, on_deny: Enough.}]}\n");
    for _ in 0..3 {
        assert!(gate.allows("t", "{}"));
    }
    let denied = gate.call("t", "{}");
    assert_eq!((denied.effect, &*denied.rule), (Effect::Deny, "/tools/t/limits/0"));
    assert!(denied.message.unwrap().starts_with("Enough."));
    assert_eq!(denied.retry_after_s, Some(30));
    assert!(gate.allows("other", "{}"));
    assert_eq!(gate.call_at("2026-11-15T11:00:00Z", "t", "{}").effect, Effect::Allow);
}

#[test]
fn sums_are_limited_and_calls_without_an_amount_denied() {
    let mut gate = Gate::new(
        r#"
version: 1
tools:
  pay:
    rules:
      - name: cap
        conditions: [{path: state.pay.spent, op: lte, value: 100}]
        state: {counter: spent, window: day, increment_from: args.amount}
"#,
    );
    assert!(gate.allows("pay", r#"{"amount": 60}"#));
    assert!(!gate.allows("pay", r#"{"amount": 41}"#));
    assert!(gate.allows("pay", r#"{"amount": 40}"#));
    for arguments in ["{}", r#"{"amount": "1"}"#, r#"{"amount": -5}"#] {
        assert!(!gate.allows("pay", arguments), "{arguments}");
    }
}

#[test]
fn rules_of_every_tool_are_added_to_those_of_each() {
    let mut gate = Gate::new(
        r#"
version: "1"
tools:
  a: {rules: [{name: r, conditions: [{path: args.x, op: lte, value: 5}]}]}
  "*":
    rules:
      - {name: safe, conditions: [{path: args.path, op: neq, value: /etc}]}
      - {name: rate, rate_limit: 2/minute}
"#,
    );
    assert!(!gate.allows("a", r#"{"x": 6, "path": "/tmp"}"#));
    assert!(!gate.allows("a", r#"{"x": 5, "path": "/etc"}"#));
    // Missing is denied, in Intercept as here.
    assert!(!gate.allows("a", r#"{"x": 5}"#));
    assert!(gate.allows("a", r#"{"x": 5, "path": "/tmp"}"#));
    assert!(gate.allows("b", r#"{"path": "/tmp"}"#));
    let denied = gate.call("c", r#"{"path": "/tmp"}"#);
    assert_eq!(&*denied.rule, "/all_tools/limits/0");
}

#[test]
fn every_tool_can_be_denied() {
    let mut gate =
        Gate::new("version: '1'\ntools:\n  '*': {rules: [{name: closed, action: deny, on_deny: Closed.}]}\n");
    let denied = gate.call("anything", "{}");
    assert_eq!((denied.effect, &*denied.rule), (Effect::Deny, "/all_tools/deny_if/0"));
}

#[test]
fn every_tool_does_not_let_in_what_is_not_listed() {
    let mut gate = Gate::new(
        "version: '1'\ndefault: deny\nhide: [b]\ntools:\n  a: {rules: []}\n  b: {}\n  '*': {rules: [{name: r, rate_limit: 9/day}]}\n",
    );
    assert!(gate.allows("a", "{}") && gate.lists("a"));
    assert_eq!(&*gate.call("c", "{}").rule, "(default deny)");
    assert_eq!(&*gate.call("b", "{}").rule, "(hidden)");
    assert!(!gate.lists("b"));
}

#[test]
fn a_deny_rule_wins_over_the_other_rules_of_its_tool() {
    check(
        "tools:\n  t:\n    rules:\n      - {name: a, conditions: [{path: args.x, op: gt, value: 0}]}\n      - {name: b, action: deny}\n",
        r#"{"tools": {"t": {"action": "deny", "reason": "Denied by rule `b`.",
             "require": [{"conditions": [{"path": "args.x", "op": "gt", "value": 0}], "on_deny": "Denied by rule `a`."}]}}}"#,
    );
}

#[test]
fn a_counter_of_another_tool_counts_here_too() {
    let yaml = r#"
tools:
  search:
    rules:
      - {name: s, conditions: [{path: args.q, op: neq, value: x}], state: {counter: n, window: day, increment: 2}}
  send:
    rules:
      - {name: few, conditions: [{path: state.search.n, op: lte, value: 4}], on_deny: Too much searching.}
"#;
    check_with_notes(
        yaml,
        r#"{"tools": {
             "search": {"require": [{"conditions": [{"path": "args.q", "op": "neq", "value": "x"}],
                                     "on_deny": "Denied by rule `s`."}],
                        "limits": [{"counter": "search.n", "window": "day", "max": 9223372036854775807,
                                    "scope": "global", "align": "calendar", "increment": 2}]},
             "send": {"limits": [{"counter": "search.n", "window": "day", "max": 5, "scope": "global",
                                  "align": "calendar", "on_deny": "Too much searching."}]}}}"#,
        &["changed /tools/send/rules/0/conditions/0 … counted in `search.n` as well"],
    );
    let mut gate = Gate::new(&format!("version: '1'\n{yaml}"));
    assert!(gate.allows("search", r#"{"q": "a"}"#));
    assert!(gate.allows("search", r#"{"q": "a"}"#));
    assert!(gate.allows("send", "{}"));
    assert!(gate.allows("search", r#"{"q": "a"}"#));
    assert!(!gate.allows("send", "{}"));
}

#[test]
fn several_conditions_on_one_counter_count_a_call_once() {
    let yaml = r#"
tools:
  t:
    rules:
      - name: wide
        conditions: [{path: state.t.n, op: lte, value: 9}]
        state: {counter: n, window: hour}
      - name: narrow
        conditions: [{path: state.t.n, op: lte, value: 2}]
        on_deny: Two.
"#;
    check_with_notes(
        yaml,
        r#"{"tools": {"t": {"limits": [{"counter": "t.n", "window": "hour", "max": 2, "scope": "global",
                                        "align": "calendar", "on_deny": "Two."}]}}}"#,
        &["changed /tools/t/rules/1/conditions/0 … became one limit"],
    );
}

#[test]
fn a_counter_that_limits_nothing_is_dropped_but_its_amount_must_be_there() {
    let yaml = rules(
        "      - {name: r, conditions: [{path: args.x, op: gt, value: 0}], state: {counter: n, window: day, increment_from: args.x}}\n",
    );
    check_with_notes(
        &yaml,
        r#"{"tools": {"t": {"require": [
              {"conditions": [{"path": "args.x", "op": "gt", "value": 0}], "on_deny": "Denied by rule `r`."},
              {"conditions": [{"path": "args.x", "op": "type", "value": "number"}]}]}}}"#,
        &["dropped /tools/t/rules/0/state … limits nothing"],
    );
}

#[test]
fn counting_backwards_denies() {
    let yaml = rules(
        "      - {name: r, conditions: [{path: state.t.n, op: lte, value: 3}], state: {counter: n, window: day, increment: -1}, on_deny: No.}\n",
    );
    check_with_notes(
        &yaml,
        r#"{"tools": {"t": {"action": "deny", "reason": "No."}}}"#,
        &["changed /tools/t/rules/0/state … backwards"],
    );
}

#[test]
fn names_with_stars_are_names_in_intercept_and_patterns_here() {
    check_with_notes(
        "hide: ['a?', '*']\ntools: {'x*': {rules: [{name: r, action: deny}]}}\n",
        r#"{"hide": ["a?", "*"], "tools": {"x*": {"action": "deny", "reason": "Denied by rule `r`."}}}"#,
        &["changed /hide/0 … hides every tool", "changed /tools/x* … stands for every tool"],
    );
    let mut gate = Gate::new("version: '1'\ndefault: deny\ntools: {'x*': {}}\n");
    assert!(gate.allows("x*", "{}"));
    assert!(!gate.allows("xy", "{}"));
}

#[test]
fn fields_that_intercept_passes_over_are_dropped_aloud() {
    check_with_notes(
        "owner: me\ntools: {t: {enabled: false, rules: []}}\n",
        r#"{"tools": {"t": {}}}"#,
        &["dropped /owner … no field", "dropped /tools/t/enabled … no field"],
    );
}

#[test]
fn a_scaffold_with_comments_is_read() {
    check(
        "# generated\ndefault: \"allow\"\ntools:\n    #  -- Read --\n    look:\n        rules: []\n\n    move:\n        rules: []\n\n  # \"*\":\n  #   rules: []\n",
        r#"{"tools": {"look": {}, "move": {}}}"#,
    );
}
