//! How long a start takes: with an empty data directory, and after `kill -9` with a million records.
//!
//! A start is over when `/readyz` says so. Each start is killed, so that the next one finds the same.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

const RECORDS: u64 = 1_000_000;
/// What a busy gateway writes between two snapshots of its counters, which are five seconds apart.
const BEHIND_SNAPSHOT: u64 = 50_000;
const STARTS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(120);
const EMPTY_BUDGET: Duration = Duration::from_millis(50);
const FULL_BUDGET: Duration = Duration::from_secs(2);

/// Measures and prints; fails where a budget is missed.
pub(crate) fn run() -> Result<()> {
    let build = ["build", "--release", "--workspace", "--bins", "--example", "fill_log"];
    process::run(&mut process::cargo(&build))?;
    let place = workspace::target()?.join("bench-start");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::create_dir_all(&place)?;
    let empty = starts("empty data directory", &place, true)?;
    fill(&place, BEHIND_SNAPSHOT)?;
    let kept =
        starts(&format!("{RECORDS} records, the last {BEHIND_SNAPSHOT} not in the snapshot"), &place, false)?;
    std::fs::remove_file(place.join("data/counters.snapshot"))?;
    let whole = starts(&format!("{RECORDS} records, no snapshot"), &place, false)?;
    std::fs::remove_dir_all(&place)?;
    println!("(a start without a snapshot has no budget: {:.0} ms)", whole.as_secs_f64() * 1e3);
    ensure!(empty <= EMPTY_BUDGET, "a start with nothing takes more than {EMPTY_BUDGET:?}");
    ensure!(kept <= FULL_BUDGET, "a start with a million records takes more than {FULL_BUDGET:?}");
    Ok(())
}

fn fill(place: &Path, behind_snapshot: u64) -> Result<()> {
    let begun = Instant::now();
    let mut command = process::command(workspace::built("release/examples/fill_log")?);
    command.arg(place.join("data")).args([RECORDS.to_string(), behind_snapshot.to_string()]);
    let status = command.stderr(Stdio::null()).status()?;
    ensure!(status.code().is_none(), "the log was not filled: {status}");
    println!("{RECORDS} records written in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The median of some starts.
fn starts(what: &str, place: &Path, fresh: bool) -> Result<Duration> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    std::fs::write(
        place.join("portcullis.toml"),
        format!("listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n"),
    )?;
    let product = workspace::built("release/portcullis")?;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        if fresh && place.join("data").exists() {
            std::fs::remove_dir_all(place.join("data"))?;
        }
        let snapshot = place.join("data/counters.snapshot");
        let had_snapshot = snapshot.exists();
        times.push(start(&product, place, port)?);
        if !had_snapshot && snapshot.exists() {
            std::fs::remove_file(&snapshot)?;
        }
    }
    if fresh {
        std::fs::remove_dir_all(place.join("data"))?;
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().context("nothing was started")?;
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!(
        "{what}: median {:.0} ms, {:.0} to {:.0} ms",
        milliseconds(Some(&median)),
        milliseconds(times.first()),
        milliseconds(times.last())
    );
    Ok(median)
}

fn start(product: &PathBuf, place: &Path, port: u16) -> Result<Duration> {
    let mut command = Command::new(product);
    command.args(["serve", "--config", "portcullis.toml"]).current_dir(place);
    let begun = Instant::now();
    let mut gateway = Killed(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?);
    while !is_ready(port) {
        ensure!(gateway.0.try_wait()?.is_none(), "the gateway ended at its start");
        ensure!(begun.elapsed() < PATIENCE, "the gateway does not start");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(begun.elapsed())
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_ready(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
