//! Sessions of the legacy era: who opened one, in which revision, and what is running in it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_mcp::params::LogLevel;
use portcullis_mcp::{Id, LegacyRevision};
use tokio::sync::Notify;

/// Sessions that are kept; the oldest makes room for a new one.
const SESSIONS_MAX: usize = 1_000;
/// Calls that may run in one session.
const RUNNING_MAX: usize = 100;

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    by_id: HashMap<String, Arc<Session>>,
    oldest_first: VecDeque<String>,
}

/// One session.
pub(crate) struct Session {
    pub(crate) revision: LegacyRevision,
    inner: Mutex<Inner>,
}

struct Inner {
    running: HashMap<Id, Arc<Notify>>,
    log_level: LogLevel,
}

impl Sessions {
    /// Opens a session; `None` when the system gives no random numbers.
    pub(crate) fn open(&self, revision: LegacyRevision) -> Option<String> {
        let id = random_id()?;
        let inner = Inner { running: HashMap::new(), log_level: LogLevel::Info };
        let session = Arc::new(Session { revision, inner: Mutex::new(inner) });
        let mut kept = self.lock();
        if kept.oldest_first.len() >= SESSIONS_MAX
            && let Some(oldest) = kept.oldest_first.pop_front()
        {
            kept.by_id.remove(&oldest);
        }
        kept.by_id.insert(id.clone(), session);
        kept.oldest_first.push_back(id.clone());
        Some(id)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().by_id.get(id).cloned()
    }

    /// Ends a session and everything that runs in it; false when there was none.
    pub(crate) fn close(&self, id: &str) -> bool {
        let mut kept = self.lock();
        kept.oldest_first.retain(|other| other != id);
        let closed = kept.by_id.remove(id);
        if let Some(session) = &closed {
            session.lock().running.values().for_each(|running| running.notify_one());
        }
        closed.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Notes a call as running; what is returned tells when it is cancelled. `None`: too many run.
    pub(crate) fn start(&self, id: &Id) -> Option<Arc<Notify>> {
        let mut inner = self.lock();
        if inner.running.len() >= RUNNING_MAX {
            return None;
        }
        let cancelled = Arc::new(Notify::new());
        inner.running.insert(id.clone(), cancelled.clone());
        Some(cancelled)
    }

    pub(crate) fn finish(&self, id: &Id) {
        self.lock().running.remove(id);
    }

    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(running) = self.lock().running.remove(id) {
            running.notify_one();
        }
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.lock().log_level = level;
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        self.lock().log_level
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
