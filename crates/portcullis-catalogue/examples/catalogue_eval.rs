//! Prints the figures of the classifier for files of labelled tools, given by path.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that prints a report")]

use std::process::ExitCode;

use portcullis_catalogue::eval::{evaluate, read_rows, report};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!(
            "usage: catalogue_eval FILE… (JSON lines with `server`, `tool` and `annotations` or `category`)"
        );
        return ExitCode::from(2);
    }
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match std::fs::read_to_string(&file) {
            Ok(text) => print_report(&file, &text),
            Err(error) => {
                eprintln!("cannot read `{file}`: {error}");
                code = ExitCode::from(2);
            }
        }
    }
    code
}

fn print_report(file: &str, text: &str) {
    let (rows, faults) = read_rows(text);
    for fault in faults {
        eprintln!("{file}:{}: {}", fault.line, fault.message);
    }
    println!("{}", report(&format!("{file}, hints withheld"), &evaluate(&rows, false)));
    let shown = evaluate(&rows, true);
    if shown.mismatches > 0 || rows.iter().any(|row| row.tool.hints.read_only.is_some()) {
        println!(
            "with hints shown: macro-F1 {:.3}, unsafe {} of {}, contradicting hints {}",
            shown.confusion.macro_f1(),
            shown.unsafe_count.0,
            shown.unsafe_count.1,
            shown.mismatches
        );
        for judged in shown.judged.iter().filter(|judged| judged.classification.hint_contradicts) {
            println!(
                "  {}/{} {}",
                judged.row.server,
                judged.row.tool.name,
                judged.classification.class.name()
            );
        }
    }
}
