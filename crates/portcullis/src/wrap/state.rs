//! The data directory, opened together with other wraps: one log, one set of counters.

use std::path::Path;
use std::sync::Arc;

use portcullis_gateway::{Gateway, Ledger, State};
use portcullis_state::log::{Action, DecisionLog, Entry, Event, LogOptions};
use portcullis_state::pins::Pins;
use portcullis_state::{DataDirectory, StateFault, SteadyClock};
use tokio::task::JoinHandle;

/// Who does something, in the log.
const BY: &str = "wrap";

/// What outlives the process.
pub(super) struct SharedState {
    directory: DataDirectory,
    log: Arc<DecisionLog>,
    ledger: Arc<Ledger>,
    clock: Arc<SteadyClock>,
    label: String,
}

impl SharedState {
    /// Opens the directory, and makes it where there is none.
    pub(super) fn open(path: &Path, label: &str) -> Result<SharedState, String> {
        let directory = DataDirectory::open_or_create(path).map_err(text)?;
        let clock = SteadyClock::system();
        let lock =
            directory.lock_shared(&format!("{BY} {label}"), clock.now()).map_err(|fault| held(&fault))?;
        let key = directory.checkpoint_key().map_err(text)?;
        let options = options(&clock);
        let joining = DecisionLog::joining(&directory.log(), key, options).map_err(text)?;
        let (ledger, log) = Ledger::join(joining).map_err(text)?;
        let log = Arc::new(log.holding(lock));
        let state = SharedState { directory, log, ledger, clock, label: label.to_owned() };
        state.note(Action::Started);
        Ok(state)
    }

    pub(super) fn for_gateway(&self) -> Result<State, String> {
        let clock = self.clock.clone();
        Ok(State {
            log: self.log.clone(),
            ledger: self.ledger.clone(),
            pins: Arc::new(Pins::open(&self.directory).map_err(text)?),
            digest_key: self.directory.digest_key().map_err(text)?,
            clock: Arc::new(move || clock.now()),
        })
    }

    /// After each checkpoint the counters are kept, so that the next start reads little of the log.
    pub(super) fn keep_counters(&self) -> JoinHandle<()> {
        let (log, ledger) = (self.log.clone(), self.ledger.clone());
        let mut checkpoints = log.checkpoints();
        tokio::spawn(async move {
            while checkpoints.changed().await.is_ok() {
                let (log, ledger) = (log.clone(), ledger.clone());
                let _ = tokio::task::spawn_blocking(move || save(&ledger, &log)).await;
            }
        })
    }

    /// When an administrator accepted a changed tool meanwhile, the server's tools are looked at again.
    pub(super) fn hear_of_accepted_tools(&self, gateway: &Arc<Gateway>, server: String) -> JoinHandle<()> {
        let (gateway, accepted) = (gateway.clone(), self.log.accepted_by_others());
        tokio::spawn(async move {
            let Some(mut accepted) = accepted else {
                return;
            };
            while accepted.changed().await.is_ok() {
                gateway.look_again(&server);
            }
        })
    }

    fn note(&self, action: Action) {
        let event = Event { by: Some(BY), detail: Some(&self.label), ..Event::new(action) };
        if let Err(fault) = self.log.append(self.clock.now(), &Entry::Event(&event)) {
            tracing::error!(%fault, action = action.as_str(), "the event is not in the decision log");
        }
    }

    /// Everything is kept, and the end of the log is signed.
    pub(super) fn close(self) {
        self.note(Action::Stopped);
        save(&self.ledger, &self.log);
        let closed = match Arc::try_unwrap(self.log) {
            Ok(log) => log.close(),
            // A call that outlived the end still holds it: durable, but signed by another process only.
            Err(log) => log.sync_now(),
        };
        if let Err(fault) = closed {
            tracing::error!(%fault, "the decision log could not be closed");
        }
    }
}

fn options(clock: &Arc<SteadyClock>) -> LogOptions {
    let (ticking, ageing) = (clock.clone(), clock.clone());
    LogOptions {
        clock: Arc::new(move || ticking.now()),
        age_clock: Arc::new(move || ageing.unstepped()),
        ..LogOptions::default()
    }
}

fn save(ledger: &Ledger, log: &DecisionLog) {
    if let Err(fault) = ledger.save(log) {
        tracing::warn!(%fault, "the counters were not kept; the next start reads more of the log");
    }
}

fn held(fault: &StateFault) -> String {
    match fault {
        StateFault::Held { path, pid, purpose, .. } => format!(
            "the data directory `{}` belongs to the gateway of process {pid} ({purpose}); connect the client to \
             that gateway, or give `wrap` a directory of its own with `--data-dir`",
            path.display()
        ),
        other => other.to_string(),
    }
}

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}
