//! A question to a server that many callers have at once: asked once, in a task of its own, and the answer
//! is everybody's, also when it is a failure.
//!
//! A caller that goes away stops nothing, and a server that does not answer is waited for once, not once
//! per caller. `catalogue` and `probe` ask this way.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::settings::{Settings, milliseconds};
use crate::stop::{Stop, UpstreamFault};

/// How long an answer is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Then it is given up.
    pub(crate) whole: Duration,
    /// A failure is everybody's for this long; only then is the server asked again.
    pub(crate) after_failure: Duration,
}

impl Patience {
    pub(crate) fn of(settings: &Settings) -> Patience {
        Patience {
            whole: milliseconds(settings.listing_timeout_ms),
            after_failure: milliseconds(settings.listing_retry_ms),
        }
    }
}

/// The asking that is under way, or was last.
pub(crate) struct Once<T> {
    last: Mutex<Option<Told<T>>>,
}

type Told<T> = watch::Receiver<Option<Done<T>>>;

struct Done<T> {
    at: Instant,
    answer: Result<T, Stop>,
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once { last: Mutex::default() }
    }
}

impl<T: Clone + Send + Sync + 'static> Once<T> {
    /// The answer to `question`, or to the same question of somebody who came first.
    pub(crate) async fn ask<F>(&self, patience: Patience, question: impl FnOnce() -> F) -> Result<T, Stop>
    where
        F: Future<Output = Result<T, Stop>> + Send + 'static,
    {
        let mut told = self.join(patience, question);
        match told.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(done)) => done.answer.clone(),
            // The task was ended: the gateway stops.
            _ => Err(UpstreamFault::Broken.into()),
        }
    }

    /// Asks without waiting for the answer.
    pub(crate) fn start<F>(&self, patience: Patience, question: impl FnOnce() -> F)
    where
        F: Future<Output = Result<T, Stop>> + Send + 'static,
    {
        self.join(patience, question);
    }

    fn join<F>(&self, patience: Patience, question: impl FnOnce() -> F) -> Told<T>
    where
        F: Future<Output = Result<T, Stop>> + Send + 'static,
    {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = last.as_ref().filter(|told| is_current(told, patience)) {
            return told.clone();
        }
        let (tell, told) = watch::channel(None);
        *last = Some(told.clone());
        let question = question();
        tokio::spawn(async move {
            let answer = tokio::time::timeout(patience.whole, question).await;
            let answer = answer.unwrap_or(Err(UpstreamFault::TimedOut.into()));
            tell.send_replace(Some(Done { at: Instant::now(), answer }));
        });
        told
    }
}

/// Whether nobody need ask again: it is being asked, or has failed just now.
fn is_current<T>(told: &Told<T>, patience: Patience) -> bool {
    match &*told.borrow() {
        None => told.has_changed().is_ok(),
        Some(done) => done.answer.is_err() && done.at.elapsed() < patience.after_failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PATIENT: Patience =
        Patience { whole: Duration::from_secs(60), after_failure: Duration::from_secs(60) };

    #[tokio::test]
    async fn a_failure_is_everybodys_and_the_server_is_left_alone_for_a_while() {
        let once = Arc::new(Once::<()>::default());
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = |patience| {
            let asked = asked.clone();
            once.ask(patience, || async move {
                asked.fetch_add(1, Ordering::Relaxed);
                std::future::pending().await
            })
        };
        let brief = Patience { whole: Duration::from_millis(1), ..PATIENT };
        let (one, two) = tokio::join!(ask(brief), ask(brief));
        for answer in [one, two, ask(brief).await] {
            assert!(matches!(answer, Err(Stop::Upstream(UpstreamFault::TimedOut))));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        let _ = ask(Patience { after_failure: Duration::ZERO, ..brief }).await;
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_stops_nothing() {
        let once = Once::<u8>::default();
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let first = once.ask(PATIENT, || async {
            let _ = gone.await;
            Ok(7)
        });
        tokio::select! {
            biased;
            _ = first => panic!("it is not answered yet"),
            () = std::future::ready(()) => {}
        }
        let mut second = pin!(once.ask(PATIENT, || async { Ok(8) }));
        tokio::select! {
            biased;
            _ = second.as_mut() => panic!("the first question is still under way"),
            () = std::future::ready(()) => {}
        }
        go.send(()).unwrap();
        assert!(matches!(second.await, Ok(7)));
        assert!(matches!(once.ask(PATIENT, || async { Ok(9) }).await, Ok(9)));
    }
}
