//! Which eras a server speaks: asked once, remembered, asked again after it failed us.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use portcullis_json::{Object, Value};
use portcullis_mcp::{Era, Outcome, code};

use crate::gateway::Gateway;
use crate::own;
use crate::server::Server;
use crate::snapshot::EraSetting;
use crate::stop::{Stop, UpstreamFault};

/// The eras of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Eras {
    pub(crate) legacy: bool,
    pub(crate) modern: bool,
}

/// What was found out; 0: nothing yet.
#[derive(Default)]
pub(crate) struct EraMemory {
    bits: AtomicU8,
    asking: tokio::sync::Mutex<()>,
}

impl EraMemory {
    fn get(&self) -> Option<Eras> {
        match self.bits.load(Ordering::Relaxed) {
            0 => None,
            bits => Some(Eras { legacy: bits & 1 != 0, modern: bits & 2 != 0 }),
        }
    }

    fn set(&self, eras: Eras) {
        self.bits.store(u8::from(eras.legacy) | (u8::from(eras.modern) << 1), Ordering::Relaxed);
    }

    /// What we believed did not hold: ask again next time.
    pub(crate) fn forget(&self) {
        self.bits.store(0, Ordering::Relaxed);
    }
}

/// The eras that the server speaks and that its configuration lets us use.
pub(crate) async fn eras(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Eras, Stop> {
    match server.config.era {
        EraSetting::Legacy => return Ok(Eras { legacy: true, modern: false }),
        EraSetting::Modern => return Ok(Eras { legacy: false, modern: true }),
        EraSetting::Auto => {}
    }
    if let Some(eras) = server.eras.get() {
        return Ok(eras);
    }
    let _one_at_a_time = server.eras.asking.lock().await;
    if let Some(eras) = server.eras.get() {
        return Ok(eras);
    }
    let eras = ask(gateway, server).await?;
    tracing::info!(server = server.name(), legacy = eras.legacy, modern = eras.modern, "asked for the era");
    server.eras.set(eras);
    Ok(eras)
}

/// Whether the gateway lists in the modern era. A program that is in a session already is not started
/// again for being asked.
pub(crate) async fn lists_modern(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<bool, Stop> {
    if server.eras.get().is_none() && server.pool.as_ref().is_some_and(|pool| pool.speaks_legacy()) {
        return Ok(false);
    }
    eras(gateway, server).await.map(|eras| eras.modern)
}

/// A result, or an error that only the modern era has, is modern; anything else, and silence, is legacy.
async fn ask(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Eras, Stop> {
    let legacy_only = Eras { legacy: true, modern: false };
    let patience = server.probe_timeout(&gateway.settings);
    let asked = own::request(gateway, server, own::Place::modern(), "server/discover", Object::new());
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(answer)) => Ok(match answer.outcome {
            Outcome::Result(result) => Eras { legacy: lists_legacy(&result), modern: true },
            Outcome::Error(error) => match error.code {
                code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_REVISION => {
                    Eras { legacy: false, modern: true }
                }
                _ => legacy_only,
            },
        }),
        Ok(Err(Stop::Upstream(fault @ (UpstreamFault::Unreachable | UpstreamFault::CredentialRefused)))) => {
            Err(fault.into())
        }
        Ok(Err(Stop::Upstream(_))) | Err(_) => Ok(legacy_only),
        Ok(Err(other)) => Err(other),
    }
}

fn lists_legacy(result: &Object) -> bool {
    let versions = result.get("supportedVersions").and_then(Value::as_array).unwrap_or_default();
    versions.iter().filter_map(Value::as_str).filter_map(Era::parse).any(|era| !era.is_modern())
}
