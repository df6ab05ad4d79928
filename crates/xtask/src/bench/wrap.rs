//! What `portcullis wrap` adds to a call of a stdio server, and to its start.
//!
//! The bare server, the same one behind a program that only copies, and the same one behind `wrap` are called in
//! turns, in one run, so that all meet the same machine; the difference of the medians is the figure. In turns of
//! many calls: a call right after one of another way would find the cores as that one left them.
//!
//! A machine that others share is now fast and now slow, for seconds at a time. The bare server tells which: the
//! budget is held to in the quarter of the rounds in which *it* was fastest, and the figure of all is shown beside it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::cores::Cores;
use crate::{process, workspace};

const ROUNDS: usize = 400;
const CALLS_PER_ROUND: usize = 250;
/// One of so many rounds counts as quiet.
const QUIET: usize = 4;
const STARTS: usize = 40;
/// What `wrap` may add to a call, at the median, in microseconds.
const CALL_BUDGET: f64 = 60.0;
/// What it may add to a start.
const START_BUDGET: f64 = 30_000.0;
const POLICY: &str = r#"{"version":"1","default":"deny","tools":{"read_note":{}}}"#;

/// Measures and prints; an error if a budget is not kept on one core.
pub(crate) fn run() -> Result<()> {
    process::run(&mut process::cargo(&["build", "--release", "--workspace", "--bins"]))?;
    let bench = Bench::new()?;
    let cores = Cores::of_this_process()?;
    cores.keep_to_one()?;
    let (all, quiet) = bench.calls()?;
    report("a call of a Read tool, everything on one core", &all);
    let call = report("the same, where the bare server was fastest", &quiet);
    cores.use_all()?;
    report("a call of a Read tool, on all cores", &bench.calls()?.0);
    let start = report("start until `initialize` is answered", &bench.starts()?);
    ensure!(call <= CALL_BUDGET, "a call on one core costs {call:.1} µs more, of {CALL_BUDGET} µs");
    ensure!(start <= START_BUDGET, "a start costs {start:.0} µs more, of {START_BUDGET} µs");
    Ok(())
}

/// Times of each way, sorted: bare, behind a program that only copies, behind `wrap`.
type Times = [Vec<Duration>; 3];

/// Prints them, and gives what `wrap` adds at the median, in microseconds.
fn report(what: &str, times: &Times) -> f64 {
    println!("{what}, {} times each, in turns:", times[0].len());
    let added_at = |percent| {
        let [bare, copied, wrapped] = times.each_ref().map(|times| microseconds(times, percent));
        let (copying, wrapping) = (copied - bare, wrapped - bare);
        println!("  p{percent}: bare {bare:.1} µs; copying adds {copying:.1} µs, wrap {wrapping:.1} µs");
        wrapping
    };
    let median = added_at(50);
    added_at(99);
    median
}

/// The time below which so many of a hundred lie.
fn microseconds(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

struct Bench {
    server: PathBuf,
    relay: PathBuf,
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
            relay: workspace::built("release/stdio-relay")?,
            portcullis: workspace::built("release/portcullis")?,
            directory,
        })
    }

    /// The three ways.
    fn ways(&self) -> [Command; 3] {
        let mut relay = Command::new(&self.relay);
        relay.arg(&self.server);
        let mut wrap = Command::new(&self.portcullis);
        wrap.args(["wrap", "--label", "bench", "--data-dir"]).arg(self.directory.join("data"));
        wrap.arg("--policy").arg(self.directory.join("policy.json")).arg("--").arg(&self.server);
        [Command::new(&self.server), relay, wrap]
    }

    /// The times of all rounds, and those of the quiet ones.
    fn calls(&self) -> Result<(Times, Times)> {
        let [bare, relay, wrap] = self.ways();
        let mut clients = [Client::start(bare)?, Client::start(relay)?, Client::start(wrap)?];
        let mut rounds = Vec::new();
        for _ in 0..=ROUNDS {
            let mut round = Times::default();
            for (client, times) in clients.iter_mut().zip(&mut round) {
                let taken: Result<Vec<_>> = (0..CALLS_PER_ROUND).map(|_| client.call()).collect();
                *times = sorted(taken?);
            }
            rounds.push(round);
        }
        for client in clients {
            client.close()?;
        }
        // The first one warms up.
        rounds.remove(0);
        let all = together(&rounds);
        Ok((all, together(quiet(&mut rounds))))
    }

    /// With the log of the calls above to join.
    fn starts(&self) -> Result<Times> {
        let mut times = Times::default();
        for _ in 0..STARTS {
            for (command, times) in self.ways().into_iter().zip(&mut times) {
                let begun = Instant::now();
                let client = Client::start(command)?;
                times.push(begun.elapsed());
                client.close()?;
            }
        }
        Ok(times.map(sorted))
    }
}

/// The rounds in which the bare server was fastest.
fn quiet(rounds: &mut [Times]) -> &[Times] {
    rounds.sort_by(|one, other| microseconds(&one[0], 50).total_cmp(&microseconds(&other[0], 50)));
    rounds.get(..rounds.len().div_ceil(QUIET)).unwrap_or_default()
}

fn together(rounds: &[Times]) -> Times {
    let mut all = Times::default();
    for round in rounds {
        for (all, times) in all.iter_mut().zip(round) {
            all.extend_from_slice(times);
        }
    }
    all.map(sorted)
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort_unstable();
    times
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

    /// By the bare server alone: where `wrap` happened to be fast does not count.
    #[test]
    fn quiet_is_where_the_bare_server_was_fastest() {
        let round = |bare, wrap| [bare, 0, wrap].map(|time| vec![Duration::from_micros(time)]);
        let mut rounds = [round(9, 70), round(12, 50), round(8, 80), round(13, 40)];
        assert_eq!(quiet(&mut rounds), [round(8, 80)]);
        let all = together(&rounds);
        assert_eq!(all[2], [40, 50, 70, 80].map(Duration::from_micros));
    }
}
