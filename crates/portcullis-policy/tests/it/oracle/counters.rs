//! Counters that never forget: every amount ever recorded stays in a list and is summed anew each time
//! somebody asks.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::document::{Align, Window};
use super::number::Decimal;
use super::windows::Zone;

const SECOND_US: i64 = 1_000_000;

/// The counter's name and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CounterKey {
    pub(crate) counter: String,
    pub(crate) owner: Owner,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Owner {
    Grant(String),
    Session(String, String),
    Server(String),
    Everybody,
}

/// What one limit asks of its counter for one call.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) pointer: String,
    pub(crate) key: CounterKey,
    pub(crate) window: Window,
    pub(crate) align: Align,
    pub(crate) max: Decimal,
    /// None when `increment_from` leads to no amount.
    pub(crate) amount: Option<Decimal>,
    pub(crate) on_deny: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    recorded: HashMap<CounterKey, Vec<(i64, Decimal)>>,
    latest: Option<i64>,
}

impl Ledger {
    /// The time that limits work with: a step back reopens nothing.
    pub(crate) fn limit_time(&self, now: i64) -> i64 {
        self.latest.map_or(now, |latest| latest.max(now))
    }

    /// The first demand that does not fit now.
    pub(crate) fn first_failing<'d>(
        &self,
        demands: &'d [Demand],
        now: i64,
        zone: &Zone,
    ) -> Option<&'d Demand> {
        let at = self.limit_time(now);
        demands.iter().find(|demand| !self.admits(demand, demands, at, zone))
    }

    fn admits(&self, demand: &Demand, demands: &[Demand], at: i64, zone: &Zone) -> bool {
        if demand.amount.is_none() {
            return false;
        }
        let total = self.total(demand, at, zone).plus(&asked_together(demand, demands));
        total.compare(&demand.max) != Ordering::Greater
    }

    fn total(&self, demand: &Demand, at: i64, zone: &Zone) -> Decimal {
        let mut total = Decimal::zero();
        for (when, amount) in self.recorded.get(&demand.key).into_iter().flatten() {
            if counts(*when, demand, at, zone) {
                total = total.plus(amount);
            }
        }
        total
    }

    /// Seconds until every demand fits, if ever.
    pub(crate) fn retry_after_s(&self, demands: &[Demand], now: i64, zone: &Zone) -> Option<u64> {
        if demands.iter().any(|demand| never_fits(demand, demands)) {
            return None;
        }
        let mut candidates: Vec<i64> = Vec::new();
        for demand in demands {
            candidates.extend(self.instants_of_change(demand, now, zone));
        }
        candidates.sort_unstable();
        let fits = |at: &i64| demands.iter().all(|d| self.admits(d, demands, *at, zone));
        let instant = candidates.into_iter().find(fits).unwrap();
        let seconds = (instant - now + SECOND_US - 1) / SECOND_US;
        Some(seconds.max(1) as u64)
    }

    /// The instants at which the demand's total may fall.
    fn instants_of_change(&self, demand: &Demand, now: i64, zone: &Zone) -> Vec<i64> {
        let at = self.limit_time(now);
        match (demand.align, &demand.window) {
            (Align::Calendar, Window::Named(period)) => vec![zone.next_start(*period, at)],
            _ => {
                let recorded = self.recorded.get(&demand.key).into_iter().flatten();
                let expiries = recorded.map(|(when, _)| when + length_us(&demand.window));
                expiries.filter(|expiry| *expiry > at).collect()
            }
        }
    }

    /// Records the amounts at the time that limits work with.
    pub(crate) fn record(&mut self, charges: &[(CounterKey, Decimal)], now: i64) {
        if charges.is_empty() {
            return;
        }
        let at = self.limit_time(now);
        for (key, amount) in charges {
            let entries = self.recorded.entry(key.clone()).or_default();
            entries.push((at, amount.clone()));
        }
        self.latest = Some(at);
    }
}

fn counts(when: i64, demand: &Demand, at: i64, zone: &Zone) -> bool {
    match (demand.align, &demand.window) {
        (Align::Calendar, Window::Named(period)) => when >= zone.start(*period, at),
        _ => when > at - length_us(&demand.window),
    }
}

fn length_us(window: &Window) -> i64 {
    window.seconds() as i64 * SECOND_US
}

/// All that the call asks of this demand's counter.
fn asked_together(demand: &Demand, demands: &[Demand]) -> Decimal {
    let mut sum = Decimal::zero();
    for other in demands.iter().filter(|other| other.key == demand.key) {
        if let Some(amount) = &other.amount {
            sum = sum.plus(amount);
        }
    }
    sum
}

fn never_fits(demand: &Demand, demands: &[Demand]) -> bool {
    let asked = asked_together(demand, demands);
    demand.amount.is_none() || asked.compare(&demand.max) == Ordering::Greater
}

/// What the demands charge, one sum for each counter; those without an amount are left out.
pub(crate) fn charges(demands: &[Demand]) -> Vec<(CounterKey, Decimal)> {
    let mut sums: Vec<(CounterKey, Decimal)> = Vec::new();
    for demand in demands.iter().filter(|demand| demand.amount.is_some()) {
        if sums.iter().all(|(key, _)| *key != demand.key) {
            sums.push((demand.key.clone(), asked_together(demand, demands)));
        }
    }
    sums
}
