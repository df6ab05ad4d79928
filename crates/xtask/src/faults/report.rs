//! The table of a run: for the terminal, and for `docs/faults.md`.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;

use super::client::Told;
use super::stage::Row;

const HEAD: &str = include_str!("head.md");
const TAIL: &str = include_str!("tail.md");

/// One scenario's line.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// How it went.
pub(crate) enum Outcome {
    Held(Box<Row>),
    Failed,
    /// Something was missing that it needs.
    NotShown,
}

impl Line {
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed)
    }
}

/// For the terminal.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut text = format!(
        "{:<16}{:>8}{:>8}{:>8}{:>8}{:>10}{:>9}{:>14}{:>12}{:>8}\n",
        "fault", "results", "denied", "errors", "closed", "received", "records", "MB", "descriptors", "s"
    );
    for line in lines {
        let Outcome::Held(row) = &line.outcome else {
            let _ =
                writeln!(text, "{:<16}{}", line.name, if line.has_failed() { "FAILED" } else { "not shown" });
            continue;
        };
        let count = |told| row.tally.count(&told);
        let _ = writeln!(
            text,
            "{:<16}{:>8}{:>8}{:>8}{:>8}{:>10}{:>9}{:>14}{:>12}{:>8.1}",
            line.name,
            count(Told::Result),
            count(Told::Denied),
            count(Told::Error),
            count(Told::Closed),
            row.compared.received,
            row.compared.records,
            format!("{} → {}", row.before.resident_kb >> 10, row.after.resident_kb >> 10),
            format!("{} → {}", row.before.descriptors, row.after.descriptors),
            line.took.as_secs_f64()
        );
    }
    text
}

/// Writes the document of a run.
pub(crate) fn write(lines: &[Line], form: &str, seed: u64) -> Result<()> {
    let mut text = HEAD.to_owned();
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let _ = writeln!(text, "A run of {date}, {form}, on {} cores, seed {seed}:\n", super::cores()?);
    text += "| fault | what was done | results, denied, errors, closed | received | records | MB before → after | descriptors |\n";
    text += "|---|---|---|---|---|---|---|\n";
    for line in lines {
        text += &markdown(line);
    }
    text += TAIL;
    let path = super::document()?;
    std::fs::write(&path, text)?;
    println!("wrote `docs/faults.md`");
    Ok(())
}

fn markdown(line: &Line) -> String {
    let Outcome::Held(row) = &line.outcome else {
        return format!(
            "| {} | **not shown**: only root may mount a small file system | | | | | |\n",
            line.name
        );
    };
    let ends = [Told::Result, Told::Denied, Told::Error, Told::Closed];
    let ends = ends.map(|told| row.tally.count(&told).to_string()).join(", ");
    format!(
        "| {} | {} | {ends} | {} | {} | {} → {} | {} → {} |\n",
        line.name,
        row.done,
        row.compared.received,
        row.compared.records,
        row.before.resident_kb >> 10,
        row.after.resident_kb >> 10,
        row.before.descriptors,
        row.after.descriptors
    )
}
