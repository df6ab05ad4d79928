//! Lanes: threads that each serve their own connections, from the client's socket to the server's and back.
//!
//! What belongs to a call never changes threads, so that no call wakes another core; the price is that a connection
//! stays where it was put. The listener puts each new one on the lane with the fewest.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};

thread_local! {
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// Which lane the current thread is; 0 for threads that are none.
pub(crate) fn current() -> usize {
    LANE.get()
}

/// How many there are.
pub(crate) fn count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The lanes of one listener.
pub(crate) struct Lanes(Vec<Lane>);

struct Lane {
    /// INVARIANT: everything bounded. What waits here is a connection, and those are counted before.
    work: mpsc::UnboundedSender<Work>,
    open: Arc<AtomicUsize>,
    ended: oneshot::Receiver<()>,
}

impl Lanes {
    pub(crate) fn start() -> io::Result<Lanes> {
        (1..=count()).map(Lane::start).collect::<io::Result<_>>().map(Lanes)
    }

    /// Serves this on the lane that has the least to do.
    pub(crate) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Some(lane) = self.0.iter().min_by_key(|lane| lane.open.load(Ordering::Relaxed)) else {
            return;
        };
        let open = Open::new(&lane.open);
        let work = async move {
            work.await;
            drop(open);
        };
        // A lane that is gone takes nothing: the connection is closed by dropping it.
        let _ = lane.work.send(Box::pin(work));
    }

    /// Ends all lanes; what still runs there is dropped.
    pub(crate) async fn end(self) {
        for Lane { work, ended, .. } in self.0 {
            drop(work);
            // A lane that panicked has ended, too.
            let _ = ended.await;
        }
    }
}

impl Lane {
    fn start(number: usize) -> io::Result<Lane> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (work, mut taken) = mpsc::unbounded_channel::<Work>();
        let (ending, ended) = oneshot::channel();
        std::thread::Builder::new().name(format!("lane-{number}")).spawn(move || {
            LANE.set(number);
            runtime.block_on(async {
                while let Some(work) = taken.recv().await {
                    tokio::spawn(work);
                }
            });
            // Work on its blocking threads must not hold up the stop.
            runtime.shutdown_background();
            let _ = ending.send(());
        })?;
        Ok(Lane { work, open: Arc::default(), ended })
    }
}

/// Counts one connection for as long as it lives.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Open {
        count.fetch_add(1, Ordering::Relaxed);
        Open(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_spread_and_dropped_at_the_end() {
        let lanes = Lanes::start().unwrap();
        let (tell, mut told) = mpsc::unbounded_channel();
        let (_hold, held) = tokio::sync::watch::channel(());
        for _ in 0..count() {
            let (tell, mut held) = (tell.clone(), held.clone());
            lanes.run(async move {
                tell.send(current()).unwrap();
                let _ = held.changed().await;
                tell.send(0).unwrap();
            });
        }
        let mut seen = Vec::new();
        for _ in 0..count() {
            seen.push(told.recv().await.unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=count()).collect::<Vec<_>>());
        drop(tell);
        lanes.end().await;
        assert_eq!(told.recv().await, None, "something went on after the end");
        assert_eq!(current(), 0);
    }
}
