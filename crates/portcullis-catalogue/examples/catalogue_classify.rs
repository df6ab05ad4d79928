//! Classifies every tool of JSON-lines files, given by path: the mix of classes, then one line per tool.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that prints a report")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use portcullis_catalogue::eval::{Labelled, read_rows};
use portcullis_catalogue::{Siblings, ToolDefinition, classify, inert_short};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            eprintln!("cannot read `{file}`");
            return ExitCode::from(2);
        };
        let (rows, faults) = read_rows(&text);
        for fault in faults {
            eprintln!("{file}:{}: {}", fault.line, fault.message);
        }
        print_rows(&rows);
    }
    ExitCode::SUCCESS
}

fn print_rows(rows: &[Labelled]) {
    let mut by_server: BTreeMap<&str, Vec<ToolDefinition>> = BTreeMap::new();
    for row in rows {
        by_server.entry(&row.server).or_default().push(row.tool.clone());
    }
    let mut mix: BTreeMap<&str, usize> = BTreeMap::new();
    for (server, tools) in by_server {
        let siblings = Siblings::of(server, &tools);
        for tool in &tools {
            let found = classify(tool, &siblings);
            *mix.entry(found.class.name()).or_default() += 1;
            let rule = found.evidence.first().map(|evidence| evidence.rule.code()).unwrap_or_default();
            let description = tool.description.as_deref().unwrap_or_default();
            let line = format!("{server}/{} | {description}", tool.name);
            println!(
                "{:<11} {:.2} {rule:<3} {}",
                found.class.name(),
                found.confidence,
                inert_short(&line, 170)
            );
        }
    }
    for (class, count) in mix {
        println!(
            "total {class}: {count} of {} ({:.1} %)",
            rows.len(),
            100.0 * count as f64 / rows.len() as f64
        );
    }
}
