//! The end of a process, however it comes: wanted, by idling, or by itself. Nothing of its group is left.

use std::sync::{Arc, Weak};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::duplex::Connection;
use crate::server::Server;
use crate::stop::UpstreamFault;

/// How long what a process wrote before its end may take to be read.
const READ_OUT: Duration = Duration::from_secs(1);
/// How long a killed process may take to be gone.
const KILLED: Duration = Duration::from_secs(5);
/// A process that only the gateway itself asked something is not kept longer.
const SPARE_IDLE: Duration = Duration::from_secs(30);

/// A process that is looked after.
pub(super) struct Supervised {
    pub(super) child: Child,
    pub(super) group: Pid,
    pub(super) connection: Arc<Connection>,
    /// Closed when everything it wrote was read.
    pub(super) reading: watch::Receiver<()>,
    pub(super) tasks: Vec<AbortHandle>,
    pub(super) server: Weak<Server>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) started: Instant,
}

impl Supervised {
    pub(super) async fn run(mut self) {
        let by_itself = tokio::select! {
            _ = self.child.wait() => true,
            _ = self.reading.changed() => true,
            () = self.connection.end_wanted() => false,
            () = idled(&self.connection, self.idle_timeout) => false,
        };
        // Closes its input, and nobody is given to it any more.
        self.connection.end();
        let status = self.stop(by_itself).await;
        // Children that it left behind.
        self.signal(Signal::KILL);
        // What it answered before its end counts.
        let _ = timeout(READ_OUT, self.reading.changed()).await;
        self.tasks.iter().for_each(AbortHandle::abort);
        self.connection.close(UpstreamFault::Ended);
        if let Some(server) = self.server.upgrade() {
            tracing::info!(server = server.name(), status, by_itself, "a program has ended");
            let lived = by_itself.then(|| self.started.elapsed());
            if let Some(pool) = &server.pool {
                pool.ended(&self.connection, lived);
            }
        }
        self.connection.set_over();
    }

    /// Input closed, then SIGTERM, then SIGKILL, with time between them; gives how it ended.
    async fn stop(&mut self, by_itself: bool) -> String {
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let Some(signal) = signal {
                self.signal(signal);
            }
            let patience = match signal {
                Some(Signal::KILL) => KILLED,
                // It closed its output itself, and is most likely on its way.
                _ if by_itself => self.grace.min(READ_OUT),
                _ => self.grace,
            };
            if let Ok(Ok(status)) = timeout(patience, self.child.wait()).await {
                return status.to_string();
            }
        }
        tracing::error!(pid = self.group.as_raw_nonzero().get(), "a program does not end when it is killed");
        "not ended".to_owned()
    }

    /// To the whole group. That nobody is left in it is no fault.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
    }
}

/// Resolves when nobody used the connection for too long.
async fn idled(connection: &Connection, idle_timeout: Option<Duration>) {
    loop {
        let allowed = if connection.is_spare() { Some(SPARE_IDLE) } else { idle_timeout };
        let rest = match (connection.idle(), allowed) {
            (Some(idle), Some(allowed)) if idle >= allowed => return,
            (Some(idle), Some(allowed)) => allowed - idle,
            // Whose it is may change.
            _ => SPARE_IDLE,
        };
        sleep(rest.min(SPARE_IDLE)).await;
    }
}
