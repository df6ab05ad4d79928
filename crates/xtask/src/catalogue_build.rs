//! `cargo xtask catalogue-build LIST`: installs each server of a list, starts it, asks it for its tools and
//! writes the facts into the index that ships with the program.
//!
//! Goes on where it stopped: what a server answered is kept under the target directory by package and
//! version, and is not asked for again. A server that cannot be installed or does not answer is named with the
//! reason and left out. Nothing of a description gets into the index.

mod answer;
mod install;
mod list;

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, ensure};
use portcullis_catalogue::index::import::tools_list;
use portcullis_catalogue::index::{Counts, Index, Listing, ServerEntry};
use portcullis_catalogue::record::Provenance;

use crate::workspace;
use list::Line;

const INDEX: &str = "crates/portcullis-catalogue/index/live.jsonl";
const LIST: &str = "crates/portcullis-catalogue/index/servers.list";

/// What `cargo xtask catalogue-build` takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The servers to list
    #[arg(default_value = LIST)]
    list: PathBuf,
    /// Write the index here and not to the one that ships
    #[arg(long, value_name = "FILE", default_value = INDEX)]
    out: PathBuf,
    /// Only lines whose package holds this text are installed and asked; the others are taken as they are kept
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Install and start nothing: judge again what was answered before
    #[arg(long)]
    offline: bool,
}

/// Builds the index; fails only when the list or the index cannot be used.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let file = workspace::root().join(&arguments.list);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let lines = list::read(&text)?;
    let kept = workspace::target()?.join("catalogue-build");
    let out = workspace::root().join(&arguments.out);
    let mut index = before(&out)?;
    let mut failures = Vec::new();
    for line in &lines {
        match add(line, arguments, &kept, &mut index) {
            Ok(said) => println!("{:<60} {said}", line.label()),
            Err(error) => {
                println!("{:<60} LEFT OUT: {error:#}", line.label());
                failures.push(line.label());
            }
        }
        write(&index, &lines, &out)?;
    }
    println!("\n{}", summary(&index.counts()?, lines.len(), failures.len()));
    Ok(())
}

/// The index as the last run left it.
fn before(out: &Path) -> Result<Index> {
    let mut index = Index::in_memory()?;
    if out.is_file() {
        index.read_facts(&std::fs::read_to_string(out)?)?;
    }
    Ok(index)
}

fn add(line: &Line, arguments: &Arguments, kept: &Path, index: &mut Index) -> Result<String> {
    let place = kept.join(line.folder());
    let answer = place.join("tools.json");
    let wanted = arguments.only.as_ref().is_none_or(|text| line.label().contains(text.as_str()));
    if !answer.is_file() {
        let known =
            index.server(&line.package)?.is_some_and(|server| server.version.as_ref() == Some(&line.version));
        if known {
            return Ok("as before".to_owned());
        }
        ensure!(wanted && !arguments.offline, "not asked yet");
        let started = install::install(line, &place)?;
        let tools = answer::ask(line, &started, &place)?;
        std::fs::write(&answer, tools)?;
    }
    import(line, &answer, index)
}

fn import(line: &Line, answer: &Path, index: &mut Index) -> Result<String> {
    let seen_at = std::fs::metadata(answer)?
        .modified()?
        .duration_since(UNIX_EPOCH)
        .map_err(|_| anyhow::anyhow!("the clock of `{}` is before 1970", answer.display()))?;
    let (tools, skipped) = tools_list(&std::fs::read_to_string(answer)?)
        .map_err(|fault| anyhow::anyhow!("{}: {}", fault.place, fault.reason))?;
    ensure!(!tools.is_empty(), "the server lists no tools");
    let count = tools.len();
    let listing = Listing {
        server: ServerEntry {
            name: line.package.clone(),
            version: Some(line.version.clone()),
            package: Some(format!("{}:{}", line.registry.name(), line.package)),
            ..ServerEntry::default()
        },
        tools,
        provenance: Provenance::Live,
        source: "catalogue-build".to_owned(),
        complete: true,
    };
    let report = index.import(std::iter::once(listing), i64::try_from(seen_at.as_secs())?)?;
    let skipped = skipped.len() + report.skipped.len();
    let left_out = if skipped > 0 { format!(", {skipped} of them unusable") } else { String::new() };
    let tools = if count == 1 { "tool" } else { "tools" };
    Ok(format!("{count} {tools}{left_out}"))
}

/// Only servers of the list are written: what was taken off the list leaves the index.
fn write(index: &Index, lines: &[Line], out: &Path) -> Result<()> {
    let mut text = Vec::new();
    let listed = |name: &str, version: Option<&String>| {
        lines.iter().any(|line| line.package == name && Some(&line.version) == version)
    };
    index.write_facts(|server| listed(&server.name, server.version.as_ref()), &mut text)?;
    let new = out.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, out).with_context(|| format!("cannot write `{}`", out.display()))
}

fn summary(counts: &Counts, lines: usize, failed: usize) -> String {
    let live = counts.tools.iter().filter(|(provenance, _, _)| *provenance == Provenance::Live);
    let classes: Vec<String> = live.map(|(_, class, count)| format!("{count} {}", class.name())).collect();
    format!(
        "{lines} servers on the list, {failed} left out; {} servers with {} tools listed live: {}",
        counts.servers,
        counts.total(),
        classes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_ships_is_on_the_list_in_the_same_version() {
        let lines = list::read(&std::fs::read_to_string(workspace::root().join(LIST)).unwrap()).unwrap();
        let index = Index::shipped().unwrap();
        for server in index.servers().unwrap() {
            let line = lines.iter().find(|line| line.package == server.name).unwrap();
            assert_eq!(server.version.as_ref(), Some(&line.version), "{}", server.name);
        }
    }
}
