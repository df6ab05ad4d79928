//! Prints the report of a saved `tools/list` answer: `catalogue_report html|markdown|json|sarif|text SERVER FILE`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that prints a report")]

use std::process::ExitCode;

use portcullis_catalogue::index::import::tools_list;
use portcullis_catalogue::record::{Provenance, ServerFacts, ServerRecord};
use portcullis_catalogue::render::{View, html_report, sarif, server_json, server_markdown, server_terminal};
use portcullis_json::pretty;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, server, file] = arguments.as_slice() else {
        eprintln!("usage: catalogue_report html|markdown|json|sarif|text SERVER FILE");
        return ExitCode::from(2);
    };
    let tools = match std::fs::read_to_string(file).map_err(|error| error.to_string()) {
        Ok(text) => tools_list(&text).map_err(|fault| fault.reason),
        Err(error) => Err(error),
    };
    let (tools, skipped) = match tools {
        Ok(read) => read,
        Err(error) => {
            eprintln!("cannot read `{file}`: {error}");
            return ExitCode::from(2);
        }
    };
    for fault in skipped {
        eprintln!("{}: {}", fault.place, fault.reason);
    }
    let facts = ServerFacts { name: server.clone(), ..ServerFacts::default() };
    let record = ServerRecord::of(facts, tools, Provenance::Live);
    println!("{}", render(format, record));
    ExitCode::SUCCESS
}

fn render(format: &str, record: ServerRecord) -> String {
    match format {
        "html" => html_report(&[record], "by an example"),
        "markdown" => server_markdown(&record),
        "json" => pretty(&server_json(&record)),
        "sarif" => pretty(&sarif(&[record], "0", None)),
        _ => server_terminal(&record, View::PLAIN),
    }
}
