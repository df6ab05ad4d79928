//! One fault's stage: the server, the gateway before it, the keys of its calls, and what it held at the start.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::audit::{self, Compared};
use super::client::{Client, Keys, Load, Tally, Told};
use super::site::{CALLS, Gateway, Held, PATIENCE, Plan, Site};
use super::upstream::Upstream;

/// Descriptors that may be open in addition: a connection to the server more or less is kept for later.
const DESCRIPTORS_MORE_MAX: u64 = 24;
/// Memory that the allocator may keep.
const RESIDENT_MORE_KB_MAX: u64 = 48 << 10;
const WARM_UP: Duration = Duration::from_millis(400);
const PAUSE: Duration = Duration::from_millis(20);

/// Everything allowed but for two limits on one tool.
pub(crate) const OPEN: &str = r#"{"version": "1", "default": "allow"}"#;
/// What a mixed load calls.
pub(crate) const READ_AND_WRITE: &[&str] = &["ok_read", "ok_write"];

/// What all scenarios share.
pub(crate) struct Bench {
    pub(crate) product: PathBuf,
    pub(crate) place: PathBuf,
    pub(crate) library: PathBuf,
    pub(crate) short: bool,
    pub(crate) seed: u64,
}

impl Bench {
    /// One figure for the short form, one for the long.
    pub(crate) fn pick<T>(&self, short: T, long: T) -> T {
        if self.short { short } else { long }
    }
}

/// How one scenario went, for the table.
pub(crate) struct Row {
    /// What was done, with its figures.
    pub(crate) done: String,
    pub(crate) tally: Tally,
    pub(crate) compared: Compared,
    pub(crate) before: Held,
    pub(crate) after: Held,
}

/// What a scenario changes about the gateway.
#[derive(Default)]
pub(crate) struct Setting<'a> {
    pub(crate) policy: Option<&'a str>,
    pub(crate) faulty_servers: bool,
    pub(crate) settings: &'a [(&'static str, u64)],
    pub(crate) expires: Option<String>,
    pub(crate) failing: bool,
    /// Where it lives, if not below `target/`.
    pub(crate) directory: Option<&'a Path>,
}

/// A gateway at work.
pub(crate) struct Stage {
    pub(crate) upstream: Upstream,
    pub(crate) site: Site,
    pub(crate) keys: Keys,
    pub(crate) tally: Tally,
}

impl Stage {
    pub(crate) fn new(bench: &Bench, name: &str, setting: &Setting<'_>) -> Result<Stage> {
        let upstream = Upstream::start()?;
        let below = bench.place.join(name.replace(' ', "-"));
        let site = Site::new(Plan {
            product: &bench.product,
            directory: setting.directory.map_or(below, Path::to_owned),
            upstream: upstream.port(),
            policy: setting.policy.unwrap_or(OPEN),
            faulty_servers: setting.faulty_servers,
            settings: setting.settings,
            expires: setting.expires.clone(),
            failing: setting.failing.then_some(&bench.library),
        })?;
        Ok(Stage { upstream, site, keys: Keys::default(), tally: Tally::default() })
    }

    pub(crate) fn load(&self, clients: usize, tools: &'static [&'static str]) -> Load {
        Load::start(self.site.port, &self.keys, clients, tools)
    }

    /// One call of a tool; noted.
    pub(crate) fn call(&mut self, tool: &str) -> Result<(Told, String)> {
        let key = self.keys.next();
        let told = Client::new(self.site.port).call(CALLS, tool, &json!({ key.as_str(): 1 }))?;
        self.tally.add(key, told.0.clone());
        Ok(told)
    }

    /// The gateway, started and warmed up, and what it holds then.
    pub(crate) fn start_warm(&mut self) -> Result<(Gateway, Held)> {
        let gateway = self.site.start()?;
        let load = self.load(8, READ_AND_WRITE);
        std::thread::sleep(WARM_UP);
        self.tally.merge(load.stop()?);
        ensure!(self.tally.count(&Told::Result) > 0, "no call got through: {}", self.site.errors());
        let held = gateway.held()?;
        Ok((gateway, held))
    }

    /// Calls until one gets through.
    pub(crate) fn until_it_works(&mut self, tool: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (told, text) = self.call(tool)?;
            if told == Told::Result {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "calls do not work again: {text}; {}", self.site.errors());
            std::thread::sleep(PAUSE);
        }
    }

    /// Stops the gateway in order, and compares.
    pub(crate) fn end(
        self,
        gateway: Gateway,
        before: Held,
        done: String,
        limits: &[audit::Held<'_>],
    ) -> Result<Row> {
        let after = come_back(&gateway, before)?;
        let status = gateway.stop()?;
        ensure!(status.success(), "the gateway ended with {status}: {}", self.site.errors());
        let compared = audit::audit(&self.site, &self.upstream, &self.tally, limits)?;
        Ok(Row { done, tally: self.tally, compared, before, after })
    }
}

/// Waits until memory and descriptors are back.
pub(crate) fn come_back(gateway: &Gateway, before: Held) -> Result<Held> {
    let begun = Instant::now();
    loop {
        let held = gateway.held()?;
        let descriptors = held.descriptors <= before.descriptors + DESCRIPTORS_MORE_MAX;
        let memory = held.resident_kb <= before.resident_kb + RESIDENT_MORE_KB_MAX;
        if descriptors && memory {
            return Ok(held);
        }
        ensure!(
            begun.elapsed() < PATIENCE / 2,
            "memory or descriptors are not back: {before:?}, now {held:?}"
        );
        std::thread::sleep(PAUSE);
    }
}
