//! A gateway with everything it needs, opened and wired: what `serve`, `up` and `demo` run.
//!
//! `open.rs` opens the data directory in the right order, `assemble.rs` makes snapshots from store and
//! file, `socket.rs` takes commands, `reload.rs` watches the file, `run.rs` serves until it is told to stop.

mod assemble;
mod open;
mod reload;
mod run;
mod signals;
mod socket;
mod tls;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use portcullis_gateway::{Gateway, Ledger, Snapshot};
use portcullis_json::{Object, Value};
use portcullis_state::log::{Action, DecisionLog, Event};
use portcullis_state::store::Store;
use portcullis_state::{DataDirectory, DirectoryLock, Indexer};
use tokio::net::UnixListener;

pub(crate) use assemble::{declared_grant, stored_spec};
pub(crate) use run::{bind, run};
pub(crate) use signals::Signals;
pub(crate) use tls::load as load_tls;

use crate::admin::{self, Administration};
use crate::config::Config;
use crate::playground;

/// How a gateway is opened.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// Go on from the last good record of a decision log that is damaged. What was lost stays lost.
    #[arg(long)]
    accept_log_damage: bool,
}

/// An open gateway.
pub(crate) struct Instance {
    directory: DataDirectory,
    gateway: Arc<Gateway>,
    log: Arc<DecisionLog>,
    ledger: Arc<Ledger>,
    changing: Mutex<Changing>,
    /// Taken by `run`: from the moment that anybody is told of the gateway, commands find it.
    commands: Mutex<Option<UnixListener>>,
    _indexer: Indexer,
    _lock: DirectoryLock,
}

/// What changes while the gateway runs; one change at a time.
struct Changing {
    store: Store,
    config: Config,
    playground: Option<playground::Running>,
}

impl Instance {
    /// Runs one command of an administrator and puts its effect in force.
    pub(crate) fn administer(&self, command: &str, arguments: &Object) -> Result<Value, String> {
        if let Some(name) = admin::server_to_check(command, arguments) {
            return admin::check_server(name, |name| self.lock().spec(name));
        }
        let mut changing = self.lock();
        let Changing { store, config, .. } = &mut *changing;
        let used = self.gateway.snapshot().grants().last_used();
        store.note_last_used(&used).map_err(|fault| fault.to_string())?;
        let now = Timestamp::now();
        let mut administration = Administration { store, log: &self.log, declared: Some(config), now };
        let answer = admin::run(&mut administration, command, arguments)?;
        if admin::changes(command) {
            self.refresh(&mut changing)?;
        }
        Ok(answer)
    }

    /// Takes a new configuration in, whole or not at all.
    fn reconfigure(&self, config: Config) -> Result<(), String> {
        let mut changing = self.lock();
        let before = self.gateway.snapshot();
        let snapshot = changing.adopt(config, Some(&before), &self.log)?;
        self.gateway.replace(snapshot);
        Ok(())
    }

    fn refresh(&self, changing: &mut Changing) -> Result<(), String> {
        let before = self.gateway.snapshot();
        let snapshot = changing.snapshot(Some(&before))?;
        self.gateway.replace(snapshot);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the file may be taken in without a restart; if not, what would need one.
    fn needs_restart(&self, config: &Config) -> Vec<&'static str> {
        let changing = self.lock();
        let now = &changing.config;
        let same_settings = format!("{:?}", now.settings) == format!("{:?}", config.settings);
        let compared = [
            ("listen", now.listen == config.listen),
            ("data_dir", now.data_dir == config.data_dir),
            ("tls_cert` and `tls_key", now.tls == config.tls),
            ("settings", same_settings),
            ("log_sync", now.sync == config.sync),
            ("log_days_max", now.log_days_max == config.log_days_max),
        ];
        compared.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
    }

    /// Notes something that happened to the gateway itself.
    fn note(&self, action: Action, detail: Option<&str>) {
        let event = Event { by: Some("gateway"), detail, ..Event::new(action) };
        if let Err(fault) = admin::record(&self.log, &event, Timestamp::now()) {
            tracing::error!(%fault, action = action.as_str(), "the event is not in the decision log");
        }
    }
}

type Before<'a> = Option<&'a Snapshot>;
