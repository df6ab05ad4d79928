//! The gateway's one clock: it never goes back, whatever is done to the system's.
//!
//! Grants expire by it, limits count by it, records carry it. It starts no earlier than the last record of
//! the log, and when the system's clock is set back it runs on by itself, so that nothing that was over
//! begins again. Steps are noted, for the log. Old segments age by [`SteadyClock::unstepped`], which a
//! forward step does not move. The binary makes one and gives it to everybody.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// A difference to the system's clock that is worth a line in the log.
const STEP_MIN: SignedDuration = SignedDuration::from_secs(5);
/// A log that rested longer than this is not believed to have aged by more: the clock may be wrong.
const REST_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);

type Source = Box<dyn Fn() -> Timestamp + Send + Sync>;
type Elapsed = Box<dyn Fn() -> Duration + Send + Sync>;

/// The clock.
pub struct SteadyClock {
    system: Source,
    /// Since the clock was made; nothing can change it.
    elapsed: Elapsed,
    state: Mutex<State>,
}

/// A time since 1970 at a time of `elapsed`.
type Anchor = (SignedDuration, Duration);

struct State {
    /// What the clock showed at this time of `elapsed`; from there on it runs by itself.
    anchor: Anchor,
    /// The same without the steps forward since it was made.
    unstepped: Anchor,
    /// How far the system's clock is behind, as far as that was noted.
    noted_behind: SignedDuration,
    step: Option<SignedDuration>,
}

impl SteadyClock {
    /// A clock that follows the system's.
    pub fn system() -> Arc<SteadyClock> {
        let started = Instant::now();
        Arc::new(SteadyClock::new(Box::new(Timestamp::now), Box::new(move || started.elapsed())))
    }

    /// A clock that follows `system`; `elapsed` must never go back.
    pub fn new(system: Source, elapsed: Elapsed) -> SteadyClock {
        let now = (system().as_duration(), elapsed());
        let state = State { anchor: now, unstepped: now, noted_behind: SignedDuration::ZERO, step: None };
        SteadyClock { system, elapsed, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time: the system's, or later.
    pub fn now(&self) -> Timestamp {
        let mut state = self.lock();
        let (system, elapsed) = ((self.system)(), (self.elapsed)());
        let own = run_on(state.anchor, elapsed);
        let ahead = system.as_duration().saturating_sub(own);
        state.note(ahead);
        if ahead.is_negative() {
            return at(own);
        }
        state.anchor = (system.as_duration(), elapsed);
        system
    }

    /// Starts no earlier than this: the time of the last record.
    pub fn start_from(&self, last_record: Timestamp) {
        let mut state = self.lock();
        let elapsed = (self.elapsed)();
        let last_record = last_record.as_duration();
        if run_on(state.anchor, elapsed) < last_record {
            state.anchor = (last_record, elapsed);
        }
        let rested = last_record.saturating_add(REST_MAX);
        if run_on(state.unstepped, elapsed) > rested {
            state.unstepped = (rested, elapsed);
        }
    }

    /// A time that no step forward has moved. It can be late, so what ages by it is kept too long rather
    /// than too short.
    pub fn unstepped(&self) -> Timestamp {
        at(run_on(self.lock().unstepped, (self.elapsed)()))
    }

    /// How far the system's clock has stepped since this was asked last, if it is worth telling.
    pub fn take_step(&self) -> Option<SignedDuration> {
        self.lock().step.take()
    }
}

impl State {
    /// `ahead` is how far the system's clock is ahead of this one, which ran on by itself.
    fn note(&mut self, ahead: SignedDuration) {
        let forward = ahead >= STEP_MIN;
        let behind = ahead.min(SignedDuration::ZERO);
        let moved = if forward { ahead } else { behind.saturating_sub(self.noted_behind) };
        if moved.abs() >= STEP_MIN {
            self.step = Some(self.step.unwrap_or_default().saturating_add(moved));
            self.noted_behind = behind;
        }
    }
}

fn run_on((from, at): Anchor, elapsed: Duration) -> SignedDuration {
    from.saturating_add(SignedDuration::try_from(elapsed.saturating_sub(at)).unwrap_or(SignedDuration::MAX))
}

fn at(since_1970: SignedDuration) -> Timestamp {
    Timestamp::from_duration(since_1970).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    #[derive(Clone)]
    struct Hands {
        system: Arc<AtomicI64>,
        elapsed: Arc<AtomicU64>,
    }

    impl Hands {
        fn pass(&self, seconds: u64) {
            self.system.fetch_add(seconds.cast_signed(), Ordering::SeqCst);
            self.elapsed.fetch_add(seconds, Ordering::SeqCst);
        }

        fn step(&self, seconds: i64) {
            self.system.fetch_add(seconds, Ordering::SeqCst);
        }
    }

    fn clock(system: i64) -> (SteadyClock, Hands) {
        let hands = Hands { system: Arc::new(AtomicI64::new(system)), elapsed: Arc::default() };
        let (wall, watch) = (hands.system.clone(), hands.elapsed.clone());
        let system = Box::new(move || Timestamp::from_second(wall.load(Ordering::SeqCst)).unwrap());
        let elapsed = Box::new(move || Duration::from_secs(watch.load(Ordering::SeqCst)));
        (SteadyClock::new(system, elapsed), hands)
    }

    fn second(clock: &SteadyClock) -> i64 {
        clock.now().as_second()
    }

    #[test]
    fn it_follows_the_system_and_never_goes_back() {
        let (clock, hands) = clock(1000);
        hands.pass(10);
        assert_eq!(second(&clock), 1010);
        assert_eq!(clock.take_step(), None);
        hands.step(-600);
        assert_eq!(second(&clock), 1010);
        assert_eq!(clock.take_step(), Some(SignedDuration::from_secs(-600)));
        hands.pass(20);
        assert_eq!(second(&clock), 1030, "it runs on");
        assert_eq!(clock.take_step(), None, "told once");
        hands.step(600);
        assert_eq!(second(&clock), 1030);
        assert_eq!(clock.take_step(), Some(SignedDuration::from_secs(600)));
        hands.step(3600);
        assert_eq!(second(&clock), 1030 + 3600);
        assert_eq!(clock.take_step(), Some(SignedDuration::from_secs(3600)));
    }

    #[test]
    fn it_starts_no_earlier_than_the_last_record() {
        let (clock, hands) = clock(1000);
        clock.start_from(Timestamp::from_second(5000).unwrap());
        assert_eq!(second(&clock), 5000);
        assert_eq!(clock.take_step(), Some(SignedDuration::from_secs(-4000)));
        hands.pass(1);
        assert_eq!(second(&clock), 5001);
    }

    #[test]
    fn nothing_ages_by_a_step() {
        let (clock, hands) = clock(1_000_000);
        clock.start_from(Timestamp::from_second(999_000).unwrap());
        hands.pass(5);
        hands.step(100_000_000);
        assert_eq!(second(&clock), 101_000_005);
        assert_eq!(clock.unstepped().as_second(), 1_000_005);
    }

    #[test]
    fn a_start_long_after_the_last_record_is_not_believed_at_once() {
        let (clock, _) = clock(100_000_000);
        clock.start_from(Timestamp::from_second(1_000_000).unwrap());
        assert_eq!(second(&clock), 100_000_000);
        assert_eq!(clock.unstepped().as_second(), 1_000_000 + 7 * 86_400);
    }
}
