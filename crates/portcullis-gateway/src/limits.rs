//! The limits, taken: all of a call's charges together or none. Only this module makes an [`Admitted`].
//!
//! INVARIANT: limits never exceed. `decide` only looked; another call may have been faster.

use std::sync::Arc;

use jiff::Timestamp;
use portcullis_policy::{Charge, Reservation, Verdict};

use crate::approval::Approved;
use crate::decide::denial;
use crate::gateway::Gateway;
use crate::ledger::NotReserved;
use crate::record::Outgoing;
use crate::server::Server;
use crate::stop::{Denial, DenialKind, Stop};

/// What may leave as far as limits go, with what was reserved for it.
pub(crate) struct Admitted {
    server: Arc<Server>,
    outgoing: Outgoing,
    verdict: Verdict,
    reserved: Reserved,
}

impl Admitted {
    /// For `record` alone.
    pub(crate) fn into_parts(self) -> (Arc<Server>, Outgoing, Verdict, Reserved) {
        (self.server, self.outgoing, self.verdict, self.reserved)
    }
}

/// What was reserved for a call.
pub(crate) struct Reserved {
    reservation: Option<Reservation>,
    shadow: bool,
    /// What the ledger had heard of other processes by then.
    heard: u64,
}

/// Reserves.
pub(crate) fn admit(gateway: &Gateway, approved: Approved) -> Result<Admitted, Stop> {
    let (asked, verdict) = approved.into_parts();
    let shadow = asked.caller.policy.as_ref().is_some_and(|active| active.policy.is_shadow());
    let reserved = Reserved::take(gateway, &verdict.obligations.charges, shadow)?;
    let server = asked.caller.server.clone();
    let outgoing = Outgoing { kind: asked.kind, place: asked.place, trace: asked.trace };
    Ok(Admitted { server, outgoing, verdict, reserved })
}

impl Reserved {
    fn take(gateway: &Gateway, charges: &[Charge], shadow: bool) -> Result<Reserved, Stop> {
        let (ledger, clock) = (&gateway.state.ledger, &gateway.state.clock);
        let heard = ledger.heard();
        let reservation = if shadow {
            ledger.record(charges, clock)
        } else {
            ledger.reserve(charges, clock).map_err(|refused| match refused {
                NotReserved::Unknown(rule) => not_known(rule),
                NotReserved::Over(over) => denial(&Verdict::over_limit(charges, &over)),
            })?
        };
        Ok(Reserved { reservation: Some(reservation), shadow, heard })
    }

    /// Whether it still fits, asked right before the record is written, when no other process can charge
    /// anything any more; and from when it counts, now and when the log is replayed.
    ///
    /// INVARIANT: limits never exceed. What others charged since is counted first.
    pub(crate) fn settle(&mut self, gateway: &Gateway, charges: &[Charge]) -> Result<Timestamp, Stop> {
        if self.heard != gateway.state.ledger.heard() {
            self.give_back(gateway);
            *self = Reserved::take(gateway, charges, self.shadow)?;
        }
        Ok(self.reservation.as_ref().map_or_else(|| gateway.now(), |reserved| reserved.at().timestamp()))
    }

    /// It certainly never leaves.
    pub(crate) fn give_back(&mut self, gateway: &Gateway) {
        if let Some(reservation) = self.reservation.take() {
            gateway.state.ledger.give_back(reservation);
        }
    }

    /// For the receipt, which knows later whether it left.
    pub(crate) fn into_reservation(self) -> Option<Reservation> {
        self.reservation
    }
}

fn not_known(rule: Arc<str>) -> Denial {
    let message = "What was counted under this limit before the gateway started is not known; \
                   wait until its window has passed.";
    Denial {
        rule,
        message: message.to_owned(),
        retryable: true,
        retry_after_s: None,
        kind: DenialKind::Limit,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicI64, Ordering};

    use http::{HeaderMap, HeaderValue};
    use portcullis_catalogue::fingerprint::of_definition;
    use portcullis_json::{Limits, Value, parse};
    use portcullis_mcp::tool::ToolDefinition;
    use portcullis_mcp::{Id, Message, Method, Request};
    use portcullis_policy::Policy;
    use portcullis_state::grants::{Grant, GrantTable, TableEntry, TokenHash};
    use portcullis_state::log::{DecisionLog, LogOptions};
    use portcullis_state::pins::{Pins, Step};
    use portcullis_state::{CheckpointKey, DigestKey, StateFault};

    use crate::approval::approve;
    use crate::authenticate::authenticate;
    use crate::decide::decide;
    use crate::gateway::Clock;
    use crate::own::Place;
    use crate::question::{About, Asked};
    use crate::record::{OutgoingKind, Trail};
    use crate::stop::{ClientFault, Refusal};
    use crate::tool::Workshop;
    use crate::{ActivePolicy, EraSetting, Ledger, ServerSpec, Settings, Snapshot, State};

    const ONCE: &str =
        r#"{"version":"1","default":"allow","tools":{"echo":{"rate_limit":{"max":1,"window":60}}}}"#;

    fn gateway(directory: &std::path::Path) -> Gateway {
        gateway_at(directory, Arc::new(Timestamp::now))
    }

    fn gateway_at(directory: &std::path::Path, clock: Clock) -> Gateway {
        gateway_on(directory, clock, LogOptions::default())
    }

    /// One grant at one server, whose tool `echo` may be called once a minute.
    pub(crate) fn gateway_on(directory: &std::path::Path, clock: Clock, options: LogOptions) -> Gateway {
        let key = CheckpointKey::from_bytes(&[1; 32]);
        let place = directory.join("log");
        std::fs::create_dir(&place).unwrap();
        let (log, _) = DecisionLog::open(&place, key, options).unwrap();
        gateway_with(log, Arc::new(Ledger::empty()), clock)
    }

    /// One of several gateways that share a log.
    fn joined(directory: &std::path::Path) -> Arc<Gateway> {
        let key = CheckpointKey::from_bytes(&[1; 32]);
        let directory = directory.join("log");
        std::fs::create_dir_all(&directory).unwrap();
        let joining = DecisionLog::joining(&directory, key, LogOptions::default()).unwrap();
        let (ledger, log) = Ledger::join(joining).unwrap();
        Arc::new(gateway_with(log, ledger, Arc::new(Timestamp::now)))
    }

    fn gateway_with(log: DecisionLog, ledger: Arc<Ledger>, clock: Clock) -> Gateway {
        let (log, pins) = (Arc::new(log), Arc::new(Pins::in_memory().unwrap()));
        let state = State { log, ledger, pins, digest_key: DigestKey::from_bytes(&[2; 32]), clock };
        Gateway::new(Settings::default(), state, snapshot("http://127.0.0.1:1/", None))
    }

    /// The server at this address; the grant until then.
    pub(crate) fn snapshot(url: &str, expires: Option<Timestamp>) -> Snapshot {
        let grant = Grant {
            id: "g".into(),
            label: "g".into(),
            tags: Vec::new(),
            created: Timestamp::UNIX_EPOCH,
            expires,
            revoked: None,
            last_used: None,
            policies: BTreeMap::from([("s".into(), "p".into())]),
        };
        let entry = TableEntry { token: TokenHash::of("token"), valid_until: None, grant };
        let server = ServerSpec {
            name: "s".into(),
            transport: crate::TransportSpec::http(url),
            headers: Vec::new(),
            classes: BTreeMap::new(),
            era: EraSetting::Modern,
            answer_timeout_ms: None,
            allow_private: false,
        };
        let policy = Policy::parse(ONCE.as_bytes()).unwrap();
        let policy = ActivePolicy { name: "p".into(), version: 1, hash: [0; 32], policy };
        let grants = GrantTable::build([entry], None).unwrap();
        Snapshot::compile(vec![server], vec![policy], grants).unwrap()
    }

    fn pin(gateway: &Gateway, tool: &str, definition: &Value) {
        let fingerprint = of_definition(definition.as_object().unwrap());
        let step = Step::Pin { tool: tool.to_owned(), fingerprint, definition: definition.to_string() };
        let now = gateway.now();
        let pinned: Result<(), StateFault> =
            gateway.state.pins.change("s", |open| open.apply(std::slice::from_ref(&step), now));
        pinned.unwrap();
    }

    pub(crate) fn approved(gateway: &Gateway) -> Approved {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer token"));
        let caller = authenticate(&gateway.live(), &headers, "s", gateway.now()).unwrap();
        let definition = parse(br#"{"name":"echo","inputSchema":{}}"#, &Limits::message()).unwrap();
        pin(gateway, "echo", &definition);
        let workshop = Workshop::new(gateway, &caller.server.config, std::iter::empty());
        let fingerprint = of_definition(definition.as_object().unwrap());
        let tool = Arc::new(workshop.tool(&ToolDefinition::read(&definition).unwrap(), fingerprint));
        let method = Method::find("tools/call").unwrap();
        let message = Message::Request(Request { id: Id::from(1), method, params: None });
        let kind = OutgoingKind::Message { message, tool: Some(tool.clone()) };
        let asked = Asked { about: About::Tool(tool), ..Asked::plain(caller, Place::modern(), kind) };
        approve(decide(gateway, asked, &mut Trail::default()).unwrap()).unwrap()
    }

    /// Both fitted when they were looked at; only one can be taken.
    #[tokio::test]
    async fn of_two_calls_that_both_fitted_one_is_admitted() {
        let directory = tempfile::tempdir().unwrap();
        let gateway = gateway(directory.path());
        let (first, second) = (approved(&gateway), approved(&gateway));
        assert!(admit(&gateway, first).is_ok());
        match admit(&gateway, second) {
            Err(Stop::Refused(Refusal::Denied(denial))) => {
                assert_eq!(&*denial.rule, "/tools/echo/rate_limit");
                assert_eq!(denial.kind, DenialKind::Limit);
            }
            _ => panic!("the second must be over the limit"),
        }
    }

    /// Both fitted, and both reserved; what counts is who is first in the log.
    #[tokio::test]
    async fn of_two_processes_that_share_a_log_one_is_admitted() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (joined(directory.path()), joined(directory.path()));
        let trail = || Trail { grant: Some("g".into()), ..Trail::new(Timestamp::now()).unwrap() };
        let in_first = admit(&first, approved(&first)).unwrap_or_else(|_| panic!("it fits"));
        let in_second = admit(&second, approved(&second)).unwrap_or_else(|_| panic!("it fits there, too"));
        let permit = crate::record::record(&first, in_first, &trail()).await.unwrap_or_else(|_| panic!());
        match crate::record::record(&second, in_second, &trail()).await {
            Err(Stop::Refused(Refusal::Denied(denial))) => assert_eq!(denial.kind, DenialKind::Limit),
            _ => panic!("two calls went through a limit of one"),
        }
        // The call of the first never left; the second hears of it with its next record.
        permit.spend().2.finish_by(Some(&crate::stop::UpstreamFault::Unreachable));
        let event = portcullis_state::log::Event::new(portcullis_state::log::Action::Started);
        let entry = portcullis_state::log::Entry::Event(&event);
        let _ = second.state.log.append(Timestamp::now(), &entry).unwrap();
        assert!(admit(&second, approved(&second)).is_ok());
    }

    /// A body that comes slowly must not be charged at the time of its first byte.
    #[tokio::test]
    async fn a_call_counts_from_when_it_is_admitted_live_and_replayed() {
        let directory = tempfile::tempdir().unwrap();
        let second = Arc::new(AtomicI64::new(1_800_000_000));
        let read = second.clone();
        let clock: Clock = Arc::new(move || Timestamp::from_second(read.load(Ordering::SeqCst)).unwrap());
        let gateway = Arc::new(gateway_at(directory.path(), clock));
        let slow = approved(&gateway);
        // Longer than the window later; then both are complete at once.
        second.fetch_add(61, Ordering::SeqCst);
        let quick = approved(&gateway);
        let admitted = admit(&gateway, slow).unwrap_or_else(|_| panic!("it fits"));
        let trail = Trail { grant: Some("g".into()), ..Trail::new(gateway.now()).unwrap() };
        let _permit = crate::record::record(&gateway, admitted, &trail).await.unwrap_or_else(|_| panic!());
        assert!(admit(&gateway, quick).is_err(), "two calls would leave in one window");
        let replayed = Ledger::from_log(&gateway.state.log).unwrap();
        assert_eq!(replayed.read().snapshot(), gateway.state.ledger.read().snapshot());
    }

    /// The last look at the grant is right before the record.
    #[tokio::test]
    async fn a_grant_that_is_revoked_while_its_call_is_judged_starts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let gateway = Arc::new(gateway(directory.path()));
        let admitted = admit(&gateway, approved(&gateway)).unwrap_or_else(|_| panic!("it fits"));
        let other = approved_later(&gateway);
        let trail = Trail { grant: Some("g".into()), ..Trail::new(gateway.now()).unwrap() };
        gateway.replace(Snapshot::compile(Vec::new(), Vec::new(), GrantTable::default()).unwrap());
        let stopped = crate::record::record(&gateway, admitted, &trail).await;
        assert!(matches!(stopped, Err(Stop::Client(ClientFault::Unauthenticated))));
        assert!(admit(&gateway, other).is_ok(), "what was reserved came back");
    }

    /// A call that outlived the drain must not start a program that nobody ends any more.
    #[tokio::test]
    async fn after_the_end_nothing_leaves() {
        let directory = tempfile::tempdir().unwrap();
        let gateway = Arc::new(gateway(directory.path()));
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        gateway.replace(snapshot(&format!("http://{}/", server.local_addr().unwrap()), None));
        let admitted = admit(&gateway, approved(&gateway)).unwrap_or_else(|_| panic!("it fits"));
        let trail = Trail { grant: Some("g".into()), ..Trail::new(gateway.now()).unwrap() };
        let permit = crate::record::record(&gateway, admitted, &trail).await.unwrap_or_else(|_| panic!());
        gateway.end_processes().await;
        let left = crate::forward::forward(&gateway, permit).await;
        assert!(matches!(left, Err(Stop::Upstream(crate::stop::UpstreamFault::Unreachable))));
        assert!(server.accept().is_err(), "something was sent");
        assert!(admit(&gateway, approved(&gateway)).is_ok(), "what was reserved came back");
    }

    /// An approved call of another time, so that it does not see the reservation of the first.
    fn approved_later(gateway: &Gateway) -> Approved {
        let ledger = &gateway.state.ledger;
        let free = Ledger::empty();
        let taken = std::mem::replace(&mut *ledger.write(), free.write().clone());
        let approved = approved(gateway);
        *ledger.write() = taken;
        approved
    }
}
