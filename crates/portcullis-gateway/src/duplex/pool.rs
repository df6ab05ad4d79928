//! The connections of one server: who gets which, how many there may be, and when the next may be started.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portcullis_json::Object;
use tokio::time::{Instant, timeout_at};

use super::{Attachment, Connection, Owner};
use crate::stop::UpstreamFault;
use crate::transport::ProcessMode;

/// A program that ended so soon has failed.
const SHORT_LIFE: Duration = Duration::from_secs(10);
/// How long nothing is started after the second failure in a row; doubled with each further one.
const BACK_OFF: Duration = Duration::from_millis(500);
const BACK_OFF_MAX: Duration = Duration::from_secs(30);

/// All connections of a server.
pub(crate) struct Pool {
    mode: ProcessMode,
    kept: Mutex<Kept>,
    /// One session is opened at a time where all share one connection.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    connections: Vec<Arc<Connection>>,
    /// Programs that ended soon, one after the other.
    failures: u32,
    not_before: Option<Instant>,
}

/// A session that was opened.
pub(crate) enum Opened {
    /// On a connection that is open already; what the server said when it was.
    Again(Attachment, Object),
    /// On one that `initialize` has yet to be said on.
    Fresh(Attachment),
}

/// The right to open a session where only one may do so at a time.
pub(crate) struct Turn<'a>(#[expect(dead_code, reason = "held, not read")] tokio::sync::MutexGuard<'a, ()>);

impl Pool {
    pub(crate) fn new(mode: ProcessMode) -> Pool {
        Pool { mode, kept: Mutex::default(), opening: tokio::sync::Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody else opens a session on the connection that all share.
    pub(crate) async fn turn(&self, deadline: Instant) -> Result<Option<Turn<'_>>, UpstreamFault> {
        if self.mode == ProcessMode::Session {
            return Ok(None);
        }
        let locked = timeout_at(deadline, self.opening.lock()).await;
        locked.map(|guard| Some(Turn(guard))).map_err(|_| UpstreamFault::TimedOut)
    }

    /// The connection for what this grant (none: the gateway) says in the era without sessions.
    pub(crate) fn modern(
        &self,
        owner: Option<&Arc<str>>,
        connections_max: usize,
        start: impl FnOnce(Owner) -> Result<Arc<Connection>, UpstreamFault>,
    ) -> Result<Arc<Connection>, UpstreamFault> {
        let mut kept = self.lock();
        kept.purge();
        if let Some(connection) = kept.find_modern(owner, true) {
            return Ok(connection);
        }
        let whose = match (self.mode, owner) {
            (ProcessMode::Shared, _) => Owner::All,
            (ProcessMode::Session, Some(owner)) => Owner::Grant(owner.clone()),
            (ProcessMode::Session, None) => Owner::Nobody,
        };
        let connection = kept.start(whose, connections_max, start)?;
        connection.speak_modern();
        Ok(connection)
    }

    /// The same, if it is there already.
    pub(crate) fn modern_if_open(&self, owner: Option<&Arc<str>>) -> Option<Arc<Connection>> {
        self.lock().find_modern(owner, false)
    }

    /// A connection for a legacy session. The gateway's own session shares one that is open.
    pub(crate) fn open_session(
        &self,
        is_own: bool,
        connections_max: usize,
        start: impl FnOnce(Owner) -> Result<Arc<Connection>, UpstreamFault>,
    ) -> Result<Opened, UpstreamFault> {
        let mut kept = self.lock();
        kept.purge();
        let shared = self.mode == ProcessMode::Shared;
        if shared || is_own {
            let open = kept.connections.iter().find_map(|one| Some((one.clone(), one.opened()?)));
            if let Some((connection, result)) = open {
                let attachment = match is_own {
                    true => Attachment::guest(connection),
                    false => Attachment::one_of_many(connection),
                };
                return Ok(Opened::Again(attachment, result));
            }
        }
        let spare = kept.connections.iter().find(|connection| connection.claim_for_session()).cloned();
        let connection = match spare {
            Some(connection) => connection,
            None => {
                let whose = if shared { Owner::All } else { Owner::Session };
                kept.start(whose, connections_max, start)?
            }
        };
        Ok(Opened::Fresh(match shared {
            true => Attachment::one_of_many(connection),
            false => Attachment::whole(connection),
        }))
    }

    /// Whether a session is open, and nothing is in the modern era: then the server is listed in it.
    pub(crate) fn speaks_legacy(&self) -> bool {
        let kept = self.lock();
        let is_modern = |connection: &Arc<Connection>| connection.era().is_modern();
        kept.connections.iter().any(|connection| connection.opened().is_some())
            && !kept.connections.iter().any(is_modern)
    }

    /// A connection is over; `lived`: how long, if nobody wanted its end.
    pub(crate) fn ended(&self, connection: &Arc<Connection>, lived: Option<Duration>) {
        let mut kept = self.lock();
        kept.connections.retain(|one| !Arc::ptr_eq(one, connection));
        match lived {
            Some(lived) if lived < SHORT_LIFE => kept.note_failure(),
            Some(_) => kept.failures = 0,
            None if connection.has_answered() => kept.failures = 0,
            None => {}
        }
    }

    /// All that are open.
    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        self.lock().connections.clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.connections().iter().for_each(|connection| connection.end());
    }
}

impl Kept {
    fn purge(&mut self) {
        self.connections.retain(|connection| !connection.is_closed());
    }

    fn find_modern(&self, owner: Option<&Arc<str>>, may_claim: bool) -> Option<Arc<Connection>> {
        let own = self.connections.iter().find(|connection| connection.is_modern_for(owner));
        let spare = || self.connections.iter().find(|connection| may_claim && connection.claim_modern(owner));
        own.or_else(spare).cloned()
    }

    fn start(
        &mut self,
        owner: Owner,
        connections_max: usize,
        start: impl FnOnce(Owner) -> Result<Arc<Connection>, UpstreamFault>,
    ) -> Result<Arc<Connection>, UpstreamFault> {
        if self.not_before.is_some_and(|at| Instant::now() < at) {
            return Err(UpstreamFault::KeepsEnding);
        }
        if self.connections.len() >= connections_max {
            self.make_room();
        }
        if self.connections.len() >= connections_max {
            return Err(UpstreamFault::TooManyProcesses);
        }
        match start(owner) {
            Ok(connection) => {
                self.connections.push(connection.clone());
                Ok(connection)
            }
            Err(fault) => {
                self.note_failure();
                Err(fault)
            }
        }
    }

    /// What only the gateway used gives way.
    fn make_room(&mut self) {
        self.connections.retain(|connection| {
            let gives_way = connection.is_spare() && connection.idle().is_some();
            if gives_way {
                connection.end();
            }
            !gives_way
        });
    }

    fn note_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
        if let Some(doublings) = self.failures.checked_sub(2) {
            let wait = BACK_OFF.saturating_mul(2_u32.saturating_pow(doublings)).min(BACK_OFF_MAX);
            self.not_before = Some(Instant::now() + wait);
        }
    }
}
