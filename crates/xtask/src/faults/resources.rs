//! Too few descriptors, too little memory: calls are shed, none is let through by mistake, and it comes back.

use std::time::Duration;

use anyhow::Result;
use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::json;

use super::client::{Client, Tally, connect, locked};
use super::site::{CALLS, Gateway};
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};

const DESCRIPTORS_MORE: u64 = 40;
const CONNECTIONS: usize = 300;
const MEMORY_MORE: u64 = 192 << 20;
const BODY_BYTES: usize = 3 << 20;
const LARGE_CLIENTS: usize = 64;

/// A gateway that may open few files more meets many connections.
pub(crate) fn descriptors(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "descriptors", &Setting::default())?;
    let (gateway, before) = stage.start_warm()?;
    let full = limit(&gateway, Resource::Nofile, before.descriptors + DESCRIPTORS_MORE)?;
    let rounds = bench.pick(2, 20);
    for _ in 0..rounds {
        let idle: Vec<_> = (0..CONNECTIONS).filter_map(|_| connect(stage.site.port).ok()).collect();
        let load = stage.load(8, READ_AND_WRITE);
        std::thread::sleep(Duration::from_millis(500));
        drop(idle);
        stage.tally.merge(load.stop()?);
        stage.until_it_works("ok_write")?;
    }
    prlimit(Some(gateway.id()?), Resource::Nofile, full)?;
    let done =
        format!("{rounds} times {CONNECTIONS} connections with room for {DESCRIPTORS_MORE} descriptors");
    stage.end(gateway, before, done, &[])
}

/// A gateway that may take little more memory meets large bodies, many at once.
pub(crate) fn memory(bench: &Bench) -> Result<Row> {
    let settings = [("bodies_bytes_max", 16 << 20)];
    let mut stage = Stage::new(bench, "memory", &Setting { settings: &settings, ..Setting::default() })?;
    let (gateway, before) = stage.start_warm()?;
    let full = limit(&gateway, Resource::As, (before.virtual_kb << 10) + MEMORY_MORE)?;
    let rounds = bench.pick(2, 20);
    for _ in 0..rounds {
        let large = large_calls(&stage)?;
        stage.tally.merge(large);
    }
    stage.until_it_works("ok_write")?;
    prlimit(Some(gateway.id()?), Resource::As, full)?;
    let done = format!(
        "{rounds} times {LARGE_CLIENTS} bodies of {} MiB at once with room for {} MiB",
        BODY_BYTES >> 20,
        MEMORY_MORE >> 20
    );
    stage.end(gateway, before, done, &[])
}

/// Sets a limit of the running gateway; what it was.
fn limit(gateway: &Gateway, resource: Resource, current: u64) -> Result<Rlimit> {
    let maximum = rustix::process::getrlimit(resource).maximum;
    Ok(prlimit(Some(gateway.id()?), resource, Rlimit { current: Some(current), maximum })?)
}

fn large_calls(stage: &Stage) -> Result<Tally> {
    let text = "x".repeat(BODY_BYTES);
    let (tally, faults) = (std::sync::Mutex::new(Tally::default()), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LARGE_CLIENTS {
            scope.spawn(|| {
                let key = stage.keys.next();
                match Client::new(stage.site.port).call(CALLS, "ok_write", &json!({ key.as_str(): text })) {
                    Ok((told, _)) => locked(&tally).add(key, told),
                    Err(error) => locked(&faults).push(error),
                }
            });
        }
    });
    match locked(&faults).pop() {
        Some(error) => Err(error),
        None => Ok(locked(&tally).clone()),
    }
}
