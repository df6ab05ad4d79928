//! `cargo xtask faults`: the gateway as a process, with everything around it failing.
//!
//! After each fault the same is asked: does the chain verify, is every call that the server received in the
//! log, was no limit exceeded, did every client get an answer or a closed connection, are memory and
//! descriptors back. CI runs the short form; the long form writes `docs/faults.md`.

mod audit;
mod client;
mod clock;
mod disk;
mod every_operation;
mod failing;
mod index;
mod kills;
mod misbehaviour;
mod report;
mod resources;
mod site;
mod slow_clients;
mod soak;
mod stage;
mod stop_and_reload;
mod upstream;
mod upstream_faults;
mod wire;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};
use report::{Line, Outcome};
use stage::{Bench, Row};

/// What `cargo xtask faults` takes.
#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// The form that CI runs: the same faults, fewer times
    #[arg(long)]
    short: bool,
    /// Repeats the random choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Minutes of the soak; 20 in the long form
    #[arg(long, value_name = "MIN")]
    soak: Option<u64>,
    /// The binary to use, instead of building one
    #[arg(long, value_name = "FILE")]
    product: Option<PathBuf>,
    /// Only faults whose name contains this; writes no document
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Write `docs/faults.md` also after the short form
    #[arg(long)]
    document: bool,
}

/// One kind of fault.
struct Scenario {
    name: &'static str,
    run: fn(&Bench) -> Result<Row>,
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "upstream faults", run: upstream_faults::run },
    Scenario { name: "slow clients", run: slow_clients::run },
    Scenario { name: "kills", run: kills::run },
    Scenario { name: "failing disk", run: disk::failing },
    Scenario { name: "every operation", run: every_operation::run },
    Scenario { name: "index", run: index::run },
    Scenario { name: "clock", run: clock::run },
    Scenario { name: "descriptors", run: resources::descriptors },
    Scenario { name: "memory", run: resources::memory },
    Scenario { name: "stops", run: stop_and_reload::stops },
    Scenario { name: "reloads", run: stop_and_reload::reloads },
];
const FULL_DISK: &str = "full disk";
const SOAK: &str = "soak";
const SOAK_MINUTES: u64 = 20;

/// What CI runs, on the binary that it has built.
pub(crate) fn run_short() -> Result<()> {
    run_on(workspace::product()?, &Arguments { short: true, ..Arguments::default() })
}

/// Builds the product and runs the faults: in release, unless it is the short form.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(product) = &arguments.product {
        return run_on(product.canonicalize()?, arguments);
    }
    if arguments.short {
        return run_on(workspace::build_product()?, arguments);
    }
    process::run(&mut process::cargo(&["build", "--release", "--workspace", "--bins"]))?;
    run_on(workspace::built("release/portcullis")?, arguments)
}

fn run_on(product: PathBuf, arguments: &Arguments) -> Result<()> {
    let place = workspace::target()?.join("faults");
    std::fs::create_dir_all(&place)?;
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed} (repeat the random choices with `--seed {seed}`)");
    let library = failing::build(&place)?;
    let bench = Bench { product, place, library, short: arguments.short, seed };
    let mut lines = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| arguments.wants(scenario.name)) {
        lines.push(take(scenario.name, || (scenario.run)(&bench)));
    }
    if arguments.wants(FULL_DISK) && !arguments.short {
        lines.push(full_disk(&bench));
    }
    if let Some(minutes) = arguments.soak_minutes() {
        lines.push(take(SOAK, || soak::run(&bench, minutes)));
    }
    print!("\n{}", report::table(&lines));
    let failed: Vec<&str> = lines.iter().filter(|line| line.has_failed()).map(|line| line.name).collect();
    ensure!(failed.is_empty(), "`{}` failed, with seed {seed}", failed.join("`, `"));
    let form = format!(
        "{}, {}",
        if arguments.short { "the short form" } else { "the long form" },
        if bench.product.iter().any(|part| part == "release") { "in release" } else { "not optimised" }
    );
    if arguments.writes() { report::write(&lines, &form, seed) } else { Ok(()) }
}

impl Arguments {
    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }

    fn writes(&self) -> bool {
        self.document || !self.short && self.only.is_none()
    }

    fn soak_minutes(&self) -> Option<u64> {
        let long = !self.short && self.wants(SOAK);
        self.soak.or(long.then_some(SOAK_MINUTES))
    }
}

/// Runs one scenario.
fn take(name: &'static str, run: impl FnOnce() -> Result<Row>) -> Line {
    print!("{name} … ");
    let _ = std::io::Write::flush(&mut std::io::stdout());
    let begun = Instant::now();
    let row = run();
    let took = begun.elapsed();
    match &row {
        Ok(_) => println!("held, {:.1} s", took.as_secs_f64()),
        Err(error) => println!("FAILED, {:.1} s\n  {error:#}", took.as_secs_f64()),
    }
    Line { name, took, outcome: row.map_or(Outcome::Failed, |row| Outcome::Held(Box::new(row))) }
}

/// Needs the right to mount; the table says so where that is missing.
fn full_disk(bench: &Bench) -> Line {
    if rustix::process::geteuid().is_root() {
        return take(FULL_DISK, || disk::full(bench));
    }
    println!("{FULL_DISK}: not shown, only root may mount a small file system");
    Line { name: FULL_DISK, took: std::time::Duration::ZERO, outcome: Outcome::NotShown }
}

/// Where the long form writes what it found.
fn document() -> Result<PathBuf> {
    Ok(workspace::root().join("docs").join("faults.md"))
}

/// So that a reader knows how large the machine was.
fn cores() -> Result<usize> {
    Ok(std::thread::available_parallelism().context("cannot count the processors")?.get())
}
