//! The thread that keeps the log's index up to date, a little behind the log.
//!
//! Started by the gateway; commands that find none running call `Index::catch_up` themselves. Whatever
//! goes wrong here is reported and tried again: no call depends on it. It takes one batch at a time and rests in
//! between, so that calls have the processor: when many come, it lags.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::index::{Index, IndexFault};

/// How often the reader looks for new records; with the size of a batch, 5,000 records a second at most.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The thread that keeps the index up to date.
pub struct Indexer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    fault: Arc<Mutex<Option<String>>>,
}

impl Indexer {
    /// Starts it.
    pub fn start(path: &Path, log: &Path) -> io::Result<Indexer> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let fault = Arc::new(Mutex::new(None));
        let (path, log) = (path.to_owned(), log.to_owned());
        let (stopping, report) = (stop.clone(), fault.clone());
        let thread = std::thread::Builder::new()
            .name("log-indexer".to_owned())
            .spawn(move || keep_up(&path, &log, &stopping, &report))?;
        Ok(Indexer { stop, thread: Some(thread), fault })
    }

    /// Why the index does not follow at the moment.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // What it had to say is in `fault`.
            let _ = thread.join();
        }
    }
}

fn keep_up(path: &Path, log: &Path, stop: &(Mutex<bool>, Condvar), report: &Mutex<Option<String>>) {
    let mut index = None;
    loop {
        let taken = follow_once(&mut index, path, log);
        if taken.is_err() {
            index = None;
        }
        *report.lock().unwrap_or_else(PoisonError::into_inner) = taken.err().map(|fault| fault.to_string());
        let stopping = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = stop.1.wait_timeout_while(stopping, LOOK_EVERY, |stopping| !*stopping);
        if *waited.unwrap_or_else(PoisonError::into_inner).0 {
            return;
        }
    }
}

fn follow_once(index: &mut Option<Index>, path: &Path, log: &Path) -> Result<usize, IndexFault> {
    // Somebody may have deleted the file to have it built again.
    if !path.exists() {
        *index = None;
    }
    let index = match index {
        Some(index) => index,
        None => index.insert(Index::open(path, log)?),
    };
    let taken = index.catch_up()?;
    if taken > 0 {
        index.prune()?;
    }
    Ok(taken)
}
