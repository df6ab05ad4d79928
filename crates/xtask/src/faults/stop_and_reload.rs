//! An orderly stop under load, and policies that change all the time under load.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::audit;
use super::client::Told;
use super::site::PATIENCE;
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};

const CLIENTS: usize = 12;
const TAKEN_IN: &str = "the configuration was taken in";

/// SIGTERM under load, again and again.
pub(crate) fn stops(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "stops", &Setting::default())?;
    let (mut gateway, before) = stage.start_warm()?;
    let mut random = fastrand::Rng::with_seed(bench.seed);
    let stops = bench.pick(3, 20);
    for _ in 0..stops {
        let load = stage.load(CLIENTS, READ_AND_WRITE);
        std::thread::sleep(Duration::from_millis(random.u64(50..300)));
        let status = gateway.stop()?;
        stage.tally.merge(load.stop()?);
        ensure!(status.success(), "the gateway ended with {status}: {}", stage.site.errors());
        let verified = stage.site.run(&["log", "verify"])?;
        ensure!(!verified.contains("wait for the next checkpoint"), "the end is not signed: {verified}");
        audit::audit(&stage.site, &stage.upstream, &stage.tally, &[])?;
        gateway = stage.site.start()?;
    }
    stage.end(gateway, before, format!("{stops} stops by SIGTERM under load"), &[])
}

/// Another policy is taken in as fast as it goes; each decision names one version, and a version one text.
pub(crate) fn reloads(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "reloads", &Setting::default())?;
    let (gateway, before) = stage.start_warm()?;
    let load = stage.load(4, READ_AND_WRITE);
    let times = bench.pick(60, 1_000);
    for time in 1..=times {
        let text = format!(r#"{{"version": "1", "default": "allow", "description": "{time}"}}"#);
        std::fs::write(stage.site.directory.join("policy.json"), text)?;
        gateway.signal(Signal::HUP)?;
        let begun = Instant::now();
        while stage.site.said(TAKEN_IN) < time {
            ensure!(begun.elapsed() < PATIENCE, "reload {time} was not taken in: {}", stage.site.errors());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let tally = load.stop()?;
    ensure!(tally.count(&Told::Result) == tally.all(), "calls suffered from reloads: {:?}", tally.ends);
    stage.tally.merge(tally);
    let versions = versions(&stage.site.records()?)?;
    ensure!(versions > times / 4, "only {versions} versions were seen by any call");
    let done = format!("{times} policies taken in under load, {versions} of them named by decisions");
    stage.end(gateway, before, done, &[])
}

/// How many versions the decisions name; each has one hash.
fn versions(records: &[Value]) -> Result<usize> {
    let mut hashes: BTreeMap<u64, &str> = BTreeMap::new();
    for record in records {
        let called = record.get("method").and_then(Value::as_str) == Some("tools/call")
            && record.get("kind").and_then(Value::as_str) == Some("decision");
        if !called {
            continue;
        }
        let version = record.get("policy_version").and_then(Value::as_u64);
        let hash = record.get("policy_hash").and_then(Value::as_str);
        let (Some(version), Some(hash)) = (version, hash) else {
            anyhow::bail!("a decision without a policy: {record}");
        };
        let known = *hashes.entry(version).or_insert(hash);
        ensure!(known == hash, "version {version} stands for {known} and for {hash}");
    }
    Ok(hashes.len())
}
