//! Servers that refuse, hang, break off, drip, lie about the form of their answer, or never end it.

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::client::{Client, Tally, Told, locked};
use super::misbehaviour;
use super::site::CALLS;
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};

/// A gigabyte comes in, and none of it may stay: what a few answers at their largest take.
const PEAK_MORE_KB_MAX: u64 = 160 << 10;

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let setting = Setting { faulty_servers: true, ..Setting::default() };
    let mut stage = Stage::new(bench, "upstream faults", &setting)?;
    let (gateway, before) = stage.start_warm()?;
    let healthy = stage.load(4, READ_AND_WRITE);
    let times = bench.pick(1, 4);
    let faulty = call_all(&stage, times)?;
    let healthy = healthy.stop()?;
    ensure!(
        healthy.count(&Told::Result) == healthy.all(),
        "healthy calls suffered: {:?}; {}",
        healthy.ends,
        stage.site.errors()
    );
    let peak_kb = gateway.held()?.peak_kb;
    ensure!(peak_kb < before.peak_kb + PEAK_MORE_KB_MAX, "memory rose to {peak_kb} kB from {before:?}");
    let done = format!(
        "{} ways to misbehave, in calls and always, {times} times each at once; {} healthy calls meanwhile; peak {} MB",
        misbehaviour::ALL.len() + 1,
        healthy.all(),
        peak_kb >> 10
    );
    stage.tally.merge(healthy);
    stage.tally.merge(faulty);
    refuse_for_a_while(&mut stage)?;
    stage.end(gateway, before, done, &[])
}

/// Each way, as a call of a good server and at a server that is always so.
fn call_all(stage: &Stage, times: usize) -> Result<Tally> {
    let in_calls = misbehaviour::ALL.iter().map(|(name, _)| (CALLS.to_owned(), *name));
    let always = misbehaviour::ALL.iter().map(|(name, _)| (format!("always_{name}"), "ok_read"));
    let refused = std::iter::once(("refused".to_owned(), "ok_read"));
    let asked: Vec<_> = in_calls.chain(always).chain(refused).collect();
    let (tally, faults) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let call = |server: &str, tool: &str| {
        let key = stage.keys.next();
        match Client::new(stage.site.port).call(server, tool, &json!({ key.as_str(): 1 })) {
            Ok((Told::Result, text)) => locked(&faults).push(format!("{server}, {tool}: {text}")),
            Ok((told, _)) => locked(&tally).add(key, told),
            Err(error) => locked(&faults).push(error.to_string()),
        }
    };
    std::thread::scope(|scope| {
        for (server, tool) in asked.iter().cycle().take(asked.len() * times) {
            let call = &call;
            scope.spawn(move || call(server, tool));
        }
    });
    let faults = locked(&faults).join("; ");
    ensure!(faults.is_empty(), "a server's fault was not told: {faults}");
    Ok(locked(&tally).clone())
}

fn refuse_for_a_while(stage: &mut Stage) -> Result<()> {
    stage.upstream.refuse(true);
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..20 {
        let (told, text) = stage.call("ok_write")?;
        ensure!(told == Told::Error, "a server that refuses gave {told:?}: {text}");
    }
    stage.upstream.refuse(false);
    stage.until_it_works("ok_write")
}
