//! `portcullis server changes`: what was pinned on the left, what is shown now on the right.

use std::io;

use clap::Args;
use portcullis_catalogue::inert;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list};

/// Characters of one side.
const COLUMN: usize = 56;

#[derive(Args, Debug)]
pub(crate) struct Changes {
    /// The server's name.
    name: String,
    /// One tool only.
    tool: Option<String>,
    #[command(flatten)]
    reached: Reached,
}

impl Changes {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let tool = self.tool.as_deref().map_or(Value::Null, Value::from);
        let arguments = Object::new().with("name", self.name.as_str()).with("tool", tool);
        self.reached.run(output, Missing::Refuse, "server changes", arguments, shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let (server, changes) = (field(answer, "server"), list(answer, "changes"));
    if changes.is_empty() {
        return vec![format!("every tool of server `{server}` is as it was pinned")];
    }
    changes.iter().flat_map(|change| one(&server, change)).collect()
}

fn one(server: &str, change: &Value) -> Vec<String> {
    let tool = inert(&field(change, "tool"));
    let mut lines = vec![format!("tool `{tool}`, withheld since {}", field(change, "seen"))];
    if let Some(from) = change.get("renamed_from").and_then(Value::as_str) {
        lines.push(format!("it looks like `{}`, which is gone", inert(from)));
    }
    let (before, after) = (field(change, "class_before"), field(change, "class_after"));
    if before != after {
        lines.push(format!("class: {before} before, {after} now"));
    }
    let Some(parts) = change.get("parts").and_then(Value::as_array) else {
        lines.push(format!("too long to show here: `portcullis server changes {server} {tool}`"));
        lines.push(String::new());
        return lines;
    };
    for part in parts {
        lines.push(format!("  {}", field(part, "part")));
        lines.extend(side_by_side(&field(part, "before"), &field(part, "after")));
    }
    lines.push(format!("to accept it: `portcullis server accept {server} {tool}`"));
    lines.push(String::new());
    lines
}

/// Two texts in two columns; `|` marks lines that differ.
fn side_by_side(before: &str, after: &str) -> Vec<String> {
    let (left, right) = (folded(before), folded(after));
    let line = |at: usize| {
        let side = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
        let (left, right) = (side(&left), side(&right));
        let mark = if left == right { ' ' } else { '|' };
        format!("    {left:<COLUMN$} {mark} {right}").trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(line).collect()
}

/// The text's lines, none wider than a column, with nothing in them that a terminal would obey.
fn folded(text: &str) -> Vec<String> {
    let fold = |line: &str| -> Vec<String> {
        let characters: Vec<char> = inert(line).chars().collect();
        let chunks = characters.chunks(COLUMN).map(|chunk| chunk.iter().collect());
        let folded: Vec<String> = chunks.collect();
        if folded.is_empty() { vec![String::new()] } else { folded }
    };
    text.lines().flat_map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_stand_in_columns_and_what_differs_is_marked() {
        let lines = side_by_side("{\n  same\n  old", "{\n  same\n  new\n}");
        let marks: Vec<bool> = lines.iter().map(|line| line.contains('|')).collect();
        assert_eq!(marks, [false, false, true, true]);
        assert_eq!(lines[2], format!("    {:<COLUMN$} |   new", "  old"));
    }

    #[test]
    fn a_terminal_is_told_nothing() {
        let lines = side_by_side("plain", "\u{1b}[2Jgone\u{202e}");
        assert!(!lines.concat().contains(['\u{1b}', '\u{202e}']), "{lines:?}");
    }

    #[test]
    fn long_lines_are_folded() {
        let lines = side_by_side(&"x".repeat(130), "y");
        assert_eq!(lines.len(), 3);
    }
}
