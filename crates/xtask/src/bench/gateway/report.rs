//! The figures as tables, as ratios to nginx, and as a plot; beside what is wanted.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::held::Overload;
use super::legs::Figures;
use crate::bench::plot::{Line, Panel, svg};
use crate::workspace;

const PAGE: &str = "docs/performance/gateway.md";
const PLOT: &str = "docs/performance/gateway.svg";

/// One scenario: directly, nginx, the gateway.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) connections: usize,
    pub(super) figures: Vec<Figures>,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    /// How many tools; directly, nginx, the gateway.
    pub(super) lists: Vec<(usize, Vec<Figures>)>,
    /// Processor time for each tool of a list that the gateway has never seen.
    pub(super) first_list_us: f64,
    /// How many, kilobytes for each, kilobytes more with a stream.
    pub(super) sessions: Vec<(usize, f64, f64)>,
    pub(super) start_ms: f64,
    pub(super) idle_mb: f64,
    pub(super) overload: Option<Overload>,
    pub(super) sync_us: f64,
    pub(super) syncs: u64,
    /// Decisions and outcomes of tool calls.
    pub(super) records: [u64; 2],
}

const LEGS: [&str; 3] = ["directly", "nginx", "Portcullis"];

impl Row {
    /// Calls through the gateway, those of the warm-up too.
    pub(super) fn calls_in_all(&self) -> u64 {
        self.figures.last().map_or(0, |gateway| (gateway.calls + gateway.warm_up_calls) as u64)
    }

    fn ratios(&self) -> Option<Ratios> {
        let [_, nginx, gateway] = self.figures.as_slice() else { return None };
        let (by_nginx, by_gateway) = self.added_p50()?;
        Some(Ratios {
            cpu: gateway.cpu_us()[0] / nginx.cpu_us()[0],
            calls: gateway.per_second() / nginx.per_second(),
            added_p50: by_gateway / by_nginx,
        })
    }

    /// Microseconds that nginx and the gateway add at the median.
    fn added_p50(&self) -> Option<(f64, f64)> {
        let [direct, nginx, gateway] = self.figures.as_slice() else { return None };
        let added = |leg: &Figures| leg.latencies_us()[0] - direct.latencies_us()[0];
        Some((added(nginx), added(gateway)))
    }
}

/// The gateway to nginx.
struct Ratios {
    cpu: f64,
    calls: f64,
    added_p50: f64,
}

impl Report {
    pub(super) fn print(&self, log: &Path) {
        println!("{}", self.markdown());
        println!("the log: {}", log.display());
    }

    /// Writes the page and the plot.
    pub(super) fn keep(&self) -> Result<()> {
        for (file, text) in [(PAGE, self.markdown()), (PLOT, self.plot())] {
            let path = workspace::root().join(file);
            std::fs::create_dir_all(path.parent().context("a file in no directory")?)?;
            std::fs::write(path, text).with_context(|| format!("cannot write `{file}`"))?;
            println!("{file} written");
        }
        Ok(())
    }

    fn markdown(&self) -> String {
        let mut out = String::from(HEAD);
        // Writing to a string cannot fail.
        let _ = self.calls(&mut out);
        let _ = self.beside_nginx(&mut out);
        let _ = self.lists(&mut out);
        let _ = self.held(&mut out);
        out
    }

    fn calls(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## Calls\n\n| call | connections | way | calls/s | p50 µs | p99 µs | p99.9 µs | its CPU µs | upstream's | client's |\n\
             |---|---|---|---|---|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            for (leg, figures) in LEGS.iter().zip(&row.figures) {
                let ([p50, p99, p999], [middle, upstream, load]) = (figures.latencies_us(), figures.cpu_us());
                writeln!(
                    out,
                    "| {} | {} | {leg} | {:.0} | {p50:.0} | {p99:.0} | {p999:.0} | {middle:.1} | {upstream:.1} | {load:.1} |",
                    row.name,
                    row.connections,
                    figures.per_second()
                )?;
            }
        }
        writeln!(
            out,
            "\nThe log of this run has {} decisions and {} outcomes of tool calls, one of each for every call, and was synced \
             {} times. A `fdatasync` of one record took {:.0} µs at the median.\n",
            self.records[0], self.records[1], self.syncs, self.sync_us
        )
    }

    fn beside_nginx(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "## Beside nginx\n\nWanted for the Read tool: at most 1.8 times the CPU and 0.7 of the calls at 16 connections, \
             1.8 times the added p50 at one.\n\n| call | connections | CPU, times | calls/s, times | added p50, times |\n|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            if let Some(Ratios { cpu, calls, added_p50 }) = row.ratios() {
                let (name, connections) = (&row.name, row.connections);
                writeln!(out, "| {name} | {connections} | {cpu:.2} | {calls:.2} | {added_p50:.2} |")?;
            }
        }
        writeln!(out)?;
        let writes = self.rows.iter().find(|row| row.name.starts_with("Write") && row.connections == 1);
        if let Some((by_nginx, by_gateway)) = writes.and_then(Row::added_p50) {
            let wanted = 1.8 * by_nginx + 2.0 * self.sync_us;
            writeln!(
                out,
                "A Write tool waits for the disk. At one connection its calls take {by_gateway:.0} µs more at p50; 1.8 times \
                 what nginx adds and two `fdatasync` are {wanted:.0} µs.\n"
            )?;
        }
        Ok(())
    }

    fn lists(&self, out: &mut String) -> std::fmt::Result {
        if self.lists.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "## Lists\n\nFiltered for the caller, one connection. Wanted: at most 1 µs of CPU for each tool when the list has \
             not changed.\n\n| tools | directly, ms | nginx, ms | Portcullis, ms | CPU for each tool, µs |\n|---|---|---|---|---|"
        )?;
        for (tools, figures) in &self.lists {
            let times: Vec<String> =
                figures.iter().map(|leg| format!("{:.2}", leg.latencies_us()[0] / 1e3)).collect();
            let each = figures.last().map_or(0.0, |gateway| gateway.cpu_us()[0] / *tools as f64);
            writeln!(out, "| {tools} | {} | {each:.2} |", times.join(" | "))?;
        }
        writeln!(
            out,
            "\nA list that the gateway has never seen is also classified and pinned: {:.1} µs of CPU for each tool, once.\n",
            self.first_list_us
        )
    }

    fn held(&self, out: &mut String) -> std::fmt::Result {
        let Some(overload) = &self.overload else { return Ok(()) };
        writeln!(out, "## What is held\n\n| what | measured | wanted |\n|---|---|---|")?;
        for (count, session, stream) in &self.sessions {
            writeln!(out, "| an idle session, of {count} | {session:.2} KB | 4 KB |")?;
            writeln!(out, "| more with an open stream, of {count} | {stream:.1} KB | 40 KB |")?;
        }
        writeln!(out, "| resident memory after the start, one server | {:.1} MB | 25 MB |", self.idle_mb)?;
        writeln!(
            out,
            "| start with one server and an empty directory, until it is ready | {:.1} ms | 50 ms |\n",
            self.start_ms
        )?;
        writeln!(
            out,
            "## Overload\n\nA tool that takes 20 ms, room for 64 calls, 32 connections before and after, 320 in between.\n\n\
             | when | answered/s | p50 ms | p99 ms | shed/s (503) |\n|---|---|---|---|---|"
        )?;
        for (when, figures) in
            [("before", &overload.before), ("five times", &overload.during), ("after", &overload.after)]
        {
            let [p50, p99, _] = figures.latencies_us();
            let shed = figures.other_statuses as f64 / figures.seconds;
            let answered = figures.per_second();
            writeln!(out, "| {when} | {answered:.0} | {:.1} | {:.1} | {shed:.0} |", p50 / 1e3, p99 / 1e3)?;
        }
        writeln!(out, "\nMost memory that was ever resident: {:.1} MB.", overload.peak_mb)
    }

    fn plot(&self) -> String {
        let reads = || self.rows.iter().filter(|row| row.name == "Read, 200 bytes");
        let panel = |title: &'static str, wanted: f64, value: &dyn Fn(&Figures) -> f64| {
            let line = |at: usize| {
                let mut points: Vec<(f64, f64)> = reads()
                    .filter_map(|row| Some((row.connections as f64, value(row.figures.get(at)?))))
                    .collect();
                points.sort_by(|one, other| one.0.total_cmp(&other.0));
                Line { name: ["direct", "nginx", "ours"].get(at).copied().unwrap_or_default(), points }
            };
            Panel { title, wanted, lines: vec![line(1), line(2)] }
        };
        let nginx = reads().find(|row| row.connections == 16).and_then(|row| row.figures.get(1));
        let (cpu, calls) = nginx.map_or((0.0, 0.0), |leg| (leg.cpu_us()[0], leg.per_second()));
        svg(
            "connections",
            &[
                panel("CPU for a call, µs (dashed: 1.8 × nginx at 16)", cpu * 1.8, &|leg| leg.cpu_us()[0]),
                panel("calls a second (dashed: 0.7 × nginx at 16)", calls * 0.7, &Figures::per_second),
                panel("p50, µs", 0.0, &|leg| leg.latencies_us()[0]),
                panel("p99, µs", 0.0, &|leg| leg.latencies_us()[1]),
            ],
        )
    }
}

const HEAD: &str = "<!-- Made by `cargo xtask bench gateway --write`; do not edit. -->\n\n\
    # The gateway beside nginx\n\n\
    One run on two cores shared by all processes: client, upstream, and what stands between them. The ways take turns. nginx \
    is a plain reverse proxy; Portcullis has everything on: a grant, 50 rules on the arguments of the tool, a sliding limit, \
    the log with two records for each call.\n\n\
    ![CPU, calls a second and latency by connections](gateway.svg)\n\n";
