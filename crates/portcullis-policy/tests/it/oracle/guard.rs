//! Watches the generator: that it reaches every corner of the language, that what it writes can be read
//! back, and that neither outcome prevails.

use super::compare::{Expected, expectations, policy_text};
use super::coverage::Coverage;
use super::decide::Effect;
use super::document::{Align, Detector, Doc, Entry, Op, Period, RateLimit, Window};
use super::generate::scenario;
use super::scenario::{Scenario, What};
use super::value::read;
use super::{print, reading};

const SCENARIOS: u64 = 20_000;

#[test]
fn the_generator_reaches_every_corner() {
    let mut coverage = Coverage::on();
    for seed in 0..SCENARIOS {
        let scenario = scenario(seed);
        scenario.doc.iter().for_each(|doc| note_document(doc, &mut coverage));
        let answers = expectations(&scenario, &mut coverage);
        for (event, expected) in scenario.events.iter().zip(&answers) {
            note_outcome(&event.what, expected, scenario.tools.len(), &mut coverage);
        }
    }
    let corners = corners();
    let never: Vec<&String> = corners.iter().filter(|c| coverage.times(c) == 0).collect();
    assert!(never.is_empty(), "never reached: {never:#?}");
}

/// Everything that must come up at least once.
fn corners() -> Vec<String> {
    let mut corners = Vec::new();
    for kind in ["require", "deny_if", "approve_if"] {
        for op in Op::ALL {
            for place in ["Holds", "Fails", "Missing"] {
                corners.push(format!("{kind} {} {place}", op.name()));
            }
            let exists = *op == Op::Exists;
            let path = if exists { "Inapplicable" } else { "PathInapplicable" };
            corners.push(format!("{kind} {} {path}", op.name()));
            if !speaks_of_everything(*op) {
                corners.push(format!("{kind} {} OperatorInapplicable", op.name()));
            }
        }
    }
    corners.extend(outcomes().into_iter().map(|outcome| format!("outcome {outcome}")));
    for period in Period::ALL {
        corners.push(format!("sliding {}", period.name()));
        corners.push(format!("calendar {}", period.name()));
    }
    let forms = [
        "rate text",
        "rate object",
        "window seconds",
        "window counted",
        "all fields",
        "ask",
        "on_deny",
        "require_approval",
        "increment",
        "increment_from",
        "empty conditions",
    ];
    corners.extend(forms.map(|form| format!("form {form}")));
    for detector in Detector::ALL {
        corners.push(format!("redacts {}", detector.name()));
    }
    corners
}

fn speaks_of_everything(op: Op) -> bool {
    let everything = [Op::Eq, Op::Neq, Op::In, Op::NotIn, Op::Type, Op::Exists, Op::Schema];
    everything.contains(&op)
}

/// Each step as an outcome, at each place it can come from, in both modes where that differs.
fn outcomes() -> Vec<String> {
    let mut outcomes = Vec::new();
    let fixed = [
        "(no policy) Deny",
        "(hidden) Deny",
        "(class unknown) Deny",
        "(default deny) Deny",
        "(malformed uri) Deny",
        "/resources/deny Deny",
        "/prompts/deny Deny",
        "/server_requests/sampling Deny",
        "/server_requests/sampling Approve",
        " Allow",
        "retry Deny",
        "no retry Deny",
        "retry by the clock Deny",
        "set Allow",
        "visible some",
        "visible none",
        "visible all",
    ];
    outcomes.extend(fixed.map(str::to_owned));
    let fields = [
        ("action Deny", false),
        ("action Approve", false),
        ("set Deny", false),
        ("validate Deny", true),
        ("require Deny", true),
        ("deny_if Deny", true),
        ("limits Deny", true),
        ("rate_limit Deny", true),
        ("approve_if Approve", true),
    ];
    for mode in ["", "shadow "] {
        for (field, everywhere) in fields {
            outcomes.push(format!("{mode}/tools/{field}"));
            outcomes.push(format!("{mode}/classes/{field}"));
            if everywhere {
                outcomes.push(format!("{mode}/all_tools/{field}"));
            }
        }
        outcomes.push(format!("{mode} Allow"));
    }
    outcomes.push("shadow (hidden) Deny".to_owned());
    outcomes
}

fn note_outcome(what: &What, expected: &Expected, tools: usize, coverage: &mut Coverage) {
    let (verdict, shadow) = match expected {
        Expected::Visible(names) => {
            let much = match names.len() {
                0 => "none",
                shown if shown == tools => "all",
                _ => "some",
            };
            return coverage.note(|| format!("outcome visible {much}"));
        }
        Expected::Other { verdict, shadow } => (verdict, *shadow),
        Expected::Call(decision) => {
            for detector in &decision.redact {
                coverage.note(|| format!("redacts {}", detector.name()));
            }
            if !decision.set.is_empty() && decision.verdict.effect == Effect::Allow {
                coverage.note(|| "outcome set Allow".to_owned());
            }
            (&decision.verdict, decision.shadow)
        }
    };
    let mode = if shadow { "shadow " } else { "" };
    coverage.note(|| format!("outcome {mode}{} {:?}", short(&verdict.rule), verdict.effect));
    if matches!(what, What::Call(_)) && verdict.effect == Effect::Deny && !shadow {
        let limit = verdict.rule.contains("/limits/") || verdict.rule.ends_with("rate_limit");
        match (limit, verdict.retry_after_s.is_some()) {
            (true, true) => coverage.note(|| "outcome retry Deny".to_owned()),
            (true, false) => coverage.note(|| "outcome no retry Deny".to_owned()),
            _ if verdict.retryable => coverage.note(|| "outcome retry by the clock Deny".to_owned()),
            _ => {}
        }
    }
}

/// The pointer without names and numbers: `/tools/NAME/require/0` becomes `/tools/require`.
fn short(rule: &str) -> String {
    let parts: Vec<&str> = rule.split('/').collect();
    match parts.as_slice() {
        ["", "tools" | "classes", _, field, ..] => format!("/{}/{field}", parts[1]),
        ["", section, field, ..] => format!("/{section}/{field}"),
        _ => rule.to_owned(),
    }
}

fn note_document(doc: &Doc, coverage: &mut Coverage) {
    let of_tools = doc.tools.iter().flatten().map(|(_, entry)| entry);
    let of_classes = doc.classes.iter().flatten().map(|(_, entry)| entry);
    for entry in of_tools.chain(of_classes).chain(&doc.all_tools) {
        for form in forms(entry) {
            coverage.note(|| form);
        }
    }
}

fn forms(entry: &Entry) -> Vec<String> {
    let mut forms = Vec::new();
    let mut form = |holds: bool, name: &str| {
        if holds {
            forms.push(format!("form {name}"));
        }
    };
    let action = entry.action.map(|action| action.name());
    form(action == Some("require_approval"), "require_approval");
    form(matches!(entry.rate_limit, Some(RateLimit::Text { .. })), "rate text");
    form(matches!(entry.rate_limit, Some(RateLimit::Object { .. })), "rate object");
    let rules = entry.require.is_some() && entry.deny_if.is_some() && entry.approve_if.is_some();
    let counts = entry.limits.is_some() && entry.rate_limit.is_some();
    let rest = entry.validate.is_some() && entry.set.is_some() && entry.redact.is_some();
    form(rules && counts && rest, "all fields");
    for rule in entry.approve_if.iter().flatten() {
        let field = rule.words.as_ref().map_or("", |(field, _)| field);
        form(!field.is_empty(), field);
        form(rule.conditions.is_empty(), "empty conditions");
    }
    for limit in entry.limits.iter().flatten() {
        form(limit.increment.is_some(), "increment");
        form(limit.increment_from.is_some(), "increment_from");
        form(matches!(limit.window, Window::Seconds(_)), "window seconds");
        form(matches!(limit.window, Window::Counted(..)), "window counted");
    }
    for limit in entry.limits.iter().flatten() {
        if let Window::Named(period) = limit.window {
            let align = limit.align.unwrap_or(Align::Sliding).name();
            forms.push(format!("{align} {}", period.name()));
        }
    }
    forms
}

#[test]
fn what_is_written_reads_back_the_same() {
    for seed in 0..500 {
        let Some(doc) = scenario(seed).doc else {
            continue;
        };
        let again = reading::document(&read(&policy_text(&doc, Some(seed))));
        let order_is_free = |doc: &Doc| {
            let mut doc = doc.clone();
            doc.tools.iter_mut().for_each(|tools| tools.sort_by(|(a, _), (b, _)| a.cmp(b)));
            doc.classes.iter_mut().for_each(|classes| classes.sort_by_key(|(class, _)| *class));
            doc.server_requests.iter_mut().for_each(|requests| requests.sort());
            print::compact(&print::document(&doc, None))
        };
        assert_eq!(order_is_free(&doc), order_is_free(&again), "seed {seed}");
    }
}

/// Half of the random conditions should hold, half of the calls should pass; roughly is enough.
#[test]
fn neither_allow_nor_deny_prevails() {
    let mut counts = [0_usize; 3];
    for seed in 0..2_000 {
        let scenario: Scenario = scenario(seed);
        for expected in expectations(&scenario, &mut Coverage::off()) {
            if let Expected::Call(decision) = expected {
                counts[decision.verdict.effect as usize] += 1;
            }
        }
    }
    let all: usize = counts.iter().sum();
    for (count, effect) in counts.iter().zip(["allow", "deny", "approve"]) {
        let percent = count * 100 / all;
        assert!((4..75).contains(&percent), "{effect}: {percent} %");
    }
}
