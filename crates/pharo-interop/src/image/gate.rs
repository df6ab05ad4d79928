//! How many calls go to one image at once, and what became of those that were given up.
//!
//! An image does its work on few processes, so more calls at once gain nothing; but one slow call
//! must not hold up the others either. Calls beyond the limit wait in a queue that has an end.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::failure::Failure;

const CALLS_AT_ONCE_MAX: usize = 8;
const CALLS_WAITING_MAX: usize = 64;
const PINGS_AT_ONCE_MAX: usize = 4;
/// How many given-up calls are remembered, for `ping_image` to show.
const GIVEN_UP_MAX: usize = 16;

/// The gate of one image.
pub(crate) struct Gate {
    /// One permit for each call under way or waiting.
    admitted: Semaphore,
    /// One permit for each call under way.
    running: Semaphore,
    /// One permit for each ping; pings pass by the queue.
    pings: Semaphore,
    given_up: Mutex<VecDeque<GivenUp>>,
}

/// A call whose answer nobody waited for: the image may still be working on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenUp {
    pub(crate) tool: &'static str,
    pub(crate) since: Instant,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            admitted: Semaphore::new(CALLS_AT_ONCE_MAX + CALLS_WAITING_MAX),
            running: Semaphore::new(CALLS_AT_ONCE_MAX),
            pings: Semaphore::new(PINGS_AT_ONCE_MAX),
            given_up: Mutex::default(),
        }
    }
}

impl Gate {
    /// Waits for a place. Dropping the future gives the place in the queue back.
    pub(crate) async fn enter(&self, tool: &'static str) -> Result<InFlight<'_>, Failure> {
        let busy = || Failure::QueueFull { waiting: CALLS_WAITING_MAX };
        let admitted = self.admitted.try_acquire().map_err(|_| busy())?;
        let running = self.running.acquire().await.map_err(|_| busy())?;
        Ok(InFlight { gate: self, tool, answered: false, _admitted: admitted, _running: running })
    }

    /// A place for a ping, at once or not at all.
    pub(crate) fn enter_ping(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.pings.try_acquire().map_err(|_| Failure::QueueFull { waiting: PINGS_AT_ONCE_MAX })
    }

    /// The calls given up so far, newest first.
    pub(crate) fn given_up(&self) -> Vec<GivenUp> {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.iter().rev().copied().collect()
    }

    fn remember(&self, tool: &'static str) {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if given_up.len() == GIVEN_UP_MAX {
            given_up.pop_front();
        }
        given_up.push_back(GivenUp { tool, since: Instant::now() });
    }
}

/// A call that has been sent. Dropped without `answered` (time limit, cancellation, a client that
/// went away) it is remembered as given up.
pub(crate) struct InFlight<'gate> {
    gate: &'gate Gate,
    tool: &'static str,
    answered: bool,
    _admitted: SemaphorePermit<'gate>,
    _running: SemaphorePermit<'gate>,
}

impl InFlight<'_> {
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.gate.remember(self.tool);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn the_queue_has_an_end() {
        let gate = Gate::default();
        let mut under_way = Vec::new();
        for _ in 0..CALLS_AT_ONCE_MAX {
            under_way.push(gate.enter("eval").await.unwrap());
        }
        let mut waiting: Vec<_> = (0..CALLS_WAITING_MAX).map(|_| Box::pin(gate.enter("eval"))).collect();
        for call in &mut waiting {
            assert!(matches!(futures_poll(call.as_mut()), Poll::Pending));
        }
        assert!(matches!(gate.enter("eval").await, Err(Failure::QueueFull { .. })));

        waiting.truncate(CALLS_WAITING_MAX - 1);
        assert!(matches!(futures_poll(Box::pin(gate.enter("eval")).as_mut()), Poll::Pending));
    }

    #[tokio::test]
    async fn only_calls_without_an_answer_are_given_up() {
        let gate = Gate::default();
        gate.enter("list_packages").await.unwrap().answered();
        assert!(gate.given_up().is_empty());
        for _ in 0..=GIVEN_UP_MAX {
            drop(gate.enter("eval").await.unwrap());
        }
        assert_eq!(gate.given_up().len(), GIVEN_UP_MAX);
        assert_eq!(gate.given_up()[0].tool, "eval");
    }

    #[test]
    fn pings_have_a_few_places_of_their_own() {
        let gate = Gate::default();
        let places: Vec<_> = (0..PINGS_AT_ONCE_MAX).map(|_| gate.enter_ping().unwrap()).collect();
        assert!(matches!(gate.enter_ping(), Err(Failure::QueueFull { .. })));
        drop(places);
        assert!(gate.enter_ping().is_ok());
    }

    fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    }
}
