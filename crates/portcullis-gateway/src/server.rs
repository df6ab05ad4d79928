//! A server as the gateway knows it: its configuration, and what was found out about it.
//!
//! What was found out stays as long as the configuration of the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use portcullis_mcp::Id;
use portcullis_policy::Class;

use crate::catalogue::Catalogue;
use crate::duplex::Pool;
use crate::probe::EraMemory;
use crate::process::Output;
use crate::scrub::Scrubber;
use crate::settings::{Settings, UPSTREAM_ANSWER_TIMEOUT_MS_CAP, milliseconds};
use crate::shown::ShownLists;
use crate::snapshot::{ServerConfig, Transport, Tuning};
use crate::tool::Tool;
use crate::transport::ProcessMode;

/// One server.
pub(crate) struct Server {
    /// As it was when the gateway first met it; what may change since is in `tuning`.
    pub(crate) config: Arc<ServerConfig>,
    tuning: ArcSwap<Tuning>,
    pub(crate) catalogue: Catalogue,
    pub(crate) eras: EraMemory,
    pub(crate) scrubber: Scrubber,
    /// Lists as clients were shown them.
    pub(crate) shown: ShownLists,
    /// Its connections, where one carries messages of both sides.
    pub(crate) pool: Option<Pool>,
    /// What its programs write to standard error.
    pub(crate) output: Output,
    next_id: AtomicI64,
}

impl Server {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Server {
        let scrubber = Scrubber::new(&config.secrets);
        Server {
            catalogue: Catalogue::default(),
            eras: EraMemory::default(),
            pool: pool(&config),
            scrubber,
            shown: ShownLists::default(),
            output: Output::default(),
            next_id: AtomicI64::new(1),
            tuning: ArcSwap::new(config.tuning.clone()),
            config,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// Takes over what may change: sessions and what was found out stay.
    pub(crate) fn tune(&self, config: &ServerConfig) {
        self.tuning.store(config.tuning.clone());
    }

    pub(crate) fn tuning(&self) -> Arc<Tuning> {
        self.tuning.load_full()
    }

    /// The class of a tool: an administrator's word, or else what the rules say. And whether it is the former.
    pub(crate) fn class_of(&self, tool: &Tool) -> (Option<Class>, bool) {
        match self.tuning.load().classes.get(&tool.name) {
            Some(by_hand) => (Some(*by_hand), true),
            None => (tool.class_by_rules, false),
        }
    }

    /// An id that no other request to this server has.
    pub(crate) fn next_id(&self) -> Id {
        Id::from(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// How long it may take to tell its era: a program has to start first.
    pub(crate) fn probe_timeout(&self, settings: &Settings) -> Duration {
        milliseconds(match self.pool {
            None => settings.probe_timeout_ms,
            Some(_) => settings.process_start_timeout_ms,
        })
    }

    /// How long it may stay silent during a call.
    pub(crate) fn answer_timeout(&self, settings: &Settings) -> Duration {
        let configured = self.tuning.load().answer_timeout_ms.unwrap_or(settings.upstream_answer_timeout_ms);
        milliseconds(configured.min(UPSTREAM_ANSWER_TIMEOUT_MS_CAP))
    }
}

fn pool(config: &ServerConfig) -> Option<Pool> {
    match &config.transport {
        Transport::Http(_) => None,
        Transport::Sse(_) => Some(Pool::new(ProcessMode::Session)),
        Transport::Command(spec) => Some(Pool::new(spec.process)),
    }
}
