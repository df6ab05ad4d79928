//! Tasks: who started which, so that nobody else can ask for it, and what to blank out in its result.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_policy::Detectors;

use crate::server::Server;

/// A task that a call became.
#[derive(Clone)]
pub(crate) struct Task {
    server: Arc<Server>,
    grant: String,
    pub(crate) redact: Detectors,
}

/// Two grants cannot own one task.
pub(crate) struct TakenTask;

type Key = (String, String);

/// All tasks. Bounded: the oldest is forgotten, and is then nobody's.
#[derive(Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_key: HashMap<Key, Task>,
    oldest_first: VecDeque<Key>,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call of this grant became this task.
    pub(crate) fn open(
        &self,
        server: &Arc<Server>,
        id: &str,
        grant: &str,
        redact: Detectors,
        tasks_max: usize,
    ) -> Result<(), TakenTask> {
        let key = (server.name().to_owned(), id.to_owned());
        let task = Task { server: server.clone(), grant: grant.to_owned(), redact };
        let mut known = self.lock();
        if known.by_key.get(&key).is_some_and(|other| other.is_others(server, grant)) {
            return Err(TakenTask);
        }
        if known.by_key.insert(key.clone(), task).is_none() {
            known.oldest_first.push_back(key);
        }
        if known.oldest_first.len() > tasks_max
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.by_key.remove(&oldest);
        }
        Ok(())
    }

    /// The task, if it is this grant's.
    pub(crate) fn find(&self, server: &Arc<Server>, id: &str, grant: &str) -> Option<Task> {
        let key = (server.name().to_owned(), id.to_owned());
        let known = self.lock();
        let task = known.by_key.get(&key)?;
        (task.grant == grant && Arc::ptr_eq(&task.server, server)).then(|| task.clone())
    }
}

impl Task {
    fn is_others(&self, server: &Arc<Server>, grant: &str) -> bool {
        Arc::ptr_eq(&self.server, server) && self.grant != grant
    }
}
