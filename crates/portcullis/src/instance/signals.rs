//! Signals: caught from the first moment, so that none that comes early ends the process by surprise.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that mean something to a gateway.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Read the configuration again.
    hangup: Signal,
}

impl Signals {
    /// Catches them from now on. To be called inside the runtime.
    pub(crate) fn catch() -> Result<Signals, String> {
        let catch = |kind| signal(kind).map_err(|error| format!("signals cannot be caught: {error}"));
        Ok(Signals {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
            hangup: catch(SignalKind::hangup())?,
        })
    }

    /// What resolves when somebody wants the process to end, and what tells of hangups.
    pub(crate) fn split(self) -> (impl Future<Output = ()>, Signal) {
        let Signals { mut terminate, mut interrupt, hangup } = self;
        let terminated = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("stopping: open calls may finish");
        };
        (terminated, hangup)
    }
}
