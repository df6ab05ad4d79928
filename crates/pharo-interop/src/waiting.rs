//! Waiting for an image: until it answers, the time limit passes, or the caller gives up; with a
//! sign of life meanwhile.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::failure::Failure;

/// The time between two signs of life.
const BEAT: Duration = Duration::from_secs(2);

/// Whoever waits for the call, on the MCP side.
pub(crate) trait Watcher: Send + Sync {
    /// Shows that the call is under way.
    fn beat(&self, beat: Beat) -> impl Future<Output = ()> + Send;
    /// Returns when the caller has given up.
    fn cancelled(&self) -> impl Future<Output = ()> + Send;
}

/// One sign of life.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) elapsed: Duration,
    pub(crate) limit: Duration,
    pub(crate) message: &'static str,
}

/// Whether the image has been asked yet: set by the work, read by the wait.
#[derive(Debug, Default)]
pub(crate) struct Asked(AtomicBool);

impl Asked {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs the work to its end, or drops it.
pub(crate) async fn wait<T>(
    work: impl Future<Output = Result<T, Failure>>,
    asked: &Asked,
    limit: Duration,
    watcher: &impl Watcher,
) -> Result<T, Failure> {
    let started = Instant::now();
    let mut work = pin!(work);
    let mut deadline = pin!(sleep(limit));
    let mut beats = interval_at(started + BEAT, BEAT);
    loop {
        tokio::select! {
            biased;
            outcome = &mut work => return outcome,
            () = watcher.cancelled() => return Err(Failure::Cancelled),
            () = &mut deadline => return Err(late(asked, limit)),
            _ = beats.tick() => {
                let beat = Beat { elapsed: started.elapsed(), limit, message: message(asked) };
                // A client that does not read must not stop the clock.
                let _unread = timeout(BEAT, watcher.beat(beat)).await;
            }
        }
    }
}

fn late(asked: &Asked, limit: Duration) -> Failure {
    if asked.is_set() { Failure::TimeLimit { limit } } else { Failure::StillQueued { limit } }
}

fn message(asked: &Asked) -> &'static str {
    if asked.is_set() {
        "the image is working on it, or waits in a debugger or dialog"
    } else {
        "waiting behind other calls to this image"
    }
}
