//! The limits, taken: all of a call's charges together or none. Only this module makes an [`Admitted`].
//!
//! INVARIANT: limits never exceed. `decide` only looked; another call may have been faster.

use std::sync::Arc;

use jiff::Timestamp;
use portcullis_policy::{Reservation, Verdict};

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
    reservation: Reservation,
}

impl Admitted {
    /// When it was admitted: what it charges counts from here, now and when the log is replayed.
    pub(crate) fn at(&self) -> Timestamp {
        self.reservation.at().timestamp()
    }

    /// For `record` alone.
    pub(crate) fn into_parts(self) -> (Arc<Server>, Outgoing, Verdict, Reservation) {
        (self.server, self.outgoing, self.verdict, self.reservation)
    }
}

/// Reserves.
pub(crate) fn admit(gateway: &Gateway, approved: Approved) -> Result<Admitted, Stop> {
    let (asked, verdict) = approved.into_parts();
    let charges = &verdict.obligations.charges;
    let (ledger, clock) = (&gateway.state.ledger, &gateway.state.clock);
    let shadow = asked.caller.policy.as_ref().is_some_and(|active| active.policy.is_shadow());
    let reservation = if shadow {
        ledger.record(charges, clock)
    } else {
        ledger.reserve(charges, clock).map_err(|refused| match refused {
            NotReserved::Unknown(rule) => not_known(rule),
            NotReserved::Over(over) => denial(&Verdict::over_limit(charges, &over)),
        })?
    };
    let server = asked.caller.server.clone();
    let outgoing = Outgoing { kind: asked.kind, place: asked.place, trace: asked.trace };
    Ok(Admitted { server, outgoing, verdict, reservation })
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
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicI64, Ordering};

    use http::{HeaderMap, HeaderValue};
    use portcullis_json::{Limits, parse};
    use portcullis_mcp::tool::ToolDefinition;
    use portcullis_mcp::{Id, Message, Method, Request};
    use portcullis_policy::Policy;
    use portcullis_state::grants::{Grant, GrantTable, TableEntry, TokenHash};
    use portcullis_state::log::{DecisionLog, LogOptions};
    use portcullis_state::{CheckpointKey, DigestKey};

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
        let key = CheckpointKey::from_bytes(&[1; 32]);
        let place = directory.join("log");
        std::fs::create_dir(&place).unwrap();
        let (log, _) = DecisionLog::open(&place, key, LogOptions::default()).unwrap();
        let state = State {
            log: Arc::new(log),
            ledger: Arc::new(Ledger::empty()),
            digest_key: DigestKey::from_bytes(&[2; 32]),
            clock,
        };
        let grant = Grant {
            id: "g".into(),
            label: "g".into(),
            tags: Vec::new(),
            created: Timestamp::UNIX_EPOCH,
            expires: None,
            revoked: None,
            last_used: None,
            policies: BTreeMap::from([("s".into(), "p".into())]),
        };
        let entry = TableEntry { token: TokenHash::of("token"), valid_until: None, grant };
        let server = ServerSpec {
            name: "s".into(),
            url: "http://127.0.0.1:1/".into(),
            headers: Vec::new(),
            classes: BTreeMap::new(),
            era: EraSetting::Modern,
            answer_timeout_ms: None,
        };
        let policy = Policy::parse(ONCE.as_bytes()).unwrap();
        let policy = ActivePolicy { name: "p".into(), version: 1, hash: [0; 32], policy };
        let grants = GrantTable::build([entry], None).unwrap();
        let snapshot = Snapshot::compile(vec![server], vec![policy], grants).unwrap();
        Gateway::new(Settings::default(), state, snapshot)
    }

    fn approved(gateway: &Gateway) -> Approved {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer token"));
        let caller = authenticate(&gateway.live(), &headers, "s", gateway.now()).unwrap();
        let definition = parse(br#"{"name":"echo","inputSchema":{}}"#, &Limits::message()).unwrap();
        let workshop = Workshop::new(&caller.server.config, std::iter::empty());
        let tool = Arc::new(workshop.tool(&ToolDefinition::read(&definition).unwrap()));
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
