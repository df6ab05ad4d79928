//! The record: a decision is in the log before anything leaves, and how it ended afterwards.
//!
//! INVARIANT: no record, no call. Only this module makes a [`Permit`], and only from an [`Admitted`] (or
//! for a request of the gateway's own), and only once the log has taken the decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use portcullis_json::{Digest, Key};
use portcullis_mcp::{self as mcp, Era, Id, Message};
use portcullis_policy::{Class, Effect, Reservation};
use portcullis_state::log::{
    Arguments, Charge, Decision, Ending, Entry, LogFault, Nudge, Outcome, PolicyName, RiskClass, Shadow,
    Ticket, Verdict,
};
use portcullis_state::new_id;

use crate::authenticate::Caller;
use crate::gateway::Gateway;
use crate::ledger;
use crate::limits::Admitted;
use crate::own::Place;
use crate::server::Server;
use crate::snapshot::ActivePolicy;
use crate::stop::{ClientFault, GatewayFault, Stop, UpstreamFault};
use crate::tool::Tool;

/// How long a call waits for the disk. Then it is denied: whether its decision is durable is not known.
const RECORD_WAIT_MAX: Duration = Duration::from_secs(10);

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
    pub(crate) argument_keys: Vec<Key>,
    pub(crate) digest: Option<Digest>,
    /// Of the client, kept only if somebody watches.
    pub(crate) trace_parent: Option<String>,
    /// Whether a decision about it is in the log.
    pub(crate) recorded: AtomicBool,
}

impl Trail {
    pub(crate) fn new(now: Timestamp) -> Result<Trail, Stop> {
        let request = new_id("d", now).map_err(|_| GatewayFault::NoRandomness)?;
        Ok(Trail { request, ..Trail::default() })
    }

    /// Of an exchange whose caller is known from the start.
    pub(crate) fn of(gateway: &Gateway, caller: &Caller) -> Result<Trail, Stop> {
        let mut trail = Trail::new(gateway.now())?;
        trail.grant = Some(caller.grant_id().to_owned());
        trail.server = Some(caller.server.name().to_owned());
        Ok(trail)
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
    pub(crate) fn spend(mut self) -> (Arc<Server>, Outgoing, Receipt) {
        self.receipt.left = true;
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
    if let Err(stop) = check_grant(gateway, trail) {
        reserved.give_back(gateway);
        return Err(stop);
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
    let mut ticket = match append(gateway, trail, &decided, settle) {
        Ok(ticket) => ticket,
        Err(stop) => {
            reserved.give_back(gateway);
            return Err(stop);
        }
    };
    // From here on the log has the decision: dropped in any way, the receipt says that nothing was sent.
    let receipt = Receipt::new(gateway, trail, &mut ticket, charges, reserved.into_reservation());
    settled(ticket, RECORD_WAIT_MAX).await?;
    // The disk took its time; after a revocation has returned nothing starts.
    check_grant(gateway, trail)?;
    Ok(Permit { server, outgoing, receipt })
}

fn check_grant(gateway: &Gateway, trail: &Trail) -> Result<(), Stop> {
    let (live, now) = (gateway.live(), gateway.now());
    match trail.grant.as_deref().is_some_and(|grant| live.grants().is_active(grant, now)) {
        true => Ok(()),
        false => Err(ClientFault::Unauthenticated.into()),
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
    trail.class = Some(RiskClass::Read);
    unjudged(gateway, server, outgoing, &trail, Some("(gateway)")).await
}

/// The permit to end a session because its client wants that. No policy can be against it.
pub(crate) async fn ending(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    place: Place,
    trail: &Trail,
) -> Result<Permit, Stop> {
    unjudged(gateway, server, Outgoing::new(OutgoingKind::EndSession, place), trail, None).await
}

async fn unjudged(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    outgoing: Outgoing,
    trail: &Trail,
    rule: Option<&str>,
) -> Result<Permit, Stop> {
    let decided = Decided { rule, ..Decided::plain(Verdict::Allowed, "") };
    let mut ticket = append(gateway, trail, &decided, || Ok(gateway.now()))?;
    let receipt = Receipt::new(gateway, trail, &mut ticket, Vec::new(), None);
    settled(ticket, RECORD_WAIT_MAX).await?;
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

/// Writes a decision and waits until the caller may go on.
pub(crate) async fn write(gateway: &Gateway, trail: &Trail, decided: &Decided<'_>) -> Result<(), Stop> {
    settled(append(gateway, trail, decided, || Ok(gateway.now()))?, RECORD_WAIT_MAX).await
}

/// Writes a decision, unless `settle` refuses when it is this process's turn; that also gives its time.
fn append(
    gateway: &Gateway,
    trail: &Trail,
    decided: &Decided<'_>,
    settle: impl FnOnce() -> Result<Timestamp, Stop>,
) -> Result<Ticket, Stop> {
    let keys: Vec<&str> = trail.argument_keys.iter().map(Key::as_str).collect();
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

/// Waits until the log vouches for a record. INVARIANT: everything bounded. A disk that hangs denies.
async fn settled(ticket: Ticket, wait_max: Duration) -> Result<(), Stop> {
    let settled = tokio::time::timeout(wait_max, ticket.settled()).await;
    let hanging = |_| LogFault::Unavailable { reason: "the disk does not answer".to_owned() };
    settled.map_err(hanging)??;
    Ok(())
}

impl From<LogFault> for Stop {
    fn from(fault: LogFault) -> Stop {
        tracing::error!(%fault, "a decision could not be recorded");
        GatewayFault::LogUnavailable.into()
    }
}

/// Proof that a decision is in the log; says at the end how it went.
///
/// Dropped without a word, it says that the caller went away; dropped before the permit was spent, that
/// nothing was sent.
pub(crate) struct Receipt {
    gateway: Arc<Gateway>,
    request: String,
    grant: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    decision: u64,
    /// The keeper of the log is told of the decision when the call is on its way.
    nudge: Option<Nudge>,
    charges: Vec<Charge>,
    reservation: Option<Reservation>,
    started: Instant,
    /// How long the answer took, once it is there.
    took: Option<Duration>,
    /// The server's, once it has answered with one.
    status: Option<u16>,
    open: bool,
    /// Whether the permit was spent.
    left: bool,
}

/// The outcome of a call whose answer is there: written when this is dropped, which is when the answer was
/// given to the client, or when nobody is left to give it to.
pub(crate) struct Closing {
    receipt: Option<Box<Receipt>>,
    ending: Ending,
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            receipt.finish(self.ending, None);
        }
    }
}

impl Receipt {
    fn new(
        gateway: &Arc<Gateway>,
        trail: &Trail,
        ticket: &mut Ticket,
        charges: Vec<Charge>,
        reservation: Option<Reservation>,
    ) -> Receipt {
        Receipt {
            gateway: gateway.clone(),
            request: trail.request.clone(),
            grant: trail.grant.clone(),
            server: trail.server.clone(),
            tool: trail.tool.clone(),
            decision: ticket.position().sequence,
            nudge: ticket.take_nudge(),
            charges,
            reservation,
            started: Instant::now(),
            took: None,
            status: None,
            open: true,
            left: false,
        }
    }

    /// What may be done as soon as the call is on its way.
    pub(crate) fn take_nudge(&mut self) -> Option<Nudge> {
        self.nudge.take()
    }

    /// The server answers, under this status; how the answer ends is not known yet.
    pub(crate) fn note_status(&mut self, status: Option<u16>) {
        self.status = status;
    }

    /// It came back, or did not.
    pub(crate) fn finish(mut self, ending: Ending, message: Option<&str>) {
        self.write(ending, message, &[]);
    }

    /// By an answer, which may be an error, or by this fault.
    pub(crate) fn finish_with(self, answered: &Result<mcp::Outcome, UpstreamFault>) {
        match answered {
            Ok(outcome) => self.finish(ending_of(outcome), None),
            Err(fault) => self.finish_by(Some(fault)),
        }
    }

    /// It came back: what is left is to give the answer to the client, and to write that down.
    pub(crate) fn closing(mut self, ending: Ending) -> Closing {
        self.took = Some(self.started.elapsed());
        Closing { receipt: Some(Box::new(self)), ending }
    }

    /// Answered, or ended by this fault.
    pub(crate) fn finish_by(mut self, fault: Option<&UpstreamFault>) {
        match fault {
            None => self.finish(Ending::Answered, None),
            Some(fault) if fault.is_before_sending() => self.never_left(&fault.text()),
            Some(fault) => {
                let ending = match fault {
                    UpstreamFault::TimedOut => Ending::TimedOut,
                    UpstreamFault::Broken | UpstreamFault::Ended => Ending::Unknown,
                    _ => Ending::Failed,
                };
                if let UpstreamFault::Status(status) = fault {
                    self.status = Some(*status);
                }
                self.finish(ending, Some(&fault.text()));
            }
        }
    }

    /// It certainly never left: what was reserved is given back.
    fn never_left(&mut self, message: &str) {
        if let Some(reservation) = self.reservation.take() {
            self.gateway.state.ledger.give_back(reservation);
        }
        let charges = std::mem::take(&mut self.charges);
        self.write(Ending::NotSent, Some(message), &charges);
    }

    fn write(&mut self, ending: Ending, message: Option<&str>, given_back: &[Charge]) {
        self.open = false;
        let latency = self.took.unwrap_or_else(|| self.started.elapsed());
        let outcome = Outcome {
            request: &self.request,
            decision: self.decision,
            grant: self.grant.as_deref(),
            server: self.server.as_deref(),
            tool: self.tool.as_deref(),
            ending,
            status: self.status,
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

/// An error of the server is an answer, and no success.
pub(crate) fn ending_of(outcome: &mcp::Outcome) -> Ending {
    match outcome {
        mcp::Outcome::Result(_) => Ending::Answered,
        mcp::Outcome::Error(_) => Ending::Failed,
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if self.open && !self.left {
            self.never_left("it was stopped before it was sent");
        } else if self.open {
            self.write(Ending::Cancelled, Some("the caller went away"), &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::Path;
    use std::sync::{Condvar, Mutex};

    use portcullis_state::grants::GrantTable;
    use portcullis_state::log::{Begin, Disk, Follower, LogOptions, Storage, StoredFile};

    use crate::Snapshot;
    use crate::limits::admit;
    use crate::limits::tests::{approved, gateway_on};

    /// A disk whose syncs wait while it hangs.
    #[derive(Clone, Default)]
    struct Hanging(Arc<(Mutex<bool>, Condvar)>);

    struct HangingFile(Hanging, Arc<dyn StoredFile>);

    impl Hanging {
        fn set(&self, hangs: bool) {
            *self.0.0.lock().unwrap() = hangs;
            self.0.1.notify_all();
        }
    }

    impl StoredFile for HangingFile {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            self.1.write_at(bytes, offset)
        }
        fn set_len(&self, len: u64) -> io::Result<()> {
            self.1.set_len(len)
        }
        fn sync(&self) -> io::Result<()> {
            let (hangs, changed) = &*self.0.0;
            drop(changed.wait_while(hangs.lock().unwrap(), |hangs| *hangs).unwrap());
            self.1.sync()
        }
    }

    impl Storage for Hanging {
        fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
            Ok(Arc::new(HangingFile(self.clone(), Disk.open(path)?)))
        }
        fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
            Ok(Arc::new(HangingFile(self.clone(), Disk.create(path)?)))
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            Disk.rename(from, to)
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            Disk.remove(path)
        }
        fn sync_directory(&self, path: &Path) -> io::Result<()> {
            Disk.sync_directory(path)
        }
    }

    struct Rig {
        place: tempfile::TempDir,
        disk: Hanging,
        gateway: Arc<Gateway>,
    }

    impl Rig {
        fn new() -> Rig {
            let (place, disk) = (tempfile::tempdir().unwrap(), Hanging::default());
            let options = LogOptions { storage: Arc::new(disk.clone()), ..LogOptions::default() };
            let gateway = Arc::new(gateway_on(place.path(), Arc::new(Timestamp::now), options));
            Rig { place, disk, gateway }
        }

        /// Records a call of the class Write, which waits for the disk.
        async fn record(&self) -> Result<Permit, Stop> {
            let admitted =
                admit(&self.gateway, approved(&self.gateway)).unwrap_or_else(|_| panic!("it fits"));
            let class = Some(RiskClass::Write);
            let trail = Trail { grant: Some("g".into()), class, ..Trail::new(self.gateway.now()).unwrap() };
            record(&self.gateway, admitted, &trail).await
        }

        /// How the only call ended, and how much it gave back.
        fn ending(&self) -> (String, usize) {
            let mut follower = Follower::open(&self.place.path().join("log"), Begin::Start).unwrap();
            let mut records = std::iter::from_fn(|| follower.next_record().unwrap());
            let outcome = records.find(|followed| followed.record.kind == "outcome").unwrap().record;
            (outcome.text("outcome").unwrap().to_owned(), outcome.charges("given_back").unwrap().len())
        }
    }

    #[tokio::test]
    async fn a_call_given_up_while_the_disk_works_is_recorded_as_not_sent() {
        let rig = Rig::new();
        rig.disk.set(true);
        let waiting = tokio::time::timeout(Duration::from_millis(50), rig.record()).await;
        assert!(waiting.is_err(), "it waits for the disk");
        rig.disk.set(false);
        assert_eq!(rig.ending(), ("not_sent".to_owned(), 1));
        assert!(admit(&rig.gateway, approved(&rig.gateway)).is_ok(), "what was reserved came back");
    }

    #[tokio::test]
    async fn a_grant_that_is_revoked_while_the_disk_works_starts_nothing() {
        let rig = Rig::new();
        rig.disk.set(true);
        let revoke = async {
            // The record is there, not yet durable.
            while rig.gateway.state.log.health().pending_bytes == 0 {
                tokio::task::yield_now().await;
            }
            rig.gateway.replace(Snapshot::compile(Vec::new(), Vec::new(), GrantTable::default()).unwrap());
            rig.disk.set(false);
        };
        let (recorded, ()) = tokio::join!(rig.record(), revoke);
        assert!(matches!(recorded, Err(Stop::Client(ClientFault::Unauthenticated))));
        assert_eq!(rig.ending(), ("not_sent".to_owned(), 1));
    }

    #[tokio::test]
    async fn a_disk_that_hangs_is_waited_for_only_so_long() {
        let rig = Rig::new();
        rig.disk.set(true);
        let trail = Trail { class: Some(RiskClass::Write), ..Trail::new(rig.gateway.now()).unwrap() };
        let decided = Decided::plain(Verdict::Allowed, "");
        let ticket = append(&rig.gateway, &trail, &decided, || Ok(rig.gateway.now()));
        let ticket = ticket.unwrap_or_else(|_| panic!("it is written"));
        let settled = settled(ticket, Duration::from_millis(50)).await;
        assert!(matches!(settled, Err(Stop::Gateway(GatewayFault::LogUnavailable))));
        rig.disk.set(false);
    }
}
