//! The engine against the oracle: random policies, calls and clocks on which both must agree.

use portcullis_json::{Limits, Value, parse};
use portcullis_policy::{
    Call, Caller, CauseKind, Class, Counters, Dialect, JsonSchema, Policy, Question, Reservation, Scope,
    ServerRequest, Subject, Time, Verdict, decide, explain,
};

use crate::oracle;
use crate::oracle::conditions::Cause;
use crate::oracle::counters::{CounterKey, Owner};
use crate::oracle::decide::Effect;
use crate::oracle::document::RequestKind;
use crate::oracle::scenario::{CallCase, Tool, Who};
use crate::oracle::{Observed, ObservedCharge};

/// Scenarios in an ordinary run; each has up to a dozen events.
const SCENARIOS: u64 = 30_000;

#[derive(Default)]
pub(crate) struct Engine {
    policy: Option<Policy>,
    pub(crate) counters: Counters,
    decisions: u64,
}

impl Engine {
    pub(crate) fn with(policy: Policy) -> Engine {
        Engine { policy: Some(policy), ..Engine::default() }
    }

    pub(crate) fn ask(&mut self, who: &Who, at: i64, subject: Subject<'_>) -> Verdict {
        let caller = Caller {
            policy: "p",
            grant_id: &who.grant_id,
            grant_label: &who.grant_label,
            grant_tags: &who.grant_tags,
            server: &who.server,
            session: who.session.as_deref(),
            client: who.client.as_deref(),
            now: Time::from_microseconds(at),
        };
        let question = Question { caller, subject };
        let verdict = decide(self.policy.as_ref(), &question, &self.counters);
        let (explained, _) = explain(self.policy.as_ref(), &question, &self.counters);
        assert_eq!((explained.effect, explained.rule), (verdict.effect, verdict.rule.clone()));
        self.decisions += 1;
        verdict
    }

    pub(crate) fn charge(&mut self, verdict: &Verdict, at: i64) {
        let now = Time::from_microseconds(at);
        let charges = &verdict.obligations.charges;
        if verdict.effect != portcullis_policy::Effect::Allow {
            assert!(charges.is_empty(), "only what is forwarded is charged");
            return;
        }
        let spent: Reservation = if self.policy.as_ref().is_some_and(Policy::is_shadow) {
            self.counters.record(charges, now)
        } else {
            self.counters.reserve(charges, now).expect("what was looked at fits")
        };
        // A look in between must not matter, nor must a restart.
        if at % 7 == 0 {
            self.counters = Counters::restore(&self.counters.snapshot()).unwrap();
        }
        drop(spent);
    }
}

impl Engine {
    pub(crate) fn decide_call(&mut self, call: &CallCase, who: &Who, at: i64) -> Verdict {
        let arguments = arguments(call);
        // A schema that does not compile is like one that is not known.
        let schema = call.tool.input_schema.as_ref().and_then(|schema| {
            JsonSchema::compile(&read(&oracle::text_of(schema)), Dialect::AsDeclared).ok()
        });
        let subject = Subject::Call(Call {
            tool: &call.tool.name,
            class: class(&call.tool),
            schema: schema.as_ref(),
            arguments: &arguments,
            approved: call.approved,
        });
        self.ask(who, at, subject)
    }

    pub(crate) fn decide_tool(&mut self, tool: &str, arguments: &Value, who: &Who, at: i64) -> Verdict {
        let call = Call { tool, class: None, schema: None, arguments, approved: false };
        self.ask(who, at, Subject::Call(call))
    }
}

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::message()).unwrap()
}

fn arguments(call: &CallCase) -> Value {
    read(call.arguments_text.as_deref().unwrap_or("{}"))
}

impl oracle::Subject for Engine {
    fn load(&mut self, policy: Option<&str>) -> Result<(), String> {
        self.counters = Counters::new();
        self.policy = match policy {
            Some(text) => Some(Policy::parse(text.as_bytes()).map_err(|problems| problems.text())?),
            None => None,
        };
        if let Some(policy) = &self.policy {
            let printed = portcullis_json::pretty(policy.document());
            let again = Policy::parse(printed.as_bytes()).map_err(|problems| problems.text())?;
            assert_eq!(again.document(), policy.document(), "printing and parsing is the identity");
        }
        Ok(())
    }

    fn call(&mut self, call: &CallCase, who: &Who, at: i64) -> Observed {
        let verdict = self.decide_call(call, who, at);
        self.charge(&verdict, at);
        let sent = verdict.obligations.arguments.clone().unwrap_or_else(|| arguments(call));
        observed(&verdict, Some(&sent))
    }

    fn visible(&mut self, tools: &[Tool], who: &Who, at: i64) -> Vec<String> {
        let mut visible = Vec::new();
        for tool in tools {
            let verdict = self.ask(who, at, Subject::List { tool: &tool.name, class: class(tool) });
            if verdict.effect == portcullis_policy::Effect::Allow {
                visible.push(tool.name.clone());
            }
        }
        visible
    }

    fn read(&mut self, uri: &str, who: &Who, at: i64) -> Observed {
        observed(&self.ask(who, at, Subject::Resource(uri)), None)
    }

    fn prompt(&mut self, name: &str, who: &Who, at: i64) -> Observed {
        observed(&self.ask(who, at, Subject::Prompt(name)), None)
    }

    fn server_request(&mut self, kind: RequestKind, who: &Who, at: i64) -> Observed {
        let request = ServerRequest::from_name(kind.name()).unwrap();
        observed(&self.ask(who, at, Subject::ServerRequest(request)), None)
    }
}

fn class(tool: &Tool) -> Option<Class> {
    tool.class.map(|class| Class::from_name(class.name()).unwrap())
}

fn observed(verdict: &Verdict, sent: Option<&Value>) -> Observed {
    let obligations = &verdict.obligations;
    let charges = obligations.charges.iter().map(|charge| ObservedCharge {
        key: CounterKey { counter: charge.key.counter.clone(), owner: owner(&charge.key.scope) },
        amount: charge.amount.to_string(),
    });
    Observed {
        would_deny: verdict.would == Some(portcullis_policy::Effect::Deny),
        would_approve: verdict.would == Some(portcullis_policy::Effect::Approve),
        message: verdict.message.clone(),
        cause: Some(cause(verdict)),
        retryable: verdict.retryable,
        retry_after_s: verdict.retry_after_s,
        set: Some(obligations.set.clone()),
        arguments: sent.map(Value::to_string),
        redact: Some(obligations.redact.iter().map(|detector| detector.name().to_owned()).collect()),
        charges: Some(charges.collect()),
        ..Observed::plain(effect(verdict.effect), &verdict.rule)
    }
}

fn effect(effect: portcullis_policy::Effect) -> Effect {
    match effect {
        portcullis_policy::Effect::Allow => Effect::Allow,
        portcullis_policy::Effect::Deny => Effect::Deny,
        portcullis_policy::Effect::Approve => Effect::Approve,
    }
}

fn owner(scope: &Scope) -> Owner {
    match scope {
        Scope::Grant(grant) => Owner::Grant(grant.clone()),
        Scope::Session(grant, session) => Owner::Session(grant.clone(), session.clone()),
        Scope::Server(server) => Owner::Server(server.clone()),
        Scope::Global => Owner::Everybody,
    }
}

fn cause(verdict: &Verdict) -> Cause {
    let Some(cause) = &verdict.cause else { return Cause::Nothing };
    match cause.kind {
        CauseKind::Missing => Cause::PathMissing(cause.condition),
        CauseKind::NoObject(_) | CauseKind::NoArray(_) | CauseKind::ClassUnknown => {
            Cause::PathInapplicable(cause.condition)
        }
        CauseKind::Inapplicable(_) => Cause::OperatorInapplicable(cause.condition),
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn engine_and_oracle_agree() {
    let scenarios = from_environment("PORTCULLIS_ORACLE_CASES", SCENARIOS);
    let first = from_environment("PORTCULLIS_ORACLE_SEED", 0);
    let decisions: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|half| {
                scope.spawn(move || {
                    let mut engine = Engine::default();
                    for seed in (first..first + scenarios).filter(|seed| seed % 2 == half) {
                        if let Err(report) = oracle::compare(seed, &mut engine) {
                            panic!("{report}");
                        }
                    }
                    engine.decisions
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{scenarios} scenarios, {decisions} decisions, no disagreement");
    assert!(decisions >= 3 * scenarios, "only {decisions} decisions");
}
