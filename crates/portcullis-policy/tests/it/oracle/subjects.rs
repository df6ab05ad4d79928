//! Engines to try the comparison on: one that is the oracle itself, reading everything from text as a
//! real one must, and the same with one fault at a time. The first must never differ, the others must.

use super::compare::{Observed, ObservedCharge, Subject, compare};
use super::counters::Ledger;
use super::coverage::Coverage;
use super::decide::{Decision, Effect, Verdict, decide};
use super::document::{Doc, RequestKind};
use super::scenario::{CallCase, Tool, Who};
use super::value::{Val, read};
use super::{elsewhere, print, reading};

/// What is spoilt in an observation.
type Fault = fn(&mut Observed);

struct Mirror {
    doc: Option<Doc>,
    ledger: Ledger,
    fault: Fault,
}

impl Mirror {
    fn with(fault: Fault) -> Self {
        Self { doc: None, ledger: Ledger::default(), fault }
    }

    fn observed(&self, verdict: Verdict) -> Observed {
        let shadow = self.doc.as_ref().is_some_and(Doc::is_shadow);
        let mut observed = Observed::plain(verdict.effect, &verdict.rule);
        if shadow {
            observed.would_deny = verdict.effect == Effect::Deny;
            observed.would_approve = verdict.effect == Effect::Approve;
            observed.effect = Effect::Allow;
        }
        observed.message = verdict.words.map(|words| format!("[POLICY DENIED] {words}"));
        observed.cause = verdict.causes.first().copied();
        observed.retryable = verdict.retryable;
        observed.retry_after_s = verdict.retry_after_s;
        observed
    }

    fn spoilt(&self, mut observed: Observed) -> Observed {
        (self.fault)(&mut observed);
        observed
    }

    fn observed_call(&self, decision: Decision) -> Observed {
        let charge = |(key, amount): &(_, super::number::Decimal)| ObservedCharge {
            key: Clone::clone(key),
            amount: amount.plain(),
        };
        let redact = decision.redact.iter().map(|d| d.name().to_owned());
        Observed {
            charges: Some(decision.charges.iter().map(charge).collect()),
            redact: Some(redact.collect()),
            arguments: Some(print::compact(&decision.arguments)),
            set: Some(decision.set),
            ..self.observed(decision.verdict)
        }
    }
}

impl Subject for Mirror {
    fn load(&mut self, policy: Option<&str>) -> Result<(), String> {
        self.doc = policy.map(|text| reading::document(&read(text)));
        self.ledger = Ledger::default();
        Ok(())
    }

    fn call(&mut self, call: &CallCase, who: &Who, at: i64) -> Observed {
        let call = CallCase { arguments: call.arguments_text.as_deref().map(read), ..call.clone() };
        let doc = self.doc.as_ref();
        let decision = decide(doc, &mut self.ledger, &call, who, at, &mut Coverage::off());
        self.spoilt(self.observed_call(decision))
    }

    fn visible(&mut self, tools: &[Tool], _: &Who, _: i64) -> Vec<String> {
        elsewhere::visible(self.doc.as_ref(), tools)
    }

    fn read(&mut self, uri: &str, _: &Who, _: i64) -> Observed {
        self.spoilt(self.observed(elsewhere::read(self.doc.as_ref(), uri)))
    }

    fn prompt(&mut self, name: &str, _: &Who, _: i64) -> Observed {
        self.spoilt(self.observed(elsewhere::prompt(self.doc.as_ref(), name)))
    }

    fn server_request(&mut self, kind: RequestKind, _: &Who, _: i64) -> Observed {
        self.spoilt(self.observed(elsewhere::server_request(self.doc.as_ref(), kind)))
    }
}

#[test]
fn the_oracle_agrees_with_itself_through_text() {
    let mut mirror = Mirror::with(|_| {});
    for seed in 0..1_000 {
        compare(seed, &mut mirror).unwrap_or_else(|told| panic!("{told}"));
    }
}

#[test]
fn each_fault_is_noticed() {
    let faults: [(&str, Fault); 11] = [
        ("effect", |o| o.effect = Effect::Allow),
        ("rule", |o| o.rule.push('0')),
        ("would_deny", |o| o.would_deny = false),
        ("would_approve", |o| o.would_approve = false),
        ("message", |o| o.message = None),
        ("retryable", |o| o.retryable = false),
        ("retry_after_s", |o| o.retry_after_s = o.retry_after_s.map(|s| s + 1)),
        ("set", |o| o.set = Some(Vec::new())),
        ("arguments", |o| o.arguments = Some("{}".to_owned())),
        ("redact", |o| o.redact = Some(Vec::new())),
        ("charges", |o| o.charges = o.charges.as_ref().map(|_| Vec::new())),
    ];
    for (name, fault) in faults {
        let mut mirror = Mirror::with(fault);
        let told = (0..300).find_map(|seed| compare(seed, &mut mirror).err());
        assert!(told.is_some_and(|told| told.contains(name)), "{name} is not compared");
    }
}

#[test]
fn a_report_is_small_and_is_a_test_file() {
    let mut gullible = Mirror::with(|observed| observed.effect = Effect::Allow);
    let reports = (0..50).filter_map(|seed| compare(seed, &mut gullible).err());
    let reports: Vec<String> = reports.collect();
    assert!(reports.len() > 25, "only {} were found", reports.len());
    for report in &reports {
        let (_, file) = report.split_once('\n').unwrap();
        let Some(Val::Arr(cases)) = read(file).get("cases").cloned() else {
            panic!("no cases: {report}");
        };
        assert!((1..=4).contains(&cases.len()), "not small: {report}");
    }
}
