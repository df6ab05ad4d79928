//! The policy's word on what is asked. Only this module makes an [`Allowed`].
//!
//! INVARIANT: list equals call. Calls, lists, notifications and questions all go to `portcullis_policy::decide`.

use std::sync::Arc;

use portcullis_json::{Object, Value};
use portcullis_mcp::Message;
use portcullis_policy::{self as policy, Effect, Question, Subject, Verdict};

use crate::authenticate::Caller;
use crate::gateway::Gateway;
use crate::ledger::time;
use crate::question::{About, Asked, as_object_mut};
use crate::record::{OutgoingKind, Trail, risk_class};
use crate::sessions::Call;
use crate::stop::{Denial, DenialKind, Refusal, Stop};

/// What the policy lets through, with what it obliges to. It may still want a person's word.
pub(crate) struct Allowed {
    asked: Asked,
    verdict: Verdict,
}

impl Allowed {
    /// How the answer finds back, with what is to be blanked out in it.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.asked.call.as_ref()
    }

    pub(crate) fn into_parts(self) -> (Asked, Verdict) {
        (self.asked, self.verdict)
    }
}

/// Judges. `set` is applied here, so that what is sent is what was judged.
pub(crate) fn decide(gateway: &Gateway, mut asked: Asked, trail: &mut Trail) -> Result<Allowed, Stop> {
    trail.policy = asked.caller.policy.clone();
    let verdict = match &asked.about {
        About::Tool(tool) => {
            let empty = Value::Object(Object::new());
            let arguments = arguments(&asked.kind).unwrap_or(&empty);
            let (class, is_override) = asked.caller.server.class_of(tool);
            (trail.class, trail.class_is_override) = (class.map(risk_class), is_override);
            let call =
                policy::Call { tool: &tool.name, class, schema: tool.schema(), arguments, approved: false };
            ask(gateway, &asked.caller, Subject::Call(call))
        }
        About::Resource(uri) => ask(gateway, &asked.caller, Subject::Resource(uri)),
        About::Prompt(name) => ask(gateway, &asked.caller, Subject::Prompt(name)),
        About::Task(_) | About::Listen | About::Nothing => without_rule(&asked.caller),
    };
    if let About::Tool(tool) = &asked.about
        && tool.withheld
        && !matches!(&*verdict.rule, "(hidden)" | "(no policy)")
    {
        return Err(changed_tool().into());
    }
    if verdict.effect == Effect::Deny {
        return Err(refusal(&asked, &verdict).into());
    }
    if let Some(mismatch) = asked.mismatch.take() {
        return Err(mismatch);
    }
    if let (Some(arguments), Some(request)) = (&verdict.obligations.arguments, asked.request()) {
        // INVARIANT: judged is sent. What `set` made of the arguments takes their place.
        let params = request.params.get_or_insert_default();
        params.insert("arguments", arguments.clone());
    }
    if matches!(asked.about, About::Listen) {
        let caller = asked.caller.clone();
        let params = asked.request().and_then(|request| request.params.as_mut());
        narrow_subscriptions(gateway, &caller, params);
    }
    if let Some(call) = &mut asked.call {
        let of_task = match &asked.about {
            About::Task(redact) => *redact,
            _ => policy::Detectors::default(),
        };
        call.redact = verdict.obligations.redact.union(of_task);
    }
    Ok(Allowed { asked, verdict })
}

fn arguments(kind: &OutgoingKind) -> Option<&Value> {
    match kind {
        OutgoingKind::Message { message: Message::Request(request), .. } => {
            request.params.as_ref()?.get("arguments")
        }
        _ => None,
    }
}

/// One question to the policy of this caller.
pub(crate) fn ask(gateway: &Gateway, caller: &Caller, subject: Subject<'_>) -> Verdict {
    let grant = caller.grant.grant();
    let active = caller.policy.as_deref();
    // Under the lock, as when something is reserved: no charge is later than the time it is looked at.
    let counters = gateway.state.ledger.read();
    let question = Question {
        caller: policy::Caller {
            policy: active.map_or("", |active| &active.name),
            grant_id: &grant.id,
            grant_label: &grant.label,
            grant_tags: &grant.tags,
            server: caller.server.name(),
            session: caller.session.as_ref().map(|session| session.id.as_str()),
            client: caller.client.as_deref(),
            now: time(gateway.now()),
        },
        subject,
    };
    policy::decide(active.map(|active| &active.policy), &question, &counters)
}

/// Whether the policy allows this, for what is shown or passed on piece by piece.
pub(crate) fn allows(gateway: &Gateway, caller: &Caller, subject: Subject<'_>) -> bool {
    ask(gateway, caller, subject).effect == Effect::Allow
}

/// What no rule names passes where there is a policy at all. INVARIANT: deny by default.
fn without_rule(caller: &Caller) -> Verdict {
    let missing = caller.policy.is_none();
    Verdict {
        effect: if missing { Effect::Deny } else { Effect::Allow },
        would: None,
        rule: Arc::from(if missing { "(no policy)" } else { "" }),
        message: missing.then(|| "This grant has no policy for this server.".to_owned()),
        cause: None,
        retryable: false,
        retry_after_s: None,
        obligations: policy::Obligations::default(),
    }
}

fn refusal(asked: &Asked, verdict: &Verdict) -> Refusal {
    match &asked.about {
        About::Tool(tool) if &*verdict.rule == "(hidden)" => {
            Refusal::UnknownTool { name: tool.name.clone(), rule: "(hidden)" }
        }
        _ => Refusal::Denied(denial(verdict)),
    }
}

/// INVARIANT: pinned is shown. Whatever the policy says, shadow mode included: nobody has accepted what the tool is now.
fn changed_tool() -> Denial {
    Denial {
        rule: Arc::from("(tool changed)"),
        message: "This tool's definition has changed. An administrator must look at it and accept it first."
            .to_owned(),
        retryable: false,
        retry_after_s: None,
        kind: DenialKind::Rule,
    }
}

/// The verdict as it is told.
pub(crate) fn denial(verdict: &Verdict) -> Denial {
    let is_limit = verdict.rule.contains("/limits/") || verdict.rule.ends_with("/rate_limit");
    Denial {
        rule: verdict.rule.clone(),
        message: verdict.message.clone().unwrap_or_else(|| "The policy denies this.".to_owned()),
        retryable: verdict.retryable,
        retry_after_s: verdict.retry_after_s,
        kind: if is_limit { DenialKind::Limit } else { DenialKind::Rule },
    }
}

/// Only resources that the policy allows and tasks of this grant are listened to.
fn narrow_subscriptions(gateway: &Gateway, caller: &Caller, params: Option<&mut Object>) {
    let filter = params.and_then(|params| params.get_mut("notifications")).and_then(as_object_mut);
    let Some(filter) = filter else {
        return;
    };
    if let Some(Value::Array(uris)) = filter.get_mut("resourceSubscriptions") {
        uris.retain(|uri| uri.as_str().is_some_and(|uri| allows(gateway, caller, Subject::Resource(uri))));
    }
    if let Some(Value::Array(ids)) = filter.get_mut("taskIds") {
        let ours = |id: &str| gateway.tasks.find(&caller.server, id, caller.grant_id()).is_some();
        ids.retain(|id| id.as_str().is_some_and(ours));
    }
}
