//! The search index, locked by another program or overwritten: no call waits for it, and it is made again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::client::Told;
use super::site::PATIENCE;
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};

const LOCK: &str = "import sqlite3, sys
index = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
index.execute('BEGIN EXCLUSIVE')
print('locked', flush=True)
sys.stdin.read()
";

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "index", &Setting::default())?;
    let (gateway, before) = stage.start_warm()?;
    let index = stage.site.data().join("index.db");
    until_searchable(&stage, "a fresh index")?;
    let lock = Lock::take(&index)?;
    calls_go_on(&mut stage)?;
    drop(lock);
    until_searchable(&stage, "an index that was locked")?;
    std::fs::write(&index, b"this is no database, but it is long enough to be read as one".repeat(200))?;
    calls_go_on(&mut stage)?;
    ensure!(gateway.stop()?.success(), "the gateway failed: {}", stage.site.errors());
    std::fs::write(&index, b"neither is this".repeat(500))?;
    let gateway = stage.site.start()?;
    calls_go_on(&mut stage)?;
    until_searchable(&stage, "an index that was overwritten")?;
    stage.end(
        gateway,
        before,
        "index locked, overwritten while open, overwritten before a start".to_owned(),
        &[],
    )
}

fn calls_go_on(stage: &mut Stage) -> Result<()> {
    let load = stage.load(8, READ_AND_WRITE);
    std::thread::sleep(Duration::from_millis(500));
    let tally = load.stop()?;
    ensure!(tally.count(&Told::Result) == tally.all(), "calls suffered: {:?}", tally.ends);
    stage.tally.merge(tally);
    Ok(())
}

/// Waits until the last call can be found.
fn until_searchable(stage: &Stage, what: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        match stage.site.run(&["log", "query", "--tool", "ok_write"]) {
            Ok(found) if found.contains("ok_write") => return Ok(()),
            found => ensure!(begun.elapsed() < PATIENCE, "{what} cannot be searched: {found:?}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Another program that has the index for itself.
struct Lock(Child);

impl Lock {
    fn take(index: &Path) -> Result<Lock> {
        let mut python = Command::new("python3");
        python.args(["-c", LOCK]).arg(index).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = python.spawn().context("python3 is needed: `apt-get install python3`")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        ensure!(line.trim() == "locked", "the index could not be locked");
        Ok(Lock(process))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(mut input) = self.0.stdin.take() {
            let _ = input.flush();
        }
        let _ = self.0.wait();
    }
}
