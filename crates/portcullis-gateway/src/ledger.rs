//! The counters of all limits, and how they come back from the log.
//!
//! The log is the truth: a record of an admitted call carries what it charged, and this module owns the
//! text in which a counter is named there. The stages `decide` (looks) and `limits` (reserves) use it; the
//! binary opens it at start and keeps snapshots of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;
use portcullis_json::{Decimal, Limits, Object, Value, compact, parse};
use portcullis_policy::{Charge, CounterKey, Counters, Limit, OverLimit, Reservation, Scope, Time, Window};
use portcullis_state::log::{
    self, Coverage, DecisionLog, Joining, LogFault, Movement, OpenFault, Replay, ReplayFault, Replayed,
};
use portcullis_state::{Snapshot, SnapshotFault};

use crate::gateway::Clock;

/// A call that never left is known within this many records of its decision.
const GIVE_BACK_DISTANCE_MAX: usize = 100_000;

/// The counters, shared.
pub struct Ledger {
    counters: RwLock<Counters>,
    /// What was charged before is not known.
    known_since: Mutex<Option<Timestamp>>,
    /// What other processes reserved lately.
    recent: Mutex<Recent>,
    /// Records of other processes that were taken in.
    heard: AtomicU64,
}

/// Reservations by the number of their decision.
type Recent = VecDeque<(u64, Reservation)>;

/// The counters could not be brought back.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFault {
    /// The log could not be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayFault),
    /// The snapshot is of a form that this version does not know.
    #[error("the counters' snapshot cannot be read by this version; use the version that wrote it")]
    Snapshot,
    /// A record names a counter in a way that this version does not know.
    #[error("record {0} of the decision log names a counter that this version cannot read")]
    Counter(u64),
    /// The log could not be joined.
    #[error(transparent)]
    Open(#[from] OpenFault),
}

/// Damage could not be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptFault {
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// The counters could not be kept.
    #[error(transparent)]
    Snapshot(#[from] SnapshotFault),
}

/// Why charges were not taken.
pub(crate) enum NotReserved {
    /// What counts under the limit at this place is not known.
    Unknown(Arc<str>),
    /// One does not fit.
    Over(OverLimit),
}

impl Ledger {
    /// Counters that nothing was ever charged to.
    pub fn empty() -> Ledger {
        Ledger::new(Counters::new(), None, Recent::new())
    }

    fn new(counters: Counters, known_since: Option<Timestamp>, recent: Recent) -> Ledger {
        Ledger {
            counters: RwLock::new(counters),
            known_since: Mutex::new(known_since),
            recent: Mutex::new(recent),
            heard: AtomicU64::new(0),
        }
    }

    /// The counters as of the last record of the log. To be called once, at start.
    pub fn from_log(log: &DecisionLog) -> Result<Ledger, LedgerFault> {
        let (snapshot, coverage, replay) = log.replay()?;
        Ledger::rebuild(snapshot.as_ref(), &coverage, Some(replay))
    }

    /// The counters of a log that cannot be replayed, which the operator accepts. That is recorded; what was
    /// charged before `now` is not known, so limits deny until their windows have passed; and later starts go
    /// on from here.
    pub fn accept_damage(
        log: &DecisionLog,
        fault: &LedgerFault,
        now: Timestamp,
    ) -> Result<Ledger, AcceptFault> {
        log.accept_damage(&fault.to_string())?;
        let ledger = Ledger::new(Counters::new(), Some(now), Recent::new());
        ledger.save(log)?;
        Ok(ledger)
    }

    /// The counters of a log that several processes append to: from here on they hear of what the others
    /// charge.
    pub fn join(mut joining: Joining) -> Result<(Arc<Ledger>, DecisionLog), LedgerFault> {
        let replay = joining.replay.take();
        let ledger = Ledger::rebuild(joining.snapshot.as_ref(), &joining.coverage, replay)?;
        let ledger = Arc::new(ledger);
        let hearing = ledger.clone();
        let foreign = move |record| hearing.hear(record).map_err(|fault| fault.to_string());
        Ok((ledger, joining.join(Box::new(foreign))?))
    }

    fn rebuild(
        snapshot: Option<&Snapshot>,
        coverage: &Coverage,
        replay: Option<Replay>,
    ) -> Result<Ledger, LedgerFault> {
        let (mut counters, kept) = match snapshot {
            Some(snapshot) => restore(&snapshot.payload).ok_or(LedgerFault::Snapshot)?,
            None => (Counters::new(), None),
        };
        let mut recent = Recent::new();
        let mut damaged = None;
        if let Some(mut replay) = replay {
            let mut rebuilt = Rebuild { counters: &mut counters, recent: &mut recent };
            for record in replay.by_ref() {
                rebuilt.take(record?)?;
            }
            damaged = replay.damaged();
        }
        let covered = match coverage {
            Coverage::Since { time, .. } => Some(*time),
            Coverage::Complete => None,
        };
        Ok(Ledger::new(counters, covered.max(kept).max(damaged), recent))
    }

    /// Takes in what another process charged or gave back.
    fn hear(&self, record: Replayed) -> Result<(), LedgerFault> {
        if record.movement == Movement::Forgotten {
            let mut since = self.known_since.lock().unwrap_or_else(PoisonError::into_inner);
            *since = since.max(Some(record.time));
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        Rebuild { counters: &mut self.write(), recent: &mut recent }.take(record)?;
        self.heard.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// How often other processes charged something: a reservation from before the last time is looked at
    /// again.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::SeqCst)
    }

    fn known_since(&self) -> Option<Timestamp> {
        *self.known_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the counters as of now beside the log.
    ///
    /// A call that is just between its reservation and its record counts twice after a restart: never too
    /// little.
    pub fn save(&self, log: &DecisionLog) -> Result<(), SnapshotFault> {
        // In this order: what is charged up to there is counted by then. And never the other way round,
        // because whoever appends may look at the counters. Only copied under the lock: calls wait for it.
        let position = log.position();
        let counters = self.read().clone();
        log.write_snapshot(position, compact(&self.payload(&counters)).as_bytes())
    }

    /// What is not known stays unknown after the next start.
    fn payload(&self, counters: &Counters) -> Value {
        let since = self.known_since().map_or(Value::Null, |since| since.as_microsecond().into());
        Object::new().with("known_since", since).with("counters", counters.snapshot()).into()
    }

    /// The counters, to be looked at.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Counters> {
        self.counters.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counters, to be changed.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Counters> {
        self.counters.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What counts in the sliding window of so many seconds; for showing.
    pub fn total(&self, key: &CounterKey, window_seconds: u64, now: Timestamp) -> Decimal {
        self.read().total(key, &Window::Sliding { seconds: window_seconds }, time(now))
    }

    /// The first charge whose window reaches back to before anything is known.
    fn unknown<'a>(&self, charges: &'a [Charge], now: Timestamp) -> Option<&'a Charge> {
        let since = self.known_since()?;
        charges.iter().find(|charge| {
            let seconds = i64::try_from(window_seconds(&charge.limit.window)).unwrap_or(i64::MAX);
            now.as_second().saturating_sub(seconds) <= since.as_second()
        })
    }

    /// Takes all charges, or none.
    ///
    /// INVARIANT: limits never exceed. The clock is read under the lock: a call counts from when it is
    /// admitted, not from when its first byte came.
    pub(crate) fn reserve(&self, charges: &[Charge], clock: &Clock) -> Result<Reservation, NotReserved> {
        let mut counters = self.write();
        let now = clock();
        if let Some(charge) = self.unknown(charges, now) {
            return Err(NotReserved::Unknown(charge.limit.pointer.clone()));
        }
        counters.reserve(charges, time(now)).map_err(NotReserved::Over)
    }

    /// Takes all charges, fitting or not: shadow mode.
    pub(crate) fn record(&self, charges: &[Charge], clock: &Clock) -> Reservation {
        let mut counters = self.write();
        counters.record(charges, time(clock()))
    }

    pub(crate) fn give_back(&self, reservation: Reservation) {
        self.write().give_back(reservation);
    }
}

pub(crate) fn time(at: Timestamp) -> Time {
    Time::from_microseconds(at.as_microsecond())
}

/// Charges as the log has them.
pub(crate) fn for_log(charges: &[Charge]) -> Vec<log::Charge> {
    let charge = |charge: &Charge| log::Charge {
        counter: counter_text(&charge.key),
        amount: charge.amount.canonical(),
        window_seconds: window_seconds(&charge.limit.window),
    };
    charges.iter().map(charge).collect()
}

/// Never too short: a calendar unit counts with a day of clock changes.
fn window_seconds(window: &Window) -> u64 {
    match window {
        Window::Sliding { seconds } => *seconds,
        Window::Calendar { unit, .. } => unit.sliding_seconds() + 86_400,
    }
}

/// A counter's name in the log: a JSON array, so that no name can run into the next.
fn counter_text(key: &CounterKey) -> String {
    let mut parts = vec![key.policy.as_str(), key.counter.as_str()];
    match &key.scope {
        Scope::Grant(grant) => parts.extend(["grant", grant]),
        Scope::Session(grant, session) => parts.extend(["session", grant, session]),
        Scope::Server(server) => parts.extend(["server", server]),
        Scope::Global => parts.push("global"),
    }
    compact(&Value::Array(parts.into_iter().map(Value::from).collect()))
}

fn counter_key(text: &str) -> Option<CounterKey> {
    let value = parse(text.as_bytes(), &Limits::document()).ok()?;
    let parts: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
    let (policy, counter, scope) = match parts.as_slice() {
        [policy, counter, "grant", grant] => (policy, counter, Scope::Grant((*grant).to_owned())),
        [policy, counter, "session", grant, session] => {
            (policy, counter, Scope::Session((*grant).to_owned(), (*session).to_owned()))
        }
        [policy, counter, "server", server] => (policy, counter, Scope::Server((*server).to_owned())),
        [policy, counter, "global"] => (policy, counter, Scope::Global),
        _ => return None,
    };
    Some(CounterKey { policy: (*policy).to_owned(), counter: (*counter).to_owned(), scope })
}

fn restore(payload: &[u8]) -> Option<(Counters, Option<Timestamp>)> {
    let limits = Limits { bytes_max: payload.len(), ..Limits::document() };
    let payload = parse(payload, &limits).ok()?;
    let known_since = match payload.get("known_since")? {
        Value::Null => None,
        since => Some(Timestamp::from_microsecond(since.as_number()?.as_i64()?).ok()?),
    };
    Some((Counters::restore(payload.get("counters")?).ok()?, known_since))
}

/// Counters while the log is read.
struct Rebuild<'a> {
    counters: &'a mut Counters,
    /// What was reserved lately.
    recent: &'a mut Recent,
}

impl Rebuild<'_> {
    fn take(&mut self, record: Replayed) -> Result<(), LedgerFault> {
        match record.movement {
            Movement::Charged if record.charges.is_empty() => {}
            Movement::Charged => {
                let charges: Option<Vec<Charge>> = record.charges.iter().map(charge_again).collect();
                let charges = charges.ok_or(LedgerFault::Counter(record.sequence))?;
                let reservation = self.counters.record(&charges, time(record.time));
                self.recent.push_back((record.sequence, reservation));
                if self.recent.len() > GIVE_BACK_DISTANCE_MAX {
                    self.recent.pop_front();
                }
            }
            Movement::GivenBack { decision } if !record.charges.is_empty() => {
                // One that is not found was charged before the snapshot: it stays spent.
                let found = self.recent.binary_search_by_key(&decision, |(sequence, _)| *sequence);
                let found = found.ok().and_then(|index| self.recent.remove(index));
                if let Some((_, reservation)) = found {
                    self.counters.give_back(reservation);
                }
            }
            Movement::GivenBack { .. } | Movement::Forgotten => {}
        }
        Ok(())
    }
}

fn charge_again(charge: &log::Charge) -> Option<Charge> {
    let amount: Decimal = charge.amount.parse().ok()?;
    let limit = Limit {
        pointer: "".into(),
        window: Window::Sliding { seconds: charge.window_seconds },
        max: Decimal::ZERO,
        on_deny: None,
        sentence: String::new(),
    };
    Some(Charge { key: counter_key(&charge.counter)?, amount, limit: Arc::new(limit) })
}

#[cfg(test)]
mod tests;
