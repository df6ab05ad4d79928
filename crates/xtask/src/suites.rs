//! `cargo xtask suites`: public suites that need no language model, replayed and scored.
//!
//! Not part of CI: it installs them from PyPI and crates.io, below the target directory, and writes what came of it
//! into `docs/attacks.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{process, workspace};

const AGENTDOJO_FOLDER: &str = "cases/suites/agentdojo";
const AGENTDOJO: &str = "agentdojo==0.1.35";
const AGENTDOJO_BEGIN: &str = "<!-- agentdojo: written by `cargo xtask suites` -->\n";
const MCPSEC_FOLDER: &str = "cases/suites/mcpsec";
const MCPSEC_VERSION: &str = "1.1.0";
const MCPSEC_BEGIN: &str = "<!-- mcpsec: written by `cargo xtask suites` -->\n";
const PAGE: &str = "docs/attacks.md";
const END: &str = "<!-- end -->\n";

pub(crate) fn run() -> Result<()> {
    let product = workspace::build_product()?;
    publish(AGENTDOJO_BEGIN, &agentdojo(&product)?)?;
    publish(MCPSEC_BEGIN, &mcpsec(&product)?)
}

fn agentdojo(product: &Path) -> Result<String> {
    let work = work_directory("agentdojo")?;
    let python = installed(&work)?;
    let mut scoring = process::command(&python);
    scoring.arg(format!("{AGENTDOJO_FOLDER}/score.py")).arg(product);
    scoring.arg(format!("{AGENTDOJO_FOLDER}/policies.json")).arg(&work);
    Ok(process::capture(&mut scoring)?.stdout)
}

fn mcpsec(product: &Path) -> Result<String> {
    let work = work_directory("mcpsec")?;
    let install = ["install", "--quiet", "--locked", "mcpsec", "--version", MCPSEC_VERSION, "--root"];
    process::run(process::cargo(&install).arg(&work))?;
    let mut scoring = process::command("python3");
    scoring.arg(format!("{MCPSEC_FOLDER}/score.py")).arg(product).arg(work.join("bin/mcpsec"));
    scoring
        .arg(format!("{MCPSEC_FOLDER}/policy.json"))
        .arg(format!("{MCPSEC_FOLDER}/legitimate.json"))
        .arg(&work);
    Ok(process::capture(&mut scoring)?.stdout)
}

fn work_directory(suite: &str) -> Result<PathBuf> {
    let work = workspace::target()?.join("suites").join(suite);
    fs::create_dir_all(&work)?;
    Ok(work)
}

/// The interpreter beside which the suite is, without the clients for language models that it names.
fn installed(work: &Path) -> Result<PathBuf> {
    let python = work.join("venv/bin/python");
    if !python.exists() {
        process::run(process::command("python3").args(["-m", "venv"]).arg(work.join("venv")))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::run(
        process::command(&python).args(pip).args(["-r", &format!("{AGENTDOJO_FOLDER}/requirements.txt")]),
    )?;
    process::run(process::command(&python).args(pip).args(["--no-deps", AGENTDOJO]))?;
    Ok(python)
}

/// Shows the tables, and puts them between their marks.
fn publish(begin: &str, tables: &str) -> Result<()> {
    print!("{tables}");
    let page = workspace::root().join(PAGE);
    let text = fs::read_to_string(&page)?;
    let (before, rest) = text.split_once(begin).with_context(|| format!("the page has no mark {begin}"))?;
    let (_, after) = rest.split_once(END).context("the page has no mark where the table ends")?;
    fs::write(page, format!("{before}{begin}{tables}{END}{after}"))?;
    Ok(())
}
