//! What the server costs: a look-up through it against the bare HTTP request to the stand-in image
//! of the test kit, the time to start, and the memory it holds.
//!
//! `cargo bench -p pharo-interop` prints a table; with `-- --check` the exit code says whether the
//! budgets hold. Bare and through the server take turns, so that a busy machine slows both.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a benchmark fails")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use portcullis_testkit::pharo_stand_in::StandIn;

const ROUNDS: usize = 20;
const CALLS_PER_ROUND: usize = 200;
const STARTS: usize = 30;

const LOOK_UP_BUDGET_US: f64 = 150.0;
const START_BUDGET_MS: f64 = 30.0;
const MEMORY_BUDGET_MB: f64 = 15.0;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_class_comment","arguments":{"class_name":"SisServer"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const LEGACY_CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_class_comment","arguments":{"class_name":"SisServer"}}}"#;
const ANSWER: &str = "I answer requests from outside.";

fn main() -> ExitCode {
    let image = StandIn::start().unwrap();
    let mut bare = Http::connect(image.url().trim_start_matches("http://"));
    let mut stdio = StdioServer::start(&image.url());
    let (mut server, authority) = start_http(&image.url());
    let mut http = Http::connect(&authority);

    let mut bare_times = Vec::new();
    let mut stdio_times = Vec::new();
    let mut http_times = Vec::new();
    for round in 0..=ROUNDS {
        let measured = [
            time(|| bare.get("/get-class-comment?class_name=SisServer")),
            time(|| stdio.exchange(LEGACY_CALL)),
            time(|| http.post(CALL)),
        ];
        // The first round warms up.
        if round > 0 {
            for (times, new) in [&mut bare_times, &mut stdio_times, &mut http_times].into_iter().zip(measured)
            {
                times.extend(new);
            }
        }
    }
    let calls = ((ROUNDS + 1) * CALLS_PER_ROUND) as f64;
    let cpu = [stdio.child.id(), server.id()].map(|process| cpu_us(process) / calls);
    let memory = memory_mb(stdio.child.id()).max(memory_mb(server.id()));
    server.kill().unwrap();
    server.wait().unwrap();
    let starts: Vec<_> = (0..STARTS).map(|_| start_time(&image.url())).collect();
    report(&[bare_times, stdio_times, http_times], cpu, starts, memory)
}

fn report(times: &[Vec<Duration>; 3], cpu: [f64; 2], starts: Vec<Duration>, memory: f64) -> ExitCode {
    let [bare, stdio, http] = times.each_ref().map(|times| percentile(times, 50));
    let rows = [
        ("look-up over stdio, added at p50", micros(stdio) - micros(bare), LOOK_UP_BUDGET_US, "µs"),
        ("look-up over HTTP, added at p50", micros(http) - micros(bare), LOOK_UP_BUDGET_US, "µs"),
        ("start to first answer, median", micros(percentile(&starts, 50)) / 1000.0, START_BUDGET_MS, "ms"),
        ("resident memory after the calls", memory, MEMORY_BUDGET_MB, "MB"),
    ];
    let mut out = std::io::stdout().lock();
    for (name, times) in ["bare", "stdio", "HTTP"].iter().zip(times) {
        let [p50, p99] = [50, 99].map(|rank| micros(percentile(times, rank)));
        writeln!(out, "{name:<6} {} calls, p50 {p50:.0} µs, p99 {p99:.0} µs", times.len()).unwrap();
    }
    let [stdio, http] = cpu;
    writeln!(out, "processor time of the server per call: stdio {stdio:.0} µs, HTTP {http:.0} µs").unwrap();
    writeln!(out, "\n{:<34} {:>10} {:>10}", "", "measured", "budget").unwrap();
    let mut held = true;
    for (name, value, budget, unit) in rows {
        let verdict = if value <= budget { "" } else { "  over" };
        held &= value <= budget;
        writeln!(out, "{name:<34} {value:>7.1} {unit} {budget:>7.0} {unit}{verdict}").unwrap();
    }
    let check = std::env::args().any(|argument| argument == "--check");
    if check && !held { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn time(mut call: impl FnMut() -> String) -> Vec<Duration> {
    (0..CALLS_PER_ROUND)
        .map(|_| {
            let started = Instant::now();
            let answer = call();
            let took = started.elapsed();
            assert!(answer.contains(ANSWER), "{answer}");
            took
        })
        .collect()
}

fn percentile(times: &[Duration], rank: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * rank / 100]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000_000.0
}

fn binary(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pharo-interop-mcp"));
    command.env_clear().env("PHARO_SIS_URL", url).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// From the start of the process to its answer to `initialize`.
fn start_time(url: &str) -> Duration {
    let started = Instant::now();
    let server = StdioServer::start(url);
    let took = started.elapsed();
    drop(server);
    took
}

fn memory_mb(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1000.0
}

/// Processor time of the process since its start, which waiting for a turn does not lengthen.
fn cpu_us(process: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let nanoseconds: f64 = tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap())
        .map(|text| text.split(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    nanoseconds / 1000.0
}

/// The server on standard input and output, in the older era.
struct StdioServer {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl StdioServer {
    fn start(url: &str) -> Self {
        let mut child = binary(url).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, answers };
        server.exchange(INITIALIZE);
        server.send(INITIALIZED);
        server
    }

    fn send(&mut self, message: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn exchange(&mut self, message: &str) -> String {
        self.send(message);
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn start_http(url: &str) -> (Child, String) {
    let mut child = binary(url).args(["--http", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let authority = line.trim().trim_start_matches("listening on http://").trim_end_matches("/mcp");
    (child, authority.to_owned())
}

/// One connection that is kept.
struct Http {
    connection: BufReader<TcpStream>,
    authority: String,
}

impl Http {
    fn connect(authority: &str) -> Self {
        let connection = TcpStream::connect(authority).unwrap();
        connection.set_nodelay(true).unwrap();
        Self { connection: BufReader::new(connection), authority: authority.to_owned() }
    }

    fn get(&mut self, target: &str) -> String {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.authority);
        self.exchange(&request)
    }

    fn post(&mut self, body: &str) -> String {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: get_class_comment\r\nContent-Length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        );
        self.exchange(&request)
    }

    fn exchange(&mut self, request: &str) -> String {
        self.connection.get_mut().write_all(request.as_bytes()).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }
}
