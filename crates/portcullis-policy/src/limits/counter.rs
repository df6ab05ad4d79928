//! One counter: what was charged, and when.
//!
//! Up to [`STEPS_MAX`] different instants are kept exactly. Past that, neighbours are put together into
//! coarser steps that count until their *last* instant leaves the window: they may refuse a little longer
//! than needed, and never admit too much.

use std::collections::VecDeque;

use portcullis_json::Decimal;

use super::window::Window;
use crate::time::Time;

/// So many different instants are kept exactly.
pub const STEPS_MAX: usize = 2048;
/// Coarse steps inside the window are at most this part of it.
const STEPS_PER_WINDOW: i64 = 256;
/// Coarse steps outside the window are at most this part of their age. They matter only when a new
/// version of the policy looks further back.
const STEPS_PER_AGE: i64 = 16;
/// What is older than this, and than the window, is forgotten. A calendar month is never longer.
const HISTORY_SECONDS: u64 = 33 * 86_400;

/// What was charged from `first` to `last`; it counts as if all of it were charged at `last`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) amount: Decimal,
}

/// The history of one counter.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    /// Oldest first.
    steps: VecDeque<Step>,
    /// Charges up to here were dropped: a window that reaches back to it cannot be answered for.
    forgotten: Option<Time>,
    /// The sum of the steps from `first` on, which are those since `since`: saves summing them each time.
    live: Live,
    /// The longest window that it was charged under.
    window_seconds: u64,
}

#[derive(Clone, Debug)]
struct Live {
    since: Time,
    first: usize,
    total: Decimal,
}

impl Default for Live {
    fn default() -> Live {
        Live { since: Time::from_microseconds(i64::MIN), first: 0, total: Decimal::ZERO }
    }
}

/// Why an amount does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It fits once this instant has come.
    Until(Time),
    /// It alone is more than the limit admits.
    Never,
}

impl Counter {
    /// The counter of a snapshot, if its steps are as `charge` leaves them.
    pub(super) fn restored(
        steps: Vec<Step>,
        forgotten: Option<Time>,
        window_seconds: u64,
    ) -> Option<Counter> {
        let sound = steps.iter().all(|step| step.first <= step.last && !step.amount.is_negative());
        let ordered = steps.windows(2).all(|pair| matches!(pair, [a, b] if a.last < b.first));
        let after_forgotten = forgotten.is_none_or(|time| steps.iter().all(|step| time < step.first));
        if !sound || !ordered || !after_forgotten || steps.len() > STEPS_MAX {
            return None;
        }
        let mut counter = Counter { steps: steps.into(), forgotten, live: Live::default(), window_seconds };
        counter.live = counter.sum_from(0, Time::from_microseconds(i64::MIN));
        Some(counter)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter()
    }

    pub(super) fn forgotten(&self) -> Option<Time> {
        self.forgotten
    }

    /// The longest window that it was charged under.
    pub(super) fn window_seconds(&self) -> u64 {
        self.window_seconds
    }

    /// When something was last charged.
    pub(super) fn last_charged(&self) -> Option<Time> {
        self.steps.back().map(|step| step.last)
    }

    /// Whether nothing of it counts any more under any window that it was charged under.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.last_charged().is_none_or(|last| last.plus_seconds(self.window_seconds) <= now)
    }

    /// What counts at `now`.
    pub(super) fn total(&self, window: &Window, now: Time) -> Decimal {
        self.live_since(window.since(now)).total
    }

    /// Whether `amount` fits under `max` at `now`.
    pub(super) fn fits(
        &self,
        window: &Window,
        max: &Decimal,
        amount: &Decimal,
        now: Time,
    ) -> Result<(), Misfit> {
        if amount > max {
            return Err(Misfit::Never);
        }
        let since = window.since(now);
        let forgotten = self.forgotten.filter(|forgotten| *forgotten >= since);
        let covered_from = forgotten.map(|forgotten| when_outside(window, forgotten, now));
        match covered_from.max(self.room_from(window, max, amount, since, now)) {
            Some(time) => Err(Misfit::Until(time)),
            None => Ok(()),
        }
    }

    /// When there will be room for `amount`, which is at most `max`; nothing if there is.
    fn room_from(
        &self,
        window: &Window,
        max: &Decimal,
        amount: &Decimal,
        since: Time,
        now: Time,
    ) -> Option<Time> {
        let live = self.live_since(since);
        let mut excess = &(&live.total + amount) - max;
        if excess <= Decimal::ZERO {
            return None;
        }
        let leaves = self.steps.range(live.first..).find(|step| {
            excess = &excess - &step.amount;
            excess <= Decimal::ZERO
        });
        // All of it leaving makes room for anything up to `max`, so one of the steps was found.
        Some(when_outside(window, leaves.map_or(now, |step| step.last), now))
    }

    /// Adds `amount` at `now`, which must not be before what was charged last.
    pub(super) fn charge(&mut self, window: &Window, amount: &Decimal, now: Time) {
        match self.steps.back_mut() {
            Some(step) if step.last == now => step.amount = &step.amount + amount,
            _ => self.steps.push_back(Step { first: now, last: now, amount: amount.clone() }),
        }
        self.window_seconds = self.window_seconds.max(window.seconds_at_most());
        self.live.total = &self.live.total + amount;
        self.live = self.live_since(window.since(now));
        self.forget(window, now);
        if self.steps.len() > STEPS_MAX {
            self.coarsen(window, now);
        }
    }

    /// Takes back what was charged at `at`.
    pub(super) fn give_back(&mut self, amount: &Decimal, at: Time) {
        let found = self.steps.iter_mut().rev().find(|step| step.first <= at && at <= step.last);
        if let Some(step) = found {
            let left = &step.amount - amount;
            // More than is there cannot come back.
            step.amount = if left.is_negative() { Decimal::ZERO } else { left };
            self.live = Live::default();
            self.live = self.sum_from(0, self.live.since);
        }
    }

    /// The live part for a window that starts at `since`: from the one at hand if that starts no later.
    fn live_since(&self, since: Time) -> Live {
        if self.live.since > since || (self.live.first == 0 && self.live.total.is_zero()) {
            let first = self.steps.partition_point(|step| step.last < since);
            return self.sum_from(first, since);
        }
        let mut live = Live { since, first: self.live.first, total: self.live.total.clone() };
        for step in self.steps.range(live.first.min(self.steps.len())..) {
            if step.last >= since {
                break;
            }
            live.first += 1;
            live.total = &live.total - &step.amount;
        }
        live
    }

    fn sum_from(&self, first: usize, since: Time) -> Live {
        let steps = self.steps.range(first.min(self.steps.len())..);
        let total = steps.fold(Decimal::ZERO, |sum, step| &sum + &step.amount);
        Live { since, first, total }
    }

    /// Drops what no window looks back to.
    fn forget(&mut self, window: &Window, now: Time) {
        let kept_since = now.minus_seconds(HISTORY_SECONDS.max(window.seconds_at_most()));
        while self.steps.front().is_some_and(|step| step.last < kept_since) && self.live.first > 0 {
            self.forgotten = self.steps.pop_front().map(|step| step.last);
            self.live.first -= 1;
        }
    }

    fn coarsen(&mut self, window: &Window, now: Time) {
        let length = seconds_to_microseconds(window.seconds_at_most());
        // What is over must not be put together with what counts: a calendar window starts from nothing.
        let since = window.since(now);
        let mut coarse: VecDeque<Step> = VecDeque::new();
        for step in self.steps.drain(..).rev() {
            match coarse.front_mut() {
                Some(later)
                    if (step.last < since) == (later.last < since)
                        && span(step.first, later.last) <= step_length(length, span(later.last, now)) =>
                {
                    later.first = step.first;
                    later.amount = &later.amount + &step.amount;
                }
                _ => coarse.push_front(step),
            }
        }
        self.steps = coarse;
        self.live = self.sum_from(self.steps.partition_point(|step| step.last < since), since);
    }
}

fn span(from: Time, to: Time) -> i64 {
    to.as_microseconds().saturating_sub(from.as_microseconds())
}

fn seconds_to_microseconds(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(crate::time::MICROSECONDS_PER_SECOND)
}

/// How long a coarse step may be that ends `age` ago.
fn step_length(window: i64, age: i64) -> i64 {
    let inside = window / STEPS_PER_WINDOW;
    if age < window { inside } else { inside.max(age / STEPS_PER_AGE) }
}

/// The first instant at which a charge made at `charged` no longer counts.
fn when_outside(window: &Window, charged: Time, now: Time) -> Time {
    match window {
        Window::Sliding { seconds } => charged.plus_seconds(*seconds),
        Window::Calendar { unit, zone } => super::calendar::window(*unit, zone, now).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Window = Window::Sliding { seconds: 60 };

    fn at(seconds: f64) -> Time {
        Time::from_microseconds((seconds * 1e6) as i64)
    }

    fn amount(value: i64) -> Decimal {
        Decimal::from(value)
    }

    fn try_one(counter: &mut Counter, max: i64, now: Time) -> bool {
        let fits = counter.fits(&MINUTE, &amount(max), &Decimal::ONE, now).is_ok();
        if fits {
            counter.charge(&MINUTE, &Decimal::ONE, now);
        }
        fits
    }

    #[test]
    fn a_window_is_half_open() {
        let mut counter = Counter::default();
        assert!(try_one(&mut counter, 1, at(0.0)));
        assert!(!try_one(&mut counter, 1, at(59.999_999)));
        assert!(try_one(&mut counter, 1, at(60.0)));
    }

    #[test]
    fn there_is_no_double_burst_at_a_boundary() {
        let mut counter = Counter::default();
        for _ in 0..10 {
            assert!(try_one(&mut counter, 10, at(59.0)));
        }
        assert!(!try_one(&mut counter, 10, at(61.0)));
        let misfit = counter.fits(&MINUTE, &amount(10), &Decimal::ONE, at(61.0));
        assert_eq!(misfit, Err(Misfit::Until(at(119.0))));
    }

    #[test]
    fn waiting_for_enough_room_waits_for_enough_steps() {
        let mut counter = Counter::default();
        for (value, when) in [(5, 0.0), (3, 10.0), (2, 20.0)] {
            counter.charge(&MINUTE, &amount(value), at(when));
        }
        let fits = |needed| counter.fits(&MINUTE, &amount(10), &amount(needed), at(30.0));
        assert_eq!(fits(5), Err(Misfit::Until(at(60.0))));
        assert_eq!(fits(6), Err(Misfit::Until(at(70.0))));
        assert_eq!(fits(10), Err(Misfit::Until(at(80.0))));
        assert_eq!(fits(11), Err(Misfit::Never));
        assert_eq!(fits(0), Ok(()));
    }

    #[test]
    fn a_million_charges_are_no_million_steps_and_never_admit_too_much() {
        let max = 50_000;
        let mut counter = Counter::default();
        let mut admitted: Vec<Time> = Vec::new();
        let mut now = at(0.0);
        for round in 0..400_000_i64 {
            now = Time::from_microseconds(now.as_microseconds() + 400 + (round * 7919) % 900);
            if try_one(&mut counter, max, now) {
                admitted.push(now);
            }
            assert!(counter.steps.len() <= STEPS_MAX);
        }
        // The naive check: no interval of a minute holds more than `max`.
        let mut oldest = 0;
        for (index, time) in admitted.iter().enumerate() {
            while span(admitted[oldest], *time) >= 60_000_000 {
                oldest += 1;
            }
            assert!(index - oldest < max as usize, "at {time:?}");
        }
        // And it is not much stricter than it must be: at least 97 of 100 that could pass did.
        let could = (now.as_microseconds() / 60_000_000) * max;
        assert!(admitted.len() as i64 * 100 >= could * 97, "{} of {could}", admitted.len());
    }

    #[test]
    fn a_longer_window_in_a_new_version_counts_what_was_recorded() {
        let mut counter = Counter::default();
        for second in 0..3000 {
            counter.charge(&MINUTE, &Decimal::ONE, at(f64::from(second)));
        }
        let hour = Window::Sliding { seconds: 3600 };
        assert_eq!(counter.total(&hour, at(3000.0)), amount(3000));
        assert_eq!(counter.total(&MINUTE, at(3000.0)), amount(59));
    }

    #[test]
    fn what_was_forgotten_is_not_taken_for_nothing() {
        let mut counter = Counter::default();
        let day = 86_400.0;
        counter.charge(&MINUTE, &Decimal::ONE, at(0.0));
        counter.charge(&MINUTE, &Decimal::ONE, at(40.0 * day));
        let long = Window::Sliding { seconds: 100 * 86_400 };
        let misfit = counter.fits(&long, &amount(1000), &Decimal::ONE, at(41.0 * day));
        assert_eq!(misfit, Err(Misfit::Until(at(100.0 * day))));
    }

    #[test]
    fn a_calendar_window_starts_from_nothing_however_many_charges_came_before() {
        let month = Window::Calendar { unit: super::super::Unit::Month, zone: jiff::tz::TimeZone::UTC };
        let start = Time::parse("2026-01-31T22:00:00Z").unwrap();
        let mut counter = Counter::default();
        for second in 0..3 * 3600 {
            let now = start.plus_seconds(second);
            counter.charge(&month, &Decimal::ONE, now);
            let since_midnight = i64::try_from(second).unwrap() - 2 * 3600 + 1;
            if since_midnight > 0 {
                assert_eq!(counter.total(&month, now), amount(since_midnight));
            }
        }
    }

    #[test]
    fn of_two_charges_at_one_instant_one_stays_when_one_comes_back() {
        let mut counter = Counter::default();
        counter.charge(&MINUTE, &Decimal::ONE, at(0.0));
        counter.charge(&MINUTE, &Decimal::ONE, at(0.0));
        counter.give_back(&Decimal::ONE, at(0.0));
        assert_eq!(counter.total(&MINUTE, at(1.0)), Decimal::ONE);
    }

    #[test]
    fn what_is_given_back_is_free_again() {
        let mut counter = Counter::default();
        assert!(try_one(&mut counter, 2, at(0.0)));
        assert!(try_one(&mut counter, 2, at(1.0)));
        counter.give_back(&Decimal::ONE, at(0.0));
        assert_eq!(counter.total(&MINUTE, at(2.0)), Decimal::ONE);
        assert!(try_one(&mut counter, 2, at(2.0)));
        assert!(!try_one(&mut counter, 2, at(3.0)));
        // Twice, or what was never charged, frees nothing.
        counter.give_back(&Decimal::ONE, at(0.0));
        counter.give_back(&Decimal::ONE, at(30.0));
        assert_eq!(counter.total(&MINUTE, at(3.0)), amount(2));
    }
}
