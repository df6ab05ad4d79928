//! All counters together: looking, reserving, giving back.

use std::collections::HashMap;
use std::sync::Arc;

use portcullis_json::Decimal;

use super::counter::{Counter, Misfit};
use super::window::Window;
use crate::time::Time;

/// More counters than this are not kept; a call that would need one more is refused.
pub const COUNTERS_MAX: usize = 1_000_000;

/// How long to wait when there is no room for a counter.
const FULL_RETRY_SECONDS: u64 = 60;

/// One limit of a policy, compiled.
#[derive(Debug)]
pub struct Limit {
    /// Where it stands in the document.
    pub pointer: Arc<str>,
    /// How far it looks back.
    pub window: Window,
    /// What it admits in a window.
    pub max: Decimal,
    /// The owner's message.
    pub on_deny: Option<String>,
    /// "Rate limit reached: 10 per minute.", for when the owner wrote no message.
    pub sentence: String,
}

/// Whose calls share a counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One grant, by its id.
    Grant(String),
    /// One session of one grant.
    Session(String, String),
    /// One server, by its name.
    Server(String),
    /// Everybody.
    Global,
}

/// What a counter is known by. It outlives new versions of its policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterKey {
    /// The policy's name.
    pub policy: String,
    /// The counter's name.
    pub counter: String,
    /// Whose it is.
    pub scope: Scope,
}

/// What a call adds to one counter under one limit.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The counter.
    pub key: CounterKey,
    /// How much.
    pub amount: Decimal,
    /// The limit it must stay under.
    pub limit: Arc<Limit>,
}

/// A call that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// Which of the charges is the first that does not.
    pub charge: usize,
    /// Whole seconds after which the whole call would fit if nothing else were admitted; nothing if a
    /// retry cannot help.
    pub retry_after_s: Option<u64>,
}

/// What was reserved, so that it can be given back when the call certainly never left.
#[derive(Debug)]
#[must_use = "a reservation that is dropped stays spent"]
pub struct Reservation {
    at: Time,
    amounts: Vec<(CounterKey, Decimal)>,
}

impl Reservation {
    /// The time that it counts from: the clock's, or the latest one that was ever charged at.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub(super) counters: HashMap<CounterKey, Counter>,
    /// The latest time at which anything was recorded: a clock that steps back reopens nothing.
    pub(super) latest: Option<Time>,
    /// When the counters were last looked through for those that can go.
    pub(super) swept: Option<Time>,
}

impl Counters {
    /// No counters.
    pub fn new() -> Counters {
        Counters::default()
    }

    /// Whether all charges would fit together. Nothing is taken.
    pub fn look(&self, charges: &[Charge], clock: Time) -> Result<(), OverLimit> {
        let now = self.effective(clock);
        let misfits: Vec<(usize, Misfit)> = charges
            .iter()
            .enumerate()
            .filter_map(|(index, charge)| self.fits(charge, charges, now).err().map(|misfit| (index, misfit)))
            .collect();
        let Some((first, _)) = misfits.first() else {
            return Ok(());
        };
        let never = misfits.iter().any(|(_, misfit)| *misfit == Misfit::Never);
        let until = misfits.iter().filter_map(|(_, misfit)| match misfit {
            Misfit::Until(time) => Some(*time),
            Misfit::Never => None,
        });
        let retry_at = if never { None } else { until.max() };
        Err(OverLimit { charge: *first, retry_after_s: retry_at.map(|at| clock.seconds_until(at)) })
    }

    /// Takes all charges, or none if one does not fit.
    pub fn reserve(&mut self, charges: &[Charge], clock: Time) -> Result<Reservation, OverLimit> {
        self.look(charges, clock)?;
        if !self.has_room(charges, clock) {
            let first_new = charges.iter().position(|charge| !self.counters.contains_key(&charge.key));
            return Err(OverLimit {
                charge: first_new.unwrap_or(0),
                retry_after_s: Some(FULL_RETRY_SECONDS),
            });
        }
        Ok(self.take(charges, clock))
    }

    /// Takes all charges, fitting or not: in shadow mode, and when a log is replayed. When there are too
    /// many counters, charges to new ones are left out.
    pub fn record(&mut self, charges: &[Charge], clock: Time) -> Reservation {
        if self.has_room(charges, clock) {
            return self.take(charges, clock);
        }
        let kept = charges.iter().filter(|charge| self.counters.contains_key(&charge.key));
        self.take(&kept.cloned().collect::<Vec<_>>(), clock)
    }

    fn take(&mut self, charges: &[Charge], clock: Time) -> Reservation {
        let now = self.effective(clock);
        for charge in charges {
            let counter = self.counters.entry(charge.key.clone()).or_default();
            counter.charge(&charge.limit.window, &charge.amount, now);
            self.latest = Some(now);
        }
        let amounts = charges.iter().map(|charge| (charge.key.clone(), charge.amount.clone())).collect();
        Reservation { at: now, amounts }
    }

    /// Gives back a reservation whose call certainly never left.
    pub fn give_back(&mut self, reservation: Reservation) {
        for (key, amount) in reservation.amounts {
            if let Some(counter) = self.counters.get_mut(&key) {
                counter.give_back(&amount, reservation.at);
            }
        }
    }

    /// What counts under this limit at this time; for showing.
    pub fn total(&self, key: &CounterKey, window: &Window, clock: Time) -> Decimal {
        let counter = self.counters.get(key);
        counter.map_or(Decimal::ZERO, |counter| counter.total(window, self.effective(clock)))
    }

    /// How many counters there are.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    fn effective(&self, clock: Time) -> Time {
        self.latest.map_or(clock, |latest| latest.max(clock))
    }

    /// INVARIANT: limits never exceed. A counter that several limits of one call name is charged by each
    /// of them, so each compares the sum with its own maximum.
    fn fits(&self, charge: &Charge, all: &[Charge], now: Time) -> Result<(), Misfit> {
        let same = all.iter().filter(|other| other.key == charge.key);
        let amount = same.fold(Decimal::ZERO, |sum, other| &sum + &other.amount);
        let Limit { window, max, .. } = &*charge.limit;
        match self.counters.get(&charge.key) {
            Some(counter) => counter.fits(window, max, &amount, now),
            None if amount > *max => Err(Misfit::Never),
            None => Ok(()),
        }
    }

    /// INVARIANT: everything bounded. When there are too many counters, those whose own window has passed
    /// go; if that does not help, there is no room for new ones. Looking for them takes a while, so it is
    /// done at most once a second.
    fn has_room(&mut self, charges: &[Charge], clock: Time) -> bool {
        let fits = |counters: &HashMap<CounterKey, Counter>| counters.len() + charges.len() <= COUNTERS_MAX;
        if fits(&self.counters) || charges.iter().all(|charge| self.counters.contains_key(&charge.key)) {
            return true;
        }
        let now = self.effective(clock);
        if self.swept.is_none_or(|swept| swept.plus_seconds(1) <= now) {
            self.swept = Some(now);
            self.counters.retain(|_, counter| !counter.is_over(now));
        }
        fits(&self.counters)
    }
}
