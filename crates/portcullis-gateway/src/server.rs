//! A server as the gateway knows it: its configuration, and what was found out about it.
//!
//! What was found out stays as long as the configuration of the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use portcullis_mcp::Id;

use crate::catalogue::Catalogue;
use crate::probe::EraMemory;
use crate::scrub::Scrubber;
use crate::settings::{Settings, UPSTREAM_ANSWER_TIMEOUT_MS_CAP, milliseconds};
use crate::snapshot::ServerConfig;

/// One server.
pub(crate) struct Server {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) catalogue: Catalogue,
    pub(crate) eras: EraMemory,
    pub(crate) scrubber: Scrubber,
    next_id: AtomicI64,
}

impl Server {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Server {
        let scrubber = Scrubber::new(&config.secrets);
        Server {
            config,
            catalogue: Catalogue::default(),
            eras: EraMemory::default(),
            scrubber,
            next_id: AtomicI64::new(1),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// An id that no other request to this server has.
    pub(crate) fn next_id(&self) -> Id {
        Id::from(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// How long it may stay silent during a call.
    pub(crate) fn answer_timeout(&self, settings: &Settings) -> Duration {
        let configured = self.config.answer_timeout_ms.unwrap_or(settings.upstream_answer_timeout_ms);
        milliseconds(configured.min(UPSTREAM_ANSWER_TIMEOUT_MS_CAP))
    }
}
