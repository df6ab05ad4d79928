//! Which eras a server speaks: asked once for all who wait, and remembered as long as the answer is worth.
//!
//! A clear answer stays until the server fails us or a client of the other era comes; a guess, made because
//! the server failed or stayed silent, for some seconds. A failure says nothing new: after it, what the server
//! said clearly a short while ago is the better guess.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use portcullis_json::{Object, Value};
use portcullis_mcp::{Era, Outcome, SUPPORTED_REVISIONS, code};

use crate::gateway::Gateway;
use crate::once::{Once, Patience};
use crate::own;
use crate::server::Server;
use crate::settings::milliseconds;
use crate::snapshot::{EraSetting, Transport};
use crate::stop::{Stop, UpstreamFault};

/// What a server said clearly is the best guess for so long.
const CLEAR_COUNTS_FOR: Duration = Duration::from_secs(600);

/// The eras of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Eras {
    pub(crate) legacy: bool,
    pub(crate) modern: bool,
}

impl Eras {
    fn has(self, revision: &str) -> bool {
        match Era::parse(revision) {
            Some(Era::Modern) => self.modern,
            Some(Era::Legacy(_)) => self.legacy,
            None => false,
        }
    }
}

const LEGACY_ONLY: Eras = Eras { legacy: true, modern: false };

/// What was found out.
#[derive(Default)]
pub(crate) struct EraMemory {
    found: ArcSwapOption<Found>,
    /// The last that was no guess, also when it was forgotten.
    clear: ArcSwapOption<Found>,
    asking: Once<Eras>,
}

struct Found {
    eras: Eras,
    is_guess: bool,
    /// Those of our revisions that the server says it speaks, if it says so.
    listed: Option<Vec<&'static str>>,
    at: Instant,
}

impl EraMemory {
    /// A guess counts no longer than `doubt`.
    fn get(&self, doubt: Duration) -> Option<Eras> {
        let found = self.found.load();
        let found = found.as_ref()?;
        (!found.is_guess || found.at.elapsed() < doubt).then_some(found.eras)
    }

    fn set(&self, eras: Eras, is_guess: bool, listed: Option<Vec<&'static str>>) {
        let found = Arc::new(Found { eras, is_guess, listed, at: Instant::now() });
        if !is_guess {
            self.clear.store(Some(found.clone()));
        }
        self.found.store(Some(found));
    }

    /// What the server said when it last said something clear, unless that is long ago.
    fn last_clear(&self) -> Option<(Eras, Option<Vec<&'static str>>)> {
        let clear = self.clear.load_full().filter(|found| found.at.elapsed() < CLEAR_COUNTS_FOR)?;
        Some((clear.eras, clear.listed.clone()))
    }

    /// The revisions in which the server could be spoken to, as far as is known.
    pub(crate) fn revisions(&self) -> Vec<&'static str> {
        let found = self.found.load();
        match found.as_deref() {
            Some(Found { listed: Some(listed), .. }) => listed.clone(),
            Some(found) => SUPPORTED_REVISIONS.into_iter().filter(|name| found.eras.has(name)).collect(),
            None => SUPPORTED_REVISIONS.to_vec(),
        }
    }

    /// What we believed did not hold: ask again next time.
    pub(crate) fn forget(&self) {
        self.found.store(None);
    }

    /// A client of the other era came: the server may have changed since we asked.
    fn forget_if_older(&self, doubt: Duration) {
        let is_old = |found: &Arc<Found>| found.at.elapsed() >= doubt;
        if self.found.load().as_ref().is_some_and(is_old) {
            self.forget();
        }
    }
}

/// The eras that the server speaks and that its configuration lets us use.
pub(crate) async fn eras(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Eras, Stop> {
    // That transport is older than the modern era.
    if matches!(server.config.transport, Transport::Sse(_)) {
        return Ok(LEGACY_ONLY);
    }
    match server.config.era {
        EraSetting::Legacy => return Ok(LEGACY_ONLY),
        EraSetting::Modern => return Ok(Eras { legacy: false, modern: true }),
        EraSetting::Auto => {}
    }
    if let Some(eras) = server.eras.get(milliseconds(gateway.settings.era_doubt_ms)) {
        return Ok(eras);
    }
    let question = || ask(gateway.clone(), server.clone());
    server.eras.asking.ask(Patience::of(&gateway.settings), question).await
}

/// Whether the server speaks the modern era; a no that is old is not taken for granted.
pub(crate) async fn speaks_modern(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<bool, Stop> {
    if eras(gateway, server).await?.modern {
        return Ok(true);
    }
    server.eras.forget_if_older(milliseconds(gateway.settings.era_doubt_ms));
    eras(gateway, server).await.map(|eras| eras.modern)
}

async fn ask(gateway: Arc<Gateway>, server: Arc<Server>) -> Result<Eras, Stop> {
    let patience = server.probe_timeout(&gateway.settings);
    let asked = own::request(&gateway, &server, own::Place::modern(), "server/discover", Object::new());
    let answer = tokio::time::timeout(patience, asked).await;
    let answer = answer.unwrap_or(Err(UpstreamFault::TimedOut.into()));
    let listed = listed(&answer);
    let (eras, is_guess) = read(answer)?;
    let (eras, listed) = match server.eras.last_clear() {
        Some(clear) if is_guess => clear,
        _ => (eras, listed),
    };
    let Eras { legacy, modern } = eras;
    tracing::info!(server = server.name(), legacy, modern, is_guess, "asked for the era");
    server.eras.set(eras, is_guess, listed);
    Ok(eras)
}

/// Whether the gateway lists in the modern era. A program that is in a session already is not started
/// again for being asked.
pub(crate) async fn lists_modern(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<bool, Stop> {
    if server.eras.get(milliseconds(gateway.settings.era_doubt_ms)).is_none()
        && server.pool.as_ref().is_some_and(|pool| pool.speaks_legacy())
    {
        return Ok(false);
    }
    eras(gateway, server).await.map(|eras| eras.modern)
}

/// A result, or an error that only the modern era has, is modern; any other answer is legacy. Silence and
/// failure are taken for legacy too, but only as a guess.
fn read(answer: Result<own::Answered, Stop>) -> Result<(Eras, bool), Stop> {
    let outcome = match answer {
        Ok(answered) => answered.outcome,
        Err(Stop::Upstream(fault)) => {
            return match fault {
                UpstreamFault::CredentialRefused => Err(fault.into()),
                fault if fault.is_before_sending() => Err(fault.into()),
                // A server that does not know the path, the method or the headers.
                UpstreamFault::Status(400 | 404 | 405 | 406 | 415) => Ok((LEGACY_ONLY, false)),
                _ => Ok((LEGACY_ONLY, true)),
            };
        }
        Err(other) => return Err(other),
    };
    Ok(match outcome {
        Outcome::Result(result) => (Eras { legacy: lists_legacy(&result), modern: true }, false),
        Outcome::Error(error) => match error.code {
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_REVISION => {
                (Eras { legacy: false, modern: true }, false)
            }
            // Not that it does not know the question: that it could not answer it.
            code::INTERNAL => (LEGACY_ONLY, true),
            _ => (LEGACY_ONLY, false),
        },
    })
}

fn listed(answer: &Result<own::Answered, Stop>) -> Option<Vec<&'static str>> {
    let Ok(own::Answered { outcome: Outcome::Result(result), .. }) = answer else {
        return None;
    };
    let versions = result.get("supportedVersions").and_then(Value::as_array)?;
    let is_listed = |name: &&str| versions.iter().any(|version| version.as_str() == Some(*name));
    Some(SUPPORTED_REVISIONS.into_iter().filter(is_listed).collect())
}

fn lists_legacy(result: &Object) -> bool {
    let versions = result.get("supportedVersions").and_then(Value::as_array).unwrap_or_default();
    versions.iter().filter_map(Value::as_str).filter_map(Era::parse).any(|era| !era.is_modern())
}
