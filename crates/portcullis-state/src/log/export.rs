//! Export: the log as JSON lines, CSV or OCSF, for other tools.
//!
//! JSON lines are the stored lines, byte for byte, so that an exported part can still be checked. CSV is
//! safe to open in a spreadsheet. OCSF is in `ocsf.rs`. Streams from the segments, not from the index.

use std::io::{self, Write};
use std::path::Path;

use portcullis_json::{Value, compact};

use super::follow::{Begin, Followed, Follower};
use super::ocsf;
use super::stored::Stored;

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The stored lines.
    JsonLines,
    /// A table.
    Csv,
    /// Open Cybersecurity Schema Framework, one event per line.
    Ocsf,
}

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Records written.
    pub written: u64,
    /// Records that matched but have no form there (the log's own, in OCSF).
    pub left_out: u64,
}

/// The columns of the table.
const COLUMNS: [&str; 32] = [
    "seq",
    "time",
    "kind",
    "request",
    "grant",
    "session",
    "server",
    "method",
    "tool",
    "resource",
    "class",
    "class_source",
    "policy",
    "policy_version",
    "policy_hash",
    "outcome",
    "rule",
    "message",
    "shadow",
    "argument_keys",
    "arguments_digest",
    "charges",
    "given_back",
    "status",
    "latency_us",
    "action",
    "by",
    "source",
    "decision",
    "count",
    "approval",
    "argument_keys_more",
];

/// Writes every record that `wanted` takes.
pub fn export(
    directory: &Path,
    format: ExportFormat,
    wanted: &dyn Fn(&Stored) -> bool,
    out: &mut dyn Write,
) -> io::Result<Exported> {
    let mut follower = Follower::open(directory, Begin::Start)?;
    let mut exported = Exported::default();
    if format == ExportFormat::Csv {
        writeln!(out, "{}", COLUMNS.join(","))?;
    }
    while let Some(followed) = follower.next_record()? {
        if !wanted(&followed.record) {
            continue;
        }
        match form(format, &followed) {
            Some(line) => {
                out.write_all(line.as_bytes())?;
                exported.written += 1;
            }
            None => exported.left_out += 1,
        }
    }
    out.flush()?;
    Ok(exported)
}

fn form(format: ExportFormat, followed: &Followed) -> Option<String> {
    let line = match format {
        ExportFormat::JsonLines => String::from_utf8_lossy(&followed.line).into_owned(),
        ExportFormat::Csv => row(&followed.record),
        ExportFormat::Ocsf => compact(&ocsf::event(&followed.record)?),
    };
    Some(line + "\n")
}

fn row(record: &Stored) -> String {
    let cells: Vec<String> = COLUMNS
        .iter()
        .map(|column| match record.fields().get(column) {
            None => String::new(),
            Some(Value::String(text)) => cell(text),
            Some(value) => cell(&compact(value)),
        })
        .collect();
    cells.join(",")
}

/// One cell: quoted, on one line, and never a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let mut cell = String::with_capacity(text.len() + 3);
    cell.push('"');
    if formula {
        cell.push('\'');
    }
    for character in text.chars() {
        match character {
            '"' => cell.push_str("\"\""),
            control if control.is_control() => cell.push(' '),
            other => cell.push(other),
        }
    }
    cell.push('"');
    cell
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_text_whatever_it_says() {
        for (text, stored) in [
            ("plain", "\"plain\""),
            ("=1+1", "\"'=1+1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("-2", "\"'-2\""),
            ("\t=1", "\"' =1\""),
            ("say \"hi\"\nx", "\"say \"\"hi\"\" x\""),
        ] {
            assert_eq!(cell(text), stored);
        }
    }
}
