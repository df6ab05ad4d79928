//! What `portcullis wrap` adds to a call of a stdio server, and to its start.
//!
//! The bare server and the same one behind `wrap` are called in turns, in one run, so that both meet the same
//! machine; the difference of the medians is the figure.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

const CALLS: usize = 20_000;
const WARM_UP: usize = 500;
const STARTS: usize = 40;
const POLICY: &str = r#"{"version":"1","default":"deny","tools":{"read_note":{}}}"#;

/// Measures and prints.
pub(crate) fn run() -> Result<()> {
    let packages = ["--package", "portcullis", "--package", "portcullis-testkit"];
    process::run(process::cargo(&["build", "--release"]).args(packages).args(["--bins"]))?;
    let bench = Bench::new()?;
    let (bare, wrapped) = bench.calls()?;
    report("a call of a Read tool", &bare, &wrapped);
    let (bare, wrapped) = bench.starts()?;
    report("start until `initialize` is answered", &bare, &wrapped);
    Ok(())
}

fn report(what: &str, bare: &[Duration], wrapped: &[Duration]) {
    println!("{what}, {} times each, in turns:", bare.len());
    for (name, percent) in [("p50", 50), ("p99", 99)] {
        let (bare, wrapped) = (microseconds(bare, percent), microseconds(wrapped, percent));
        println!("  {name}: bare {bare:.1} µs, wrapped {wrapped:.1} µs, added {:.1} µs", wrapped - bare);
    }
}

/// The time below which so many of a hundred lie.
fn microseconds(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

struct Bench {
    server: PathBuf,
    portcullis: PathBuf,
    directory: PathBuf,
}

impl Bench {
    fn new() -> Result<Bench> {
        let directory = workspace::built("bench-wrap")?;
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("policy.json"), POLICY)?;
        Ok(Bench {
            server: workspace::built("release/stdio-server")?,
            portcullis: workspace::built("release/portcullis")?,
            directory,
        })
    }

    fn bare(&self) -> Command {
        Command::new(&self.server)
    }

    fn wrapped(&self) -> Command {
        let mut command = Command::new(&self.portcullis);
        command.args(["wrap", "--label", "bench", "--data-dir"]).arg(self.directory.join("data"));
        command.arg("--policy").arg(self.directory.join("policy.json")).arg("--").arg(&self.server);
        command
    }

    fn calls(&self) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let (mut bare, mut wrapped) = (Client::start(self.bare())?, Client::start(self.wrapped())?);
        in_turns(WARM_UP, || bare.call(), || wrapped.call())?;
        let times = in_turns(CALLS, || bare.call(), || wrapped.call())?;
        bare.close()?;
        wrapped.close()?;
        Ok(times)
    }

    /// With the log of the calls above to join.
    fn starts(&self) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let start = |command: Command| {
            let begun = Instant::now();
            let client = Client::start(command)?;
            let taken = begun.elapsed();
            client.close()?;
            Ok(taken)
        };
        in_turns(STARTS, || start(self.bare()), || start(self.wrapped()))
    }
}

/// Times of both, sorted.
fn in_turns(
    times: usize,
    mut first: impl FnMut() -> Result<Duration>,
    mut second: impl FnMut() -> Result<Duration>,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut of_first, mut of_second) = (Vec::with_capacity(times), Vec::with_capacity(times));
    for _ in 0..times {
        of_first.push(first()?);
        of_second.push(second()?);
    }
    of_first.sort_unstable();
    of_second.sort_unstable();
    Ok((of_first, of_second))
}

struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Client {
    fn start(mut command: Command) -> Result<Client> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().context("no input")?;
        let output = BufReader::new(process.stdout.take().context("no output")?);
        let mut client = Client { process, input, output, line: String::new() };
        client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#)?;
        writeln!(client.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(client)
    }

    fn call(&mut self) -> Result<Duration> {
        self.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_note","arguments":{"title":"welcome"}}}"#)
    }

    fn ask(&mut self, request: &str) -> Result<Duration> {
        let line = format!("{request}\n");
        let begun = Instant::now();
        self.input.write_all(line.as_bytes())?;
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        let taken = begun.elapsed();
        ensure!(self.line.contains("\"result\"") && !self.line.contains("isError\":true"), "{}", self.line);
        Ok(taken)
    }

    fn close(self) -> Result<()> {
        let Client { mut process, input, .. } = self;
        drop(input);
        ensure!(process.wait()?.success(), "a process failed");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        assert!((microseconds(&times, 50) - 51.0).abs() < 0.5);
        assert!((microseconds(&times, 99) - 100.0).abs() < 0.5);
        assert!(microseconds(&[], 50).abs() < 0.5);
    }
}
