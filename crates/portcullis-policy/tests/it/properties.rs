//! What must hold for every policy: on the oracle's random policies and calls, and on random arrivals.

use portcullis_json::{Decimal, Limits, Object, Value, parse};
use portcullis_policy::{Counters, Effect, Policy, Subject, Verdict};
use proptest::prelude::*;

use crate::oracle;
use crate::oracle::scenario::{Event, Scenario, What};
use crate::oracle_agreement::Engine;

const SCENARIOS: u64 = 3_000;

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::document()).unwrap()
}

/// For every call of every scenario: the verdict under the policy, and under a changed one, with the same
/// counters. The counters are those that the policy itself has left.
fn for_each_call(
    change: impl Fn(u64, &Object, &Scenario) -> Object,
    check: impl Fn(&Event, &Verdict, &Verdict) -> Result<(), String>,
) {
    let mut calls = 0;
    for seed in 0..SCENARIOS {
        let (Some(text), scenario) = oracle::scenario_of(seed) else { continue };
        let document = read(&text);
        let changed = change(seed, document.as_object().unwrap(), &scenario);
        let policy = Policy::from_value(&document).unwrap();
        let changed = match Policy::from_value(&changed.clone().into()) {
            Ok(changed) => changed,
            Err(problems) => panic!("seed {seed}: {}", problems.text()),
        };
        let mut engine = Engine::with(policy);
        let mut other = Engine::with(changed);
        for event in &scenario.events {
            let What::Call(call) = &event.what else { continue };
            other.counters = engine.counters.clone();
            let after = other.decide_call(call, &event.who, event.at);
            let before = engine.decide_call(call, &event.who, event.at);
            if let Err(what) = check(event, &before, &after) {
                panic!("seed {seed}: {what}\n{text}");
            }
            engine.charge(&before, event.at);
            calls += 1;
        }
    }
    assert!(calls > SCENARIOS, "only {calls} calls");
}

fn admits(verdict: &Verdict) -> bool {
    verdict.effect != Effect::Deny && verdict.would != Some(Effect::Deny)
}

fn never_more(_: &Event, before: &Verdict, after: &Verdict) -> Result<(), String> {
    let more = (admits(after) && !admits(before)) || (passes(after) && !passes(before));
    if more { Err(format!("{before:?}\nbecame\n{after:?}")) } else { Ok(()) }
}

/// Without asking anybody.
fn passes(verdict: &Verdict) -> bool {
    verdict.effect == Effect::Allow && verdict.would.is_none()
}

/// Puts `element` at the end of the list `key` of every entry and of `all_tools`.
fn with_everywhere(document: &Object, key: &str, element: &Value) -> Object {
    let extended = |entry: &Value| -> Value {
        let mut list = entry.get(key).and_then(Value::as_array).unwrap_or_default().to_vec();
        list.push(element.clone());
        entry.as_object().unwrap().clone().with(key, list).into()
    };
    let mut changed = document.map(|member| match member.key.as_str() {
        "tools" | "classes" => member.value.as_object().unwrap().map(|entry| extended(&entry.value)).into(),
        _ => member.value.clone(),
    });
    let all_tools = document.get("all_tools").cloned().unwrap_or_else(|| Object::new().into());
    changed.insert("all_tools", extended(&all_tools));
    changed
}

/// Some rule that the generator made for another policy.
fn some_rule(seed: u64) -> Value {
    let from = |seed: u64| -> Option<Value> {
        let (text, _) = oracle::scenario_of(seed);
        let document = read(&text?);
        let tools = document.get("tools")?.as_object()?.iter();
        let rules = tools.filter_map(|entry| entry.value.get("deny_if")?.as_array()?.first().cloned());
        rules.into_iter().next()
    };
    (seed + 1..).find_map(from).unwrap()
}

#[test]
fn adding_a_deny_if_never_allows_more() {
    let change =
        |seed, document: &Object, _: &Scenario| with_everywhere(document, "deny_if", &some_rule(seed));
    for_each_call(change, never_more);
}

#[test]
fn adding_a_limit_never_allows_more() {
    let change = |seed, document: &Object, _: &Scenario| {
        let limit = format!(r#"{{"counter":"extra","window":"minute","max":{}}}"#, seed % 3);
        with_everywhere(document, "limits", &read(&limit))
    };
    for_each_call(change, never_more);
}

#[test]
fn a_hidden_tool_is_never_callable_nor_listed() {
    let change = |_, document: &Object, scenario: &Scenario| {
        let mut hide = document.get("hide").and_then(Value::as_array).unwrap_or_default().to_vec();
        hide.extend(scenario.tools.iter().map(|tool| Value::from(tool.name.as_str())));
        document.clone().with("hide", hide).with("mode", "enforce")
    };
    for_each_call(change, |event, _, after| {
        let What::Call(call) = &event.what else { return Ok(()) };
        let hidden = after.effect == Effect::Deny && &*after.rule == "(hidden)";
        if hidden { Ok(()) } else { Err(format!("{} is callable: {after:?}", call.tool.name)) }
    });
    // And the list says the same.
    let policy = Policy::parse(br#"{"version":"1","default":"allow","list":"all","hide":["*"]}"#).unwrap();
    let (_, scenario) = oracle::scenario_of(1);
    let who = &scenario.events[0].who;
    let listed = Engine::with(policy).ask(who, 0, Subject::List { tool: "anything", class: None });
    assert_eq!(listed.effect, Effect::Deny);
}

#[test]
fn shadow_mode_reports_what_enforcing_would_have_done() {
    let change = |_, document: &Object, _: &Scenario| {
        let other =
            if document.get("mode").and_then(Value::as_str) == Some("shadow") { "enforce" } else { "shadow" };
        document.clone().with("mode", other)
    };
    for_each_call(change, |_, before, after| {
        let meant = |verdict: &Verdict| {
            (verdict.would.unwrap_or(verdict.effect), verdict.rule.clone(), verdict.message.clone())
        };
        if meant(before) == meant(after) { Ok(()) } else { Err(format!("{before:?}\nagainst\n{after:?}")) }
    });
}

/// A policy with one sliding limit on sums.
fn one_limit(seconds: u32, max: i64) -> Policy {
    let text = format!(
        r#"{{"version":"1","default":"allow","all_tools":{{"limits":[
           {{"counter":"c","window":{seconds},"max":{max},"increment_from":"args.n"}}]}}}}"#
    );
    Policy::parse(text.as_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_interval_of_a_windows_length_holds_more_than_max(
        seconds in 1_u32..20,
        max in 1_i64..30,
        steps in prop::collection::vec((0_i64..3_000_000, 0_i64..12), 1..400),
        restart_every in 1_usize..50,
    ) {
        let mut engine = Engine::with(one_limit(seconds, max));
        let who = oracle::scenario_of(0).1.events[0].who.clone();
        let mut now = 1_000_000_000_000_000_i64;
        let mut admitted: Vec<(i64, i64)> = Vec::new();
        for (index, (step, amount)) in steps.into_iter().enumerate() {
            now += step;
            let arguments = Value::from(Object::new().with("n", amount));
            let verdict = engine.decide_tool("t", &arguments, &who, now);
            engine.charge(&verdict, now);
            if verdict.effect == Effect::Allow {
                admitted.push((now, amount));
            }
            if index % restart_every == 0 {
                engine.counters = Counters::restore(&engine.counters.snapshot()).unwrap();
            }
        }
        let length = i64::from(seconds) * 1_000_000;
        for (start, _) in &admitted {
            let inside = admitted.iter().filter(|(time, _)| (*start..*start + length).contains(time));
            let sum: i64 = inside.map(|(_, amount)| amount).sum();
            prop_assert!(sum <= max, "{sum} > {max} from {start}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = portcullis_policy::check(&bytes);
    }

    #[test]
    fn nearly_a_policy_is_read_or_refused(seed in 0_u64..5_000, cut in 0_usize..4_000, put in any::<u8>()) {
        let (text, _) = oracle::scenario_of(seed);
        let mut bytes = text.unwrap_or_default().into_bytes();
        if !bytes.is_empty() {
            let at = cut % bytes.len();
            bytes[at] = put;
        }
        let (policy, problems) = portcullis_policy::check(&bytes);
        prop_assert_eq!(policy.is_none(), problems.has_errors());
        for problem in problems.iter() {
            prop_assert!(problem.place(&bytes).is_some());
        }
    }
}

#[test]
fn a_reservation_that_is_given_back_leaves_no_trace() {
    let mut engine = Engine::with(one_limit(60, 5));
    let who = oracle::scenario_of(0).1.events[0].who.clone();
    let arguments = Value::from(Object::new().with("n", 5));
    let verdict = engine.decide_tool("t", &arguments, &who, 0);
    let now = portcullis_policy::Time::from_microseconds(0);
    let charges = verdict.obligations.charges;
    let reservation = engine.counters.reserve(&charges, now).unwrap();
    assert!(engine.counters.reserve(&charges, now).is_err());
    engine.counters.give_back(reservation);
    let [charge] = charges.as_slice() else { panic!("one limit, one charge") };
    assert_eq!(engine.counters.total(&charge.key, &charge.limit.window, now), Decimal::ZERO);
    assert!(engine.counters.reserve(&charges, now).is_ok());
}
