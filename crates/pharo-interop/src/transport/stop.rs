//! Being asked to stop: Ctrl-C, or the signal that service managers send.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals, listened to from the moment this exists.
#[cfg(unix)]
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl StopSignals {
    /// Must come before anybody is told that the server is there.
    pub(super) fn listen() -> Result<Self, String> {
        let listen = |kind| signal(kind).map_err(|fault| format!("no signals: {fault}"));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Returns when one has come.
    pub(super) async fn received(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Elsewhere there is only Ctrl-C.
#[cfg(not(unix))]
pub(super) struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    pub(super) fn listen() -> Result<Self, String> {
        Ok(Self)
    }

    pub(super) async fn received(self) {
        let _no_handler = tokio::signal::ctrl_c().await;
    }
}
