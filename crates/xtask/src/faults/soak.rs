//! The same load for a long time: resident memory and descriptors stay flat.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::audit;
use super::client::Told;
use super::site::Held;
use super::stage::{Bench, Row, Setting, Stage};

const TOOLS: &[&str] = &["ok_read", "ok_write", "limited", "invalid_json", "reset_inside"];
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const CLIENTS: usize = 8;
/// The last part may hold so much more than the first: what one sample differs from the next.
const RESIDENT_MORE_PERCENT: u64 = 10;
const DESCRIPTORS_MORE: u64 = 16;
const ERRORS_PERCENT_MAX: u64 = 42;
const LIMIT: audit::Held<'_> = audit::Held { counter: "often", window_s: 60, max: 600 };
const POLICY: &str = r#"{"version": "1", "default": "allow", "tools": {"limited": {"limits": [
    {"counter": "often", "window": "minute", "max": 600}]}}}"#;

pub(crate) fn run(bench: &Bench, minutes: u64) -> Result<Row> {
    let mut stage = Stage::new(bench, "soak", &Setting { policy: Some(POLICY), ..Setting::default() })?;
    let (gateway, before) = stage.start_warm()?;
    let load = stage.load(CLIENTS, TOOLS);
    let (begun, mut samples) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_secs(minutes * 60) {
        std::thread::sleep(SAMPLE_EVERY);
        samples.push(gateway.held()?);
    }
    let tally = load.stop()?;
    ensure!(tally.count(&Told::Closed) == 0, "connections were closed: {:?}", tally.ends);
    // Two tools of five fail; the others must not suffer from it.
    ensure!(
        tally.count(&Told::Error) * 100 <= tally.all() * ERRORS_PERCENT_MAX,
        "too many errors: {:?}",
        tally.ends
    );
    stage.tally.merge(tally);
    // The first third fills what is filled once: pools, caches, the windows of the limits.
    let third = samples.len() / 3;
    let middle = highest(samples.iter().skip(third).take(third));
    let last = highest(samples.iter().skip(2 * third));
    ensure!(
        last.resident_kb <= middle.resident_kb * (100 + RESIDENT_MORE_PERCENT) / 100,
        "memory grows: {middle:?}, then {last:?}"
    );
    ensure!(
        last.descriptors <= middle.descriptors + DESCRIPTORS_MORE,
        "descriptors grow: {middle:?}, then {last:?}"
    );
    let done = format!(
        "{minutes} minutes; second third at most {} kB and {} descriptors, last third {} kB and {}",
        middle.resident_kb, middle.descriptors, last.resident_kb, last.descriptors
    );
    stage.end(gateway, before, done, &[LIMIT])
}

fn highest<'a>(samples: impl Iterator<Item = &'a Held>) -> Held {
    samples.fold(Held::default(), |highest, sample| Held {
        resident_kb: highest.resident_kb.max(sample.resident_kb),
        descriptors: highest.descriptors.max(sample.descriptors),
        ..highest
    })
}
