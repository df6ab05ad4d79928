//! `cargo xtask conformance`: the official suite against our fixture server, bare and behind the gateway.
//!
//! The rule is that the gateway costs nothing: a check that the bare fixture passes is passed behind the gateway
//! too, over HTTP and with the fixture as a program. Exceptions are listed, and the list is strict both ways.
//! `docs/conformance.md` is made from a run, and every run is compared with it.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

mod expected;
mod outcome;
mod page;
mod stage;
mod suite;

use outcome::{Leg, Loss, Results};

/// How much to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out the fixture as a program: what CI runs
    #[arg(long)]
    short: bool,
    /// Write `docs/conformance.md` anew instead of comparing
    #[arg(long, conflicts_with = "short")]
    write: bool,
}

const PAGE: &str = "docs/conformance.md";

/// Builds the product and runs.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let product = workspace::build_product()?;
    let legs: &[Leg] = if arguments.short { &[Leg::Bare, Leg::Http] } else { &Leg::ALL };
    let results = run_legs(&product, legs)?;
    check(&results)?;
    let path = workspace::root().join(PAGE);
    if arguments.write {
        fs::write(&path, page::render(&results, &expected::read()?)?)?;
        println!("{PAGE} written");
        return Ok(());
    }
    let shown = fs::read_to_string(&path).with_context(|| format!("cannot read `{PAGE}`"))?;
    compare(&results, &shown)
}

/// The short form, with what CI has built before.
pub(crate) fn run_short() -> Result<()> {
    let results = run_legs(&workspace::product()?, &[Leg::Bare, Leg::Http])?;
    check(&results)?;
    compare(&results, &fs::read_to_string(workspace::root().join(PAGE))?)
}

fn run_legs(product: &std::path::Path, legs: &[Leg]) -> Result<Results> {
    let suite = suite::install()?;
    let stage = stage::Stage::set(product, &suite.node)?;
    let mut results = Results::default();
    for leg in legs {
        let address = stage.address(*leg);
        for revision in outcome::REVISIONS {
            let scenarios = suite.run(address, *leg, revision)?;
            println!("{}", outcome::summary(*leg, revision, &scenarios));
            results.insert((*leg, revision), scenarios);
        }
    }
    stage.strike()?;
    Ok(results)
}

/// Nothing is lost that is not expected to be, and everything that is expected to be.
fn check(results: &Results) -> Result<()> {
    let legs: Vec<Leg> = results.keys().map(|(leg, _)| *leg).collect();
    let expected: Vec<Loss> =
        expected::read()?.into_iter().map(|one| one.loss).filter(|loss| legs.contains(&loss.leg)).collect();
    let complaints = expected::complaints(&outcome::losses(results), &expected);
    for complaint in &complaints {
        println!("{complaint}");
    }
    ensure!(complaints.is_empty(), "conformance: {} checks are not as expected", complaints.len());
    Ok(())
}

fn compare(results: &Results, shown: &str) -> Result<()> {
    let differences = page::differences(results, shown);
    for difference in &differences {
        println!("{difference}");
    }
    if !differences.is_empty() {
        bail!("`{PAGE}` says something else than this run; `cargo xtask conformance --write` writes it anew");
    }
    println!("conformance: as `{PAGE}` says");
    Ok(())
}
