//! The project's own tasks, run as `cargo xtask TASK`: what CI runs, and what a person runs before.
//!
//! Nothing here is part of the product, and no other crate may depend on it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task speaks to the person at the terminal, and has no other output"
)]

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod bench;
mod catalogue_build;
mod catalogue_eval;
mod ci;
mod conformance;
mod docs;
mod faults;
mod fuzz_policy;
mod process;
mod suites;
mod tidy;
mod workspace;

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything a change must pass: format, clippy, tidy, tests, policy tests, docs
    Ci,
    /// The project's own rules: crate arrows, purity, sizes, names, links, generated documents
    Tidy,
    /// Write the generated documents under `docs/reference/` anew
    Docs,
    /// Compare the engine with the oracle on many random policies, in release
    FuzzPolicy(fuzz_policy::Arguments),
    /// The gateway with everything around it failing: servers, clients, disk, clock, itself killed
    Faults(faults::Arguments),
    /// Run the benchmarks, and count a decision's instructions where valgrind is installed
    Bench(bench::Arguments),
    /// Run the official conformance suite against our fixture server, bare and behind the gateway
    Conformance(conformance::Arguments),
    /// Install and start the servers of a list, and write what they list into the index that ships
    CatalogueBuild(catalogue_build::Arguments),
    /// Replay public suites that need no language model, and write the scores into `docs/attacks.md`
    Suites,
    /// Measure the classifier against files of labelled tools
    CatalogueEval(catalogue_eval::Arguments),
}

/// The names of all tasks.
fn tasks() -> BTreeSet<String> {
    let command = Arguments::command();
    command.get_subcommands().map(|task| task.get_name().to_owned()).collect()
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Ci => ci::run(),
        Task::Tidy => workspace::build_product().and_then(|product| tidy::run(&product)),
        Task::Docs => workspace::build_product().and_then(|product| docs::write(&product)),
        Task::FuzzPolicy(arguments) => fuzz_policy::run(&arguments),
        Task::Faults(arguments) => faults::run(&arguments),
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Conformance(arguments) => conformance::run(&arguments),
        Task::CatalogueBuild(arguments) => catalogue_build::run(&arguments),
        Task::Suites => suites::run(),
        Task::CatalogueEval(arguments) => catalogue_eval::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
