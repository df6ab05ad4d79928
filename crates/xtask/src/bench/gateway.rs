//! `cargo xtask bench gateway`: what the gateway costs beside nginx, in one run.
//!
//! A small upstream and a load generator, the same for every leg and each a process of its own, are measured
//! directly, with nginx between them (the floor for one more HTTP hop), and with the gateway between them, everything
//! on: a grant, 50 rules on the arguments of a tool, a sliding limit, the log. The legs take turns, so that all meet
//! the same machine; the ratio to nginx is the figure.

mod held;
mod legs;
mod peers;
mod report;
mod request;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use self::legs::{Figures, Leg, Load, measure, median};
use self::peers::{Peer, empty_directory, free_address};
use self::report::{Report, Row};
use crate::process;

const SERVERS_OF_TOOLS: [usize; 3] = [10, 1_000, 10_000];
/// Lists that the gateway has never seen.
const NEW_LISTS: usize = 5;
const NEW_TOOLS: usize = 1_000;
const SESSIONS: [usize; 2] = [1_000, 10_000];
const SYNCS_MEASURED: usize = 200;

/// Measures everything, prints it, and with `write` also keeps it in `docs/`. `short` looks at the main figure alone.
pub(super) fn run(short: bool, write: bool) -> Result<()> {
    process::run(&mut process::cargo(&["build", "--release", "--workspace", "--bins"]))?;
    allow_many_files();
    let directory = empty_directory("bench-gateway")?;
    let upstream = Peer::upstream()?;
    let nginx = Peer::nginx(&directory, upstream.address)?;
    let address = free_address()?;
    configuration(&directory, address, upstream.address, "")?;
    let gateway = Peer::gateway(&directory, address)?;
    let bench = Bench { directory: &directory, upstream: &upstream, nginx: &nginx, gateway: &gateway };
    let mut report = Report { sync_us: sync_us(&directory)?, ..Report::default() };
    if !short {
        // Before there is much to be written back: a start waits for the disk.
        (report.start_ms, report.idle_mb) = held::start(&upstream)?;
    }
    bench.calls(short, &mut report)?;
    let calls = report.rows.iter().map(Row::calls_in_all).sum::<u64>();
    report.syncs = metric(&gateway, "portcullis_log_syncs")?;
    report.records = bench.check_records(calls)?;
    if !short {
        bench.lists(&mut report)?;
        bench.held(&mut report)?;
    }
    gateway.stop()?;
    report.print(&directory.join("data/log"));
    if write {
        report.keep()?;
    }
    Ok(())
}

struct Bench<'a> {
    directory: &'a Path,
    upstream: &'a Peer,
    nginx: &'a Peer,
    gateway: &'a Peer,
}

impl<'a> Bench<'a> {
    fn legs(&self, path: &str, request: impl Fn(&str) -> Vec<u8>) -> [Leg<'a>; 3] {
        let leg =
            |name, middle, path: &str| Leg { name, middle, upstream: self.upstream, request: request(path) };
        [
            leg("direct", None, path),
            leg("nginx", Some(self.nginx), path),
            leg("portcullis", Some(self.gateway), if path == "/mcp" { "/mcp/up" } else { path }),
        ]
    }

    fn calls(&self, short: bool, report: &mut Report) -> Result<()> {
        let all: &[(&str, &str, usize, usize)] = &[
            ("Read, 200 bytes", "read_note", 200, 16),
            ("Read, 200 bytes", "read_note", 200, 1),
            ("Read, 200 bytes", "read_note", 200, 64),
            ("Write, 200 bytes", "write_note", 200, 1),
            ("Write, 200 bytes", "write_note", 200, 16),
            ("Write, 200 bytes", "write_note", 200, 64),
            ("Read, 8 KB", "read_note", 8 << 10, 16),
            ("Read, 200 KB", "read_note", 200 << 10, 16),
            ("Read, 200 bytes, answered as events", "read_events", 200, 16),
        ];
        let scenarios = if short { all.get(..2).unwrap_or(all) } else { all };
        for (name, tool, bytes, connections) in scenarios {
            let load = Load { connections: *connections, milliseconds: 1000, rounds: 3 };
            let legs = self.legs("/mcp", |path| request::call(path, tool, *bytes));
            let figures = measure(self.directory, &legs, load)?;
            println!("{name}, {connections} connections: done");
            report.rows.push(Row { name: (*name).to_owned(), connections: *connections, figures });
        }
        Ok(())
    }

    /// As many decisions of tool calls as calls, and as many outcomes.
    fn check_records(&self, calls: u64) -> Result<[u64; 2]> {
        let mut counts = [0_u64; 2];
        for entry in std::fs::read_dir(self.directory.join("data/log"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                count_records(&path, &mut counts)?;
            }
        }
        ensure!(counts == [calls; 2], "{calls} calls, but {counts:?} decisions and outcomes");
        Ok(counts)
    }

    fn lists(&self, report: &mut Report) -> Result<()> {
        for count in SERVERS_OF_TOOLS {
            let gateway_path = format!("/mcp/tools{count}");
            let mut legs = self.legs(&format!("/tools/{count}"), request::list);
            if let Some(leg) = legs.last_mut() {
                leg.request = request::list(&gateway_path);
            }
            let load = Load { connections: 1, milliseconds: 1000, rounds: 3 };
            report.lists.push((count, measure(self.directory, &legs, load)?));
        }
        let before = self.gateway.cpu_seconds()?;
        for number in 0..NEW_LISTS {
            let request = request::list(&format!("/mcp/new{number}"));
            let leg = Leg { name: "new", middle: Some(self.gateway), upstream: self.upstream, request };
            let mut once = Figures::default();
            leg.run(self.directory, Load { connections: 1, milliseconds: 1, rounds: 1 }, &mut once)?;
            ensure!(once.calls >= 1.0 && once.other_statuses == 0, "a new list failed: {once:?}");
        }
        let tools = (NEW_LISTS * NEW_TOOLS) as f64;
        report.first_list_us = (self.gateway.cpu_seconds()? - before) * 1e6 / tools;
        Ok(())
    }

    fn held(&self, report: &mut Report) -> Result<()> {
        for count in SESSIONS {
            let (session, stream) = held::sessions(self.gateway, count)?;
            report.sessions.push((count, session, stream));
        }
        report.overload = Some(held::overload(self.directory, self.upstream, 3000)?);
        Ok(())
    }
}

fn count_records(path: &Path, counts: &mut [u64; 2]) -> Result<()> {
    for line in BufReader::new(std::fs::File::open(path)?).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let word = |key: &str| record.get(key).and_then(serde_json::Value::as_str);
        match (word("kind"), word("tool"), word("outcome")) {
            (Some("decision"), Some(_), Some("allowed")) => counts[0] += 1,
            (Some("outcome"), Some(_), Some("answered")) => counts[1] += 1,
            _ => {}
        }
    }
    Ok(())
}

/// The gateway's configuration: the upstream under several names, each with a policy and a grant.
fn configuration(directory: &Path, listen: SocketAddr, upstream: SocketAddr, settings: &str) -> Result<()> {
    configuration_of(servers(), directory, listen, upstream, settings)
}

fn configuration_of(
    servers: Vec<ServerLine>,
    directory: &Path,
    listen: SocketAddr,
    upstream: SocketAddr,
    settings: &str,
) -> Result<()> {
    std::fs::write(directory.join("policy.json"), request::policy())?;
    let mut text = format!("listen = \"{listen}\"\ndata_dir = \"data\"\n\n[settings]\n{settings}{ROOM}");
    for (name, path, era) in servers {
        std::fs::write(directory.join(format!("token-{name}")), request::token(&name))?;
        text.push_str(&format!(
            "\n[[servers]]\nname = \"{name}\"\nurl = \"http://{upstream}{path}\"\nera = \"{era}\"\n\n\
             [[policies]]\nname = \"{name}\"\nserver = \"{name}\"\nfile = \"policy.json\"\n\n\
             [[grants]]\nlabel = \"{name}\"\nserver = \"{name}\"\npolicy = \"{name}\"\n\
             token = \"file:token-{name}\"\n"
        ));
    }
    std::fs::write(directory.join("portcullis.toml"), text).context("cannot write the configuration")
}

/// Room for more sessions and streams than the defaults allow one grant.
const ROOM: &str = "sessions_max = 20000\nsessions_per_grant_max = 20000\nconnections_max = 20000\n\
                    connections_per_address_max = 20000\nstreams_max = 20000\nstreams_per_grant_max = 20000\n";

/// Name, path at the upstream, era.
type ServerLine = (String, String, &'static str);

fn servers() -> Vec<ServerLine> {
    let plain = [("up", "modern"), ("old", "legacy")];
    let plain = plain.map(|(name, era)| (name.to_owned(), "/mcp".to_owned(), era));
    let of_tools =
        SERVERS_OF_TOOLS.map(|count| (format!("tools{count}"), format!("/tools/{count}"), "modern"));
    let new = (0..NEW_LISTS).map(|n| (format!("new{n}"), format!("/tools/{NEW_TOOLS}/{n}"), "modern"));
    plain.into_iter().chain(of_tools).chain(new).collect()
}

/// One number of the gateway's own.
fn metric(gateway: &Peer, name: &str) -> Result<u64> {
    let page = gateway.page("/metrics")?;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).with_context(|| format!("`/metrics` has no `{name}`"))
}

/// Microseconds that a `fdatasync` of one record takes here, at the median.
fn sync_us(directory: &Path) -> Result<f64> {
    let mut file = std::fs::File::create(directory.join("sync"))?;
    let mut times = Vec::with_capacity(SYNCS_MEASURED);
    for _ in 0..SYNCS_MEASURED {
        file.write_all(&[b'x'; 600])?;
        let begun = Instant::now();
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&times))
}

/// Ten thousand streams need as many descriptors, here and in the gateway.
fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer, opening the streams fails and says so.
    let _ = setrlimit(Resource::Nofile, limit);
}
