//! The record: a decision is in the log before anything leaves, and how it ended afterwards.
//!
//! INVARIANT: no record, no call. Only this module makes a [`Permit`], and only from an [`Admitted`] (or
//! for a request of the gateway's own), and only once the log has taken the decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use portcullis_json::Digest;
use portcullis_mcp::{Era, Id, Message};
use portcullis_policy::{Class, Effect, Reservation};
use portcullis_state::log::{
    Arguments, Charge, Decision, Ending, Entry, LogFault, Outcome, PolicyName, RiskClass, Shadow, Ticket,
    Verdict,
};
use portcullis_state::new_id;

use crate::gateway::Gateway;
use crate::ledger;
use crate::limits::Admitted;
use crate::own::Place;
use crate::server::Server;
use crate::snapshot::ActivePolicy;
use crate::stop::{ClientFault, GatewayFault, Stop, UpstreamFault};
use crate::tool::Tool;

/// What the log shall know of an exchange; gathered stage by stage.
#[derive(Default)]
pub(crate) struct Trail {
    /// Our id of the exchange, also told to the agent.
    pub(crate) request: String,
    pub(crate) grant: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) era: Option<Era>,
    /// The client's id, to answer under.
    pub(crate) id: Option<Id>,
    pub(crate) method: &'static str,
    pub(crate) is_tool_call: bool,
    pub(crate) tool: Option<String>,
    pub(crate) resource: Option<String>,
    pub(crate) class: Option<RiskClass>,
    pub(crate) class_is_override: bool,
    pub(crate) policy: Option<Arc<ActivePolicy>>,
    pub(crate) argument_keys: Vec<String>,
    pub(crate) digest: Option<Digest>,
    /// Whether a decision about it is in the log.
    pub(crate) recorded: AtomicBool,
}

impl Trail {
    pub(crate) fn new(now: Timestamp) -> Result<Trail, Stop> {
        let request = new_id("d", now).map_err(|_| GatewayFault::NoRandomness)?;
        Ok(Trail { request, ..Trail::default() })
    }
}

pub(crate) fn risk_class(class: Class) -> RiskClass {
    match class {
        Class::Read => RiskClass::Read,
        Class::Write => RiskClass::Write,
        Class::Execute => RiskClass::Execute,
        Class::Destructive => RiskClass::Destructive,
        Class::Financial => RiskClass::Financial,
    }
}

/// What leaves for a server.
pub(crate) struct Outgoing {
    pub(crate) kind: OutgoingKind,
    pub(crate) place: Place,
    /// W3C trace context.
    pub(crate) trace: Vec<(HeaderName, HeaderValue)>,
}

pub(crate) enum OutgoingKind {
    /// One message, under an id of ours; the tool it calls, for the headers that mirror arguments.
    Message { message: Message, tool: Option<Arc<Tool>> },
    /// The stream of a legacy session.
    OpenStream { last_event_id: Option<String> },
    /// The end of a legacy session.
    EndSession,
}

impl Outgoing {
    pub(crate) fn new(kind: OutgoingKind, place: Place) -> Outgoing {
        Outgoing { kind, place, trace: Vec::new() }
    }
}

/// Leave to send exactly this. INVARIANT: permit required.
pub(crate) struct Permit {
    server: Arc<Server>,
    outgoing: Outgoing,
    receipt: Receipt,
}

impl Permit {
    /// For `forward` alone: a permit is good for one sending.
    pub(crate) fn spend(self) -> (Arc<Server>, Outgoing, Receipt) {
        (self.server, self.outgoing, self.receipt)
    }
}

/// Writes the decision about an admitted message and gives the permit for it.
pub(crate) async fn record(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    trail: &Trail,
) -> Result<Permit, Stop> {
    let (server, outgoing, verdict, mut reserved) = admitted.into_parts();
    // A grant that was revoked while the call was being judged starts nothing any more.
    let live = gateway.live();
    if !trail.grant.as_deref().is_some_and(|grant| live.grants().is_active(grant, gateway.now())) {
        reserved.give_back(gateway);
        return Err(ClientFault::Unauthenticated.into());
    }
    let charges = ledger::for_log(&verdict.obligations.charges);
    let shadow = verdict.would.map(|would| match would {
        Effect::Approve => Shadow::WouldApprove,
        Effect::Allow | Effect::Deny => Shadow::WouldDeny,
    });
    let decided = Decided {
        verdict: Verdict::Allowed,
        rule: Some(&*verdict.rule).filter(|rule| !rule.is_empty()),
        message: verdict.message.as_deref(),
        shadow,
        charges: &charges,
    };
    // With other processes on the same log, whether it still fits is known only when it is this one's turn.
    let settle = || reserved.settle(gateway, &verdict.obligations.charges);
    let ticket = append(gateway, trail, &decided, settle);
    match settled(ticket).await {
        Ok(sequence) => {
            let receipt = Receipt::new(gateway, trail, sequence, charges, reserved.into_reservation());
            Ok(Permit { server, outgoing, receipt })
        }
        Err(stop) => {
            reserved.give_back(gateway);
            Err(stop)
        }
    }
}

/// The permit for a request of the gateway's own.
pub(crate) async fn own(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    outgoing: Outgoing,
    method: &'static str,
) -> Result<Permit, Stop> {
    let mut trail = Trail::new(gateway.now())?;
    trail.method = method;
    trail.server = Some(server.name().to_owned());
    trail.session = None;
    trail.class = Some(RiskClass::Read);
    let sequence = write(gateway, &trail, &Decided::plain(Verdict::Allowed, "(gateway)")).await?;
    let receipt = Receipt::new(gateway, &trail, sequence, Vec::new(), None);
    Ok(Permit { server: server.clone(), outgoing, receipt })
}

/// What was decided, for the log.
pub(crate) struct Decided<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) rule: Option<&'a str>,
    pub(crate) message: Option<&'a str>,
    pub(crate) shadow: Option<Shadow>,
    pub(crate) charges: &'a [Charge],
}

impl<'a> Decided<'a> {
    pub(crate) fn plain(verdict: Verdict, rule: &'a str) -> Decided<'a> {
        Decided { verdict, rule: Some(rule), message: None, shadow: None, charges: &[] }
    }
}

/// Writes a decision and waits until the caller may go on; gives its number.
pub(crate) async fn write(gateway: &Gateway, trail: &Trail, decided: &Decided<'_>) -> Result<u64, Stop> {
    settled(append(gateway, trail, decided, || Ok(gateway.now()))).await
}

/// Writes a decision, unless `settle` refuses when it is this process's turn; that also gives its time.
fn append(
    gateway: &Gateway,
    trail: &Trail,
    decided: &Decided<'_>,
    settle: impl FnOnce() -> Result<Timestamp, Stop>,
) -> Result<Ticket, Stop> {
    let keys: Vec<&str> = trail.argument_keys.iter().map(String::as_str).collect();
    let policy = trail.policy.as_deref();
    let decision = Decision {
        request: &trail.request,
        grant: trail.grant.as_deref(),
        session: trail.session.as_deref(),
        server: trail.server.as_deref(),
        method: if trail.method.is_empty() { "(unread)" } else { trail.method },
        tool: trail.tool.as_deref(),
        resource: trail.resource.as_deref(),
        class: trail.class,
        class_is_override: trail.class_is_override,
        policy: policy.map(|active| PolicyName {
            name: &active.name,
            version: active.version,
            hash: &active.hash,
        }),
        verdict: decided.verdict,
        rule: decided.rule,
        message: decided.message,
        shadow: decided.shadow,
        arguments: Arguments { keys: &keys, digest: trail.digest.as_ref() },
        charges: decided.charges,
        approval: None,
    };
    let appended = gateway.state.log.append_if(&Entry::Decision(&decision), settle);
    trail.recorded.fetch_or(appended.is_ok(), Ordering::Relaxed);
    appended
}

/// Waits until the caller may go on; gives the record's number.
async fn settled(ticket: Result<Ticket, Stop>) -> Result<u64, Stop> {
    Ok(ticket?.settled().await?.sequence)
}

impl From<LogFault> for Stop {
    fn from(fault: LogFault) -> Stop {
        tracing::error!(%fault, "a decision could not be recorded");
        GatewayFault::LogUnavailable.into()
    }
}

/// Proof that a decision is in the log; says at the end how it went.
///
/// Dropped without a word, it says that the caller went away.
pub(crate) struct Receipt {
    gateway: Arc<Gateway>,
    request: String,
    grant: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    decision: u64,
    charges: Vec<Charge>,
    reservation: Option<Reservation>,
    started: Instant,
    open: bool,
}

impl Receipt {
    fn new(
        gateway: &Arc<Gateway>,
        trail: &Trail,
        decision: u64,
        charges: Vec<Charge>,
        reservation: Option<Reservation>,
    ) -> Receipt {
        Receipt {
            gateway: gateway.clone(),
            request: trail.request.clone(),
            grant: trail.grant.clone(),
            server: trail.server.clone(),
            tool: trail.tool.clone(),
            decision,
            charges,
            reservation,
            started: Instant::now(),
            open: true,
        }
    }

    /// It came back, or did not.
    pub(crate) fn finish(mut self, ending: Ending, status: Option<u16>, message: Option<&str>) {
        self.write(ending, status, message, &[]);
    }

    /// Answered, or ended by this fault.
    pub(crate) fn finish_by(self, fault: Option<&UpstreamFault>) {
        match fault {
            None => self.finish(Ending::Answered, None, None),
            Some(fault) if fault.is_before_sending() => self.never_left(fault),
            Some(fault) => {
                let (ending, status) = match fault {
                    UpstreamFault::TimedOut => (Ending::TimedOut, None),
                    UpstreamFault::Status(status) => (Ending::Failed, Some(*status)),
                    UpstreamFault::Broken | UpstreamFault::Ended => (Ending::Unknown, None),
                    _ => (Ending::Failed, None),
                };
                self.finish(ending, status, Some(&fault.text()));
            }
        }
    }

    /// It certainly never left: what was reserved is given back.
    fn never_left(mut self, fault: &UpstreamFault) {
        if let Some(reservation) = self.reservation.take() {
            self.gateway.state.ledger.give_back(reservation);
        }
        let charges = std::mem::take(&mut self.charges);
        self.write(Ending::NotSent, None, Some(&fault.text()), &charges);
    }

    fn write(&mut self, ending: Ending, status: Option<u16>, message: Option<&str>, given_back: &[Charge]) {
        self.open = false;
        let latency = self.started.elapsed();
        let outcome = Outcome {
            request: &self.request,
            decision: self.decision,
            grant: self.grant.as_deref(),
            server: self.server.as_deref(),
            tool: self.tool.as_deref(),
            ending,
            status,
            latency_us: u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
            message,
            given_back,
        };
        let now = self.gateway.now();
        if let Err(fault) = self.gateway.state.log.append(now, &Entry::Outcome(&outcome)) {
            tracing::error!(%fault, "an outcome could not be recorded");
        }
        let server = self.server.as_deref().unwrap_or_default();
        self.gateway.metrics.answered(server, ending.as_str(), latency);
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if self.open {
            self.write(Ending::Cancelled, None, Some("the caller went away"), &[]);
        }
    }
}
