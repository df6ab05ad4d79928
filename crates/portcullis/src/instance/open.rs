//! Opening: the lock first, then the log, the counters, the store; nothing is left half-started.

use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;
use portcullis_gateway::{Clock, Gateway, Ledger, State};
use portcullis_state::log::{Action, DecisionLog, Disk, LogOptions, Retention, Storage};
use portcullis_state::pins::Pins;
use portcullis_state::store::Store;
use portcullis_state::{DataDirectory, Indexer, SteadyClock};

use super::{Changing, Instance, Opening, socket};
use crate::config::Config;

impl Instance {
    /// Opens the data directory that `config` names. To be called inside the runtime.
    pub(crate) fn open(config: Config, purpose: &str, opening: Opening) -> Result<Instance, String> {
        Instance::open_on(Arc::new(Disk), config, purpose, opening)
    }

    /// The same with a log that is written through `storage`.
    pub(super) fn open_on(
        storage: Arc<dyn Storage>,
        config: Config,
        purpose: &str,
        opening: Opening,
    ) -> Result<Instance, String> {
        let directory = DataDirectory::open_or_create(&config.data_dir).map_err(text)?;
        let clock = SteadyClock::system();
        let lock = directory.lock(purpose, clock.now()).map_err(text)?;
        let (log, opened) = DecisionLog::open(
            &directory.log(),
            directory.checkpoint_key().map_err(text)?,
            LogOptions { storage, ..options(&config, opening, &clock) },
        )
        .map_err(text)?;
        tracing::debug!(?opened, "the decision log is open");
        if let Some(latest) = opened.latest {
            clock.start_from(latest);
        }
        let log = Arc::new(log.holding(lock));
        let ledger = Arc::new(ledger(&log, opening, clock.now())?);
        let pins = Arc::new(Pins::open(&directory).map_err(text)?);
        let settings = config.settings.clone();
        let store = Store::open(&directory).map_err(text)?;
        let nothing = Config::by_default(config.listen, &config.data_dir);
        let mut changing = Changing { store, config: nothing, playground: None };
        let snapshot = changing.adopt(config, None, &log, clock.now())?;
        let state = State {
            log: log.clone(),
            ledger: ledger.clone(),
            pins: pins.clone(),
            digest_key: directory.digest_key().map_err(text)?,
            clock: reading(&clock),
        };
        let instance = Instance {
            gateway: Arc::new(Gateway::new(settings, state, snapshot)),
            _indexer: Indexer::start(&directory.index(), &directory.log()).map_err(text)?,
            changing: Mutex::new(changing),
            commands: Mutex::new(Some(socket::listen(&directory)?)),
            url: OnceLock::new(),
            directory,
            log,
            ledger,
            clock,
            pins,
        };
        instance.note(Action::Started, Some(env!("CARGO_PKG_VERSION")));
        Ok(instance)
    }
}

/// The counters, also of a log with damage inside if that is accepted.
fn ledger(log: &DecisionLog, opening: Opening, now: Timestamp) -> Result<Ledger, String> {
    match Ledger::from_log(log) {
        Err(fault) if opening.accept_log_damage => {
            tracing::warn!(%fault, "accepted: what was charged before now is not known");
            Ledger::accept_damage(log, &fault, now).map_err(text)
        }
        ledger => ledger.map_err(text),
    }
}

fn reading(clock: &Arc<SteadyClock>) -> Clock {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

fn options(config: &Config, opening: Opening, clock: &Arc<SteadyClock>) -> LogOptions {
    let ages = clock.clone();
    LogOptions {
        sync: config.sync,
        accept_damage: opening.accept_log_damage,
        retention: Retention::days(config.log_days_max),
        clock: reading(clock),
        age_clock: Arc::new(move || ages.unstepped()),
        ..LogOptions::default()
    }
}

fn text(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}
