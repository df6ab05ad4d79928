//! Runs a scenario on the oracle and on the engine and compares them event by event.

use super::conditions::Cause;
use super::counters::{CounterKey, Ledger};
use super::coverage::Coverage;
use super::decide::{Decision, Effect, Verdict, decide};
use super::document::RequestKind;
use super::number::Decimal;
use super::scenario::{CallCase, Event, Scenario, Tool, What, Who};
use super::value::{Sameness, read, same};
use super::{dump, elsewhere, generate, print, shrink};

/// What takes part: the engine behind an adapter. Microseconds since the epoch are the time of an event.
pub(crate) trait Subject {
    /// Starts anew: this policy (None: the grant has none), no counters.
    fn load(&mut self, policy: Option<&str>) -> Result<(), String>;
    /// Decides a call and charges for it when it is forwarded.
    fn call(&mut self, call: &CallCase, who: &Who, at: i64) -> Observed;
    /// The names of those of these tools that are listed.
    fn visible(&mut self, tools: &[Tool], who: &Who, at: i64) -> Vec<String>;
    fn read(&mut self, uri: &str, who: &Who, at: i64) -> Observed;
    fn prompt(&mut self, name: &str, who: &Who, at: i64) -> Observed;
    fn server_request(&mut self, kind: RequestKind, who: &Who, at: i64) -> Observed;
}

/// What the engine said about one event. What it does not tell stays None and is not compared.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) effect: Effect,
    pub(crate) rule: String,
    pub(crate) would_deny: bool,
    pub(crate) would_approve: bool,
    /// The message or the question; it must contain what the policy's author wrote.
    pub(crate) message: Option<String>,
    pub(crate) cause: Option<Cause>,
    pub(crate) retryable: bool,
    pub(crate) retry_after_s: Option<u64>,
    /// Paths as written, in order.
    pub(crate) set: Option<Vec<String>>,
    /// The arguments as they go to the server or to the person, as JSON text.
    pub(crate) arguments: Option<String>,
    /// Names of detectors, in any order.
    pub(crate) redact: Option<Vec<String>>,
    pub(crate) charges: Option<Vec<ObservedCharge>>,
}

impl Observed {
    /// An outcome with nothing else told.
    pub(crate) fn plain(effect: Effect, rule: &str) -> Self {
        Self {
            effect,
            rule: rule.to_owned(),
            would_deny: false,
            would_approve: false,
            message: None,
            cause: None,
            retryable: false,
            retry_after_s: None,
            set: None,
            arguments: None,
            redact: None,
            charges: None,
        }
    }
}

/// An amount, in any spelling, and the counter it went to. The same counter may come more than once.
#[derive(Clone, Debug)]
pub(crate) struct ObservedCharge {
    pub(crate) key: CounterKey,
    pub(crate) amount: String,
}

/// What the oracle says about one event.
pub(crate) enum Expected {
    Call(Box<Decision>),
    Other { verdict: Verdict, shadow: bool },
    Visible(Vec<String>),
}

/// Runs the seed's scenario on both; a difference comes back shrunk, as a test file with a remark.
pub(crate) fn compare(seed: u64, subject: &mut dyn Subject) -> Result<(), String> {
    let scenario = generate::scenario(seed);
    if difference(&scenario, subject).is_none() {
        return Ok(());
    }
    let small = shrink::shrunk(scenario, &mut |s| difference(s, subject).is_some());
    let told = difference(&small, subject).unwrap_or_default();
    Err(format!("seed {seed}: {told}\n{}", dump::test_file(&small)))
}

/// The oracle's answers to all events of a scenario.
pub(crate) fn expectations(scenario: &Scenario, coverage: &mut Coverage) -> Vec<Expected> {
    let mut ledger = Ledger::default();
    let events = scenario.events.iter();
    events.map(|event| expected(scenario, event, &mut ledger, coverage)).collect()
}

fn expected(scenario: &Scenario, event: &Event, ledger: &mut Ledger, coverage: &mut Coverage) -> Expected {
    let doc = scenario.doc.as_ref();
    let verdict = match &event.what {
        What::Call(call) => {
            let decision = decide(doc, ledger, call, &event.who, event.at, coverage);
            return Expected::Call(Box::new(decision));
        }
        What::List => return Expected::Visible(elsewhere::visible(doc, &scenario.tools)),
        What::Read(uri) => elsewhere::read(doc, uri),
        What::Prompt(name) => elsewhere::prompt(doc, name),
        What::ServerRequest(kind) => elsewhere::server_request(doc, *kind),
    };
    let shadow = doc.is_some_and(|doc| doc.is_shadow());
    Expected::Other { verdict, shadow }
}

/// The first difference between the two, if there is one.
pub(crate) fn difference(scenario: &Scenario, subject: &mut dyn Subject) -> Option<String> {
    let text = scenario.doc.as_ref().map(|doc| policy_text(doc, scenario.spelling));
    if let Err(problem) = subject.load(text.as_deref()) {
        return Some(format!("the policy is valid but was refused: {problem}"));
    }
    let expectations = expectations(scenario, &mut Coverage::off());
    for (index, (event, expected)) in scenario.events.iter().zip(expectations).enumerate() {
        if let Err(told) = compare_event(event, &expected, &scenario.tools, subject) {
            return Some(format!("event {}: {told}", index + 1));
        }
    }
    None
}

pub(crate) fn policy_text(doc: &super::document::Doc, spelling: Option<u64>) -> String {
    let value = print::document(doc, spelling);
    match spelling {
        Some(seed) => print::varied(&value, seed),
        None => print::compact(&value),
    }
}

fn compare_event(
    event: &Event,
    expected: &Expected,
    tools: &[Tool],
    subject: &mut dyn Subject,
) -> Result<(), String> {
    let (who, at) = (&event.who, event.at);
    let observed = match &event.what {
        What::Call(call) => subject.call(call, who, at),
        What::Read(uri) => subject.read(uri, who, at),
        What::Prompt(name) => subject.prompt(name, who, at),
        What::ServerRequest(kind) => subject.server_request(*kind, who, at),
        What::List => {
            let Expected::Visible(expected) = expected else {
                panic!("a list is expected to be one");
            };
            let seen = subject.visible(tools, who, at);
            return equal("visible", &sorted(expected.clone()), &sorted(seen));
        }
    };
    match expected {
        Expected::Call(decision) => compare_call(decision, &observed),
        Expected::Other { verdict, shadow } => compare_verdict(verdict, *shadow, &observed),
        Expected::Visible(_) => panic!("only a list is expected to be one"),
    }
}

fn compare_verdict(verdict: &Verdict, shadow: bool, observed: &Observed) -> Result<(), String> {
    let effect = if shadow { Effect::Allow } else { verdict.effect };
    equal("effect", &(effect, &verdict.rule), &(observed.effect, &observed.rule))?;
    let would = (shadow && verdict.effect == Effect::Deny, shadow && verdict.effect == Effect::Approve);
    let seen = (observed.would_deny, observed.would_approve);
    equal("would_deny, would_approve", &would, &seen)?;
    if let Some(words) = &verdict.words {
        let message = observed.message.as_deref().unwrap_or_default();
        let told = message.contains(words);
        told.then_some(()).ok_or(format!("message: `{words}` is not in `{message}`"))?;
    }
    if let Some(cause) = observed.cause {
        let known = verdict.causes.contains(&cause);
        let causes = &verdict.causes;
        known.then_some(()).ok_or(format!("cause: {cause:?} is none of {causes:?}"))?;
    }
    if effect == Effect::Deny {
        let expected = (verdict.retryable, verdict.retry_after_s);
        let seen = (observed.retryable, observed.retry_after_s);
        equal("retryable, retry_after_s", &expected, &seen)?;
    }
    Ok(())
}

/// What follows from a decision matters only where the call goes on, to the server or to a person.
fn compare_call(decision: &Decision, observed: &Observed) -> Result<(), String> {
    compare_verdict(&decision.verdict, decision.shadow, observed)?;
    if observed.effect == Effect::Deny {
        return Ok(());
    }
    if let Some(set) = &observed.set {
        equal("set", &decision.set, set)?;
    }
    if let Some(text) = &observed.arguments
        && !same(&read(text), &decision.arguments, Sameness::Exact)
    {
        let expected = print::compact(&decision.arguments);
        return Err(format!("arguments: expected {expected}, found {text}"));
    }
    if let Some(charges) = &observed.charges {
        equal("charges", &summed_expected(decision), &summed_observed(charges))?;
    }
    match &observed.redact {
        Some(redact) if observed.effect == Effect::Allow => {
            let names = decision.redact.iter().map(|d| d.name().to_owned());
            equal("redact", &sorted(names.collect()), &sorted(redact.clone()))
        }
        _ => Ok(()),
    }
}

type Sums = Vec<(CounterKey, String)>;

fn summed_expected(decision: &Decision) -> Sums {
    summed(decision.charges.clone())
}

fn summed_observed(charges: &[ObservedCharge]) -> Sums {
    let read = |charge: &ObservedCharge| (charge.key.clone(), Decimal::read(&charge.amount));
    summed(charges.iter().map(read).collect())
}

/// One sum for each counter, by its name; counters charged with nothing are left out.
fn summed(mut charges: Vec<(CounterKey, Decimal)>) -> Sums {
    charges.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut sums: Vec<(CounterKey, Decimal)> = Vec::new();
    for (key, amount) in charges {
        match sums.last_mut() {
            Some((last, sum)) if *last == key => *sum = sum.plus(&amount),
            _ => sums.push((key, amount)),
        }
    }
    let charged = sums.into_iter().filter(|(_, sum)| !sum.is_zero());
    charged.map(|(key, sum)| (key, sum.plain())).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, seen: &T) -> Result<(), String> {
    if expected == seen {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {seen:?}"))
}
