//! `cargo xtask catalogue-eval FILE…`: measures the classifier against labelled tools.
//!
//! The files stay where they are; nothing of them is copied. A line is a JSON object with `server`, `tool`,
//! `description`, perhaps `inputKeys`, and a truth: `annotations` with `readOnlyHint`, or a `category`. A
//! directory is searched for saved `tools/list` answers, whose annotations are the truth.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use portcullis_catalogue::eval::{Evaluation, Labelled, Truth, evaluate, read_rows, report};
use portcullis_catalogue::index::import::directory;
use portcullis_catalogue::{Siblings, ToolDefinition, classify, inert_short};

/// What `cargo xtask catalogue-eval` takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Files of labelled tools, or directories with `tools.json` files in them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print the class of every tool in place of the figures, also where there is no label
    #[arg(long)]
    classes: bool,
}

/// Prints the figures, or the classes, of each file.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    for file in &arguments.files {
        let rows = rows_of(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        if arguments.classes {
            print_classes(&rows);
        } else {
            print_figures(file, &rows);
        }
    }
    Ok(())
}

fn rows_of(file: &Path) -> Result<Vec<Labelled>> {
    if !file.is_dir() {
        let (rows, faults) = read_rows(&std::fs::read_to_string(file)?);
        for fault in faults {
            eprintln!("{}:{}: {}", file.display(), fault.line, fault.message);
        }
        return Ok(rows);
    }
    let (listings, skipped) = directory(file).map_err(|fault| anyhow!("{fault}"))?;
    for fault in skipped {
        eprintln!("{}: {}", fault.place, fault.reason);
    }
    let rows = listings.into_iter().flat_map(|listing| {
        let server = listing.server.name;
        listing.tools.into_iter().map(move |tool| labelled(&server, tool))
    });
    Ok(rows.collect())
}

fn labelled(server: &str, tool: ToolDefinition) -> Labelled {
    let truth = tool.hints.read_only.map_or(Truth::NotScored, Truth::ReadOnly);
    Labelled { server: server.to_owned(), tool, truth }
}

fn print_figures(file: &Path, rows: &[Labelled]) {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    println!("{}", report(&format!("{name}, hints withheld"), &evaluate(rows, false)));
    let shown = evaluate(rows, true);
    if rows.iter().any(|row| row.tool.hints.read_only.is_some()) {
        println!("{}", with_hints(&shown));
    }
}

fn with_hints(shown: &Evaluation) -> String {
    let (missed, mutating) = shown.unsafe_count;
    let mut text = format!(
        "with hints shown: macro-F1 {:.3}, unsafe {missed} of {mutating}, contradicting hints {}\n",
        shown.confusion.macro_f1(),
        shown.mismatches
    );
    for judged in shown.judged.iter().filter(|judged| judged.classification.hint_contradicts) {
        let name = format!("{}/{}", judged.row.server, judged.row.tool.name);
        text.push_str(&format!("  {:<11} {}\n", judged.classification.class.name(), inert_short(&name, 120)));
    }
    text
}

fn print_classes(rows: &[Labelled]) {
    let mut by_server: BTreeMap<&str, Vec<ToolDefinition>> = BTreeMap::new();
    for row in rows {
        by_server.entry(&row.server).or_default().push(row.tool.clone());
    }
    let mut mix: BTreeMap<&str, usize> = BTreeMap::new();
    for (server, tools) in by_server {
        let siblings = Siblings::of(server, &tools);
        for tool in &tools {
            let class = print_class(server, tool, &siblings);
            *mix.entry(class).or_default() += 1;
        }
    }
    for (class, count) in mix {
        let share = 100.0 * count as f64 / rows.len().max(1) as f64;
        println!("total {class}: {count} of {} ({share:.1} %)", rows.len());
    }
}

fn print_class(server: &str, tool: &ToolDefinition, siblings: &Siblings) -> &'static str {
    let found = classify(tool, siblings);
    let class = found.class.name();
    let rule = found.evidence.first().map(|evidence| evidence.rule.code()).unwrap_or_default();
    let line = format!("{server}/{} | {}", tool.name, tool.description.as_deref().unwrap_or_default());
    println!("{class:<11} {:.2} {rule:<3} {}", found.confidence, inert_short(&line, 170));
    class
}
