//! A disk that is full, read-only, or whose syncs fail or take long; without a restart it comes back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::client::Told;
use super::failing::{Faults, INPUT_OUTPUT, NO_SPACE, READ_ONLY};
use super::site::{Gateway, PATIENCE};
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};
use crate::process;

const CLIENTS: usize = 8;
const WHILE: Duration = Duration::from_millis(700);
/// After this long every call that began before the fault has left.
const SETTLED: Duration = Duration::from_millis(300);
const TMPFS_BYTES: u64 = 6 << 20;

/// Each fault of the disk in turn, under load.
pub(crate) fn failing(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "failing disk", &Setting { failing: true, ..Setting::default() })?;
    let (gateway, before) = stage.start_warm()?;
    let faults = [
        Faults { write_errno: NO_SPACE, ..Faults::default() },
        Faults { write_errno: READ_ONLY, ..Faults::default() },
        Faults { sync_errno: INPUT_OUTPUT, ..Faults::default() },
        Faults { write_errno: INPUT_OUTPUT, sync_errno: INPUT_OUTPUT, ..Faults::default() },
    ];
    let rounds = bench.pick(1, 10);
    for faults in faults.iter().cycle().take(faults.len() * rounds) {
        nothing_leaves(&mut stage, &gateway, *faults)?;
    }
    slow_sync(&mut stage, bench.pick(200, 2_000))?;
    let done = format!(
        "no space, read-only, failing syncs, everything failing; {rounds} times each, under load; then slow syncs"
    );
    stage.end(gateway, before, done, &[])
}

/// INVARIANT: no record, no call. While the disk fails the server sees nothing; afterwards all is as before.
fn nothing_leaves(stage: &mut Stage, gateway: &Gateway, faults: Faults) -> Result<()> {
    // Syncs alone fail only those who wait for them.
    let tools: &'static [&'static str] = if faults.write_errno == 0 { &["ok_write"] } else { READ_AND_WRITE };
    let load = stage.load(CLIENTS, tools);
    std::thread::sleep(SETTLED);
    stage.site.control()?.set(faults)?;
    std::thread::sleep(SETTLED);
    let seen = stage.upstream.received().len();
    std::thread::sleep(WHILE);
    let more = stage.upstream.received().len() - seen;
    let ready = gateway.get("/readyz")?;
    stage.site.control()?.set(Faults::default())?;
    stage.tally.merge(load.stop()?);
    ensure!(more == 0, "{more} calls left while nothing could be recorded");
    ensure!(ready == 503, "`/readyz` says {ready} while nothing can be recorded");
    stage.until_it_works("ok_write")
}

fn slow_sync(stage: &mut Stage, delay_ms: i32) -> Result<()> {
    stage.site.control()?.set(Faults { sync_delay_ms: delay_ms, ..Faults::default() })?;
    for _ in 0..3 {
        let (told, text) = stage.call("ok_write")?;
        ensure!(told == Told::Result, "a slow disk is not a broken one: {text}");
    }
    stage.site.control()?.set(Faults::default())
}

/// A small file system that is really full, and then really read-only.
pub(crate) fn full(bench: &Bench) -> Result<Row> {
    let mount = Mount::new(bench.place.join("small-disk"))?;
    let directory = mount.path.join("gateway");
    let setting = Setting { directory: Some(&directory), ..Setting::default() };
    let mut stage = Stage::new(bench, "full disk", &setting)?;
    let (gateway, before) = stage.start_warm()?;
    let ballast = mount.path.join("ballast");
    fill(&ballast)?;
    let load = stage.load(CLIENTS, READ_AND_WRITE);
    until(|| Ok(gateway.get("/readyz")? == 503), "a full disk is noticed")?;
    std::thread::sleep(SETTLED);
    let seen = stage.upstream.received().len();
    std::thread::sleep(WHILE);
    // What fits into the last block is room, too: the log may take a record now and then.
    let more = stage.upstream.received().len() - seen;
    stage.tally.merge(load.stop()?);
    std::fs::remove_file(&ballast)?;
    stage.until_it_works("ok_write")?;
    ensure!(gateway.stop()?.success(), "the gateway failed: {}", stage.site.errors());
    mount.remount("ro")?;
    let refused = stage.site.start().err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(refused.contains("ended at its start"), "started on a read-only disk: {refused}");
    mount.remount("rw")?;
    let gateway = stage.site.start()?;
    stage.until_it_works("ok_write")?;
    let done = format!(
        "a file system of {} MiB filled under load ({more} calls found room), freed, then read-only at a start",
        TMPFS_BYTES >> 20
    );
    stage.end(gateway, before, done, &[])
}

fn until(mut is_so: impl FnMut() -> Result<bool>, what: &str) -> Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        ensure!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Writes until nothing fits any more.
fn fill(path: &Path) -> Result<()> {
    let mut block = vec![0_u8; 64 << 10];
    let mut file = std::fs::File::create(path)?;
    while !block.is_empty() {
        if std::io::Write::write_all(&mut file, &block).is_err() {
            block.truncate(block.len() / 2);
        }
    }
    Ok(())
}

/// A file system in memory; gone when dropped.
struct Mount {
    path: PathBuf,
}

impl Mount {
    fn new(path: PathBuf) -> Result<Mount> {
        std::fs::create_dir_all(&path)?;
        let mut mount = process::command("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={TMPFS_BYTES}"), "none"]).arg(&path);
        process::capture(&mut mount)?;
        Ok(Mount { path })
    }

    fn remount(&self, how: &str) -> Result<()> {
        let mut mount = process::command("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(&self.path);
        process::capture(&mut mount).map(drop)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let mut unmount = process::command("umount");
        let _ = process::capture(unmount.args(["--lazy"]).arg(&self.path));
    }
}
