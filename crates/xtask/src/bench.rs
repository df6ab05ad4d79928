//! `cargo xtask bench`: a crate's benchmarks, and the number of instructions a decision takes.
//!
//! Times differ from machine to machine; instruction counts hardly do, so `docs/performance.md` records
//! both. The count is the difference of two runs, which takes start-up and policy loading out of it.

mod wrap;

use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{process, workspace};

mod catalogue;
mod cores;
mod gateway;
mod plot;
mod start;

const EXAMPLE: &str = "decide_once";
const ITERATIONS_FEW: u64 = 1000;
const ITERATIONS_MANY: u64 = 2000;

/// What `cargo xtask bench` takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Whose benchmarks to run
    #[arg(value_enum, default_value_t = Subject::Policy)]
    subject: Subject,
    /// Only the main figure (gateway)
    #[arg(long)]
    short: bool,
    /// Keep the figures in `docs/` (gateway)
    #[arg(long)]
    write: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    /// Decisions: `portcullis-policy`
    Policy,
    /// Reading JSON: `portcullis-json`
    Json,
    /// The index of 50,000 servers: import, search, memory and disk as it grows
    Catalogue,
    /// The Pharo server against the bare image side, held to its budgets: `pharo-interop`
    Pharo,
    /// What `portcullis wrap` adds to a stdio server
    Wrap,
    /// The gateway beside nginx
    Gateway,
    /// How long a start takes: with nothing, and after `kill -9` with a million records
    Start,
}

/// Runs the benchmarks of one crate; for policies also counts instructions.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match arguments.subject {
        Subject::Catalogue => catalogue::run(),
        Subject::Json => run_benches("portcullis-json"),
        Subject::Pharo => run_pharo(),
        Subject::Wrap => wrap::run(),
        Subject::Gateway => gateway::run(arguments.short, arguments.write),
        Subject::Start => start::run(),
        Subject::Policy => {
            run_benches("portcullis-policy")?;
            print_instructions_per_decision()
        }
    }
}

fn run_benches(package: &str) -> Result<()> {
    process::run(&mut process::cargo(&["bench", "--package", package]))
}

/// Held to the budgets on one core, then shown on all.
fn run_pharo() -> Result<()> {
    let bench = |more: &[&str]| {
        process::run(process::cargo(&["bench", "--workspace", "--bench", "overhead"]).args(more))
    };
    bench(&["--no-run"])?;
    let cores = cores::Cores::of_this_process()?;
    println!("everything on one core:");
    cores.keep_to_one()?;
    let held = bench(&["--", "--check"]);
    println!("on all cores:");
    cores.use_all()?;
    bench(&[]).and(held)
}

fn print_instructions_per_decision() -> Result<()> {
    if !process::is_installed("valgrind") {
        println!("valgrind is not installed: instructions were not counted");
        return Ok(());
    }
    let build = ["build", "--release", "--package", "portcullis-policy", "--example", EXAMPLE];
    process::run(&mut process::cargo(&build))?;
    let example = workspace::built(&format!("release/examples/{EXAMPLE}"))?;
    let few = count_instructions(&example, ITERATIONS_FEW)?;
    let many = count_instructions(&example, ITERATIONS_MANY)?;
    let each = many.saturating_sub(few) / (ITERATIONS_MANY - ITERATIONS_FEW);
    println!("instructions per decision: {each}");
    Ok(())
}

fn count_instructions(example: &Path, iterations: u64) -> Result<u64> {
    let mut valgrind = process::command("valgrind");
    // The profile itself is not wanted, only the total.
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(example).arg(iterations.to_string());
    let captured = process::capture(&mut valgrind)?;
    collected(&captured.stderr).context("callgrind did not say how many instructions it counted")
}

/// Reads the total out of callgrind's last lines: `==123== Collected : 456`.
fn collected(report: &str) -> Option<u64> {
    report.lines().find_map(|line| {
        let (_, total) = line.split_once("Collected :")?;
        total.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_callgrinds_report() {
        let report = "==9== Events    : Ir\n==9== Collected : 1203344\n==9== \n";
        assert_eq!(collected(report), Some(1_203_344));
    }

    #[test]
    fn a_report_without_a_total_is_not_a_zero() {
        assert_eq!(collected("==9== Events    : Ir\n"), None);
        assert_eq!(collected("==9== Collected : \n"), None);
    }
}
