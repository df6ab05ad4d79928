//! `cargo xtask suites`: public suites that need no language model, replayed and scored.
//!
//! Not part of CI: it installs them from PyPI, below the target directory, and writes what came of it into
//! `docs/attacks.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{process, workspace};

const FOLDER: &str = "cases/suites/agentdojo";
const AGENTDOJO: &str = "agentdojo==0.1.35";
const PAGE: &str = "docs/attacks.md";
const BEGIN: &str = "<!-- agentdojo: written by `cargo xtask suites` -->\n";
const END: &str = "<!-- end -->\n";

pub(crate) fn run() -> Result<()> {
    let product = workspace::build_product()?;
    let work = workspace::target()?.join("suites/agentdojo");
    fs::create_dir_all(&work)?;
    let python = installed(&work)?;
    let mut scoring = process::command(&python);
    scoring.arg(format!("{FOLDER}/score.py")).arg(&product).arg(format!("{FOLDER}/policies.json")).arg(&work);
    let table = process::capture(&mut scoring)?.stdout;
    print!("{table}");
    publish(&workspace::root().join(PAGE), &table)
}

/// The interpreter beside which the suite is, without the clients for language models that it names.
fn installed(work: &Path) -> Result<PathBuf> {
    let python = work.join("venv/bin/python");
    if !python.exists() {
        process::run(process::command("python3").args(["-m", "venv"]).arg(work.join("venv")))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::run(process::command(&python).args(pip).args(["-r", &format!("{FOLDER}/requirements.txt")]))?;
    process::run(process::command(&python).args(pip).args(["--no-deps", AGENTDOJO]))?;
    Ok(python)
}

/// Puts the table between its marks.
fn publish(page: &Path, table: &str) -> Result<()> {
    let text = fs::read_to_string(page)?;
    let (before, rest) = text.split_once(BEGIN).context("the page has no mark where the table begins")?;
    let (_, after) = rest.split_once(END).context("the page has no mark where the table ends")?;
    fs::write(page, format!("{before}{BEGIN}{table}{END}{after}"))?;
    Ok(())
}
