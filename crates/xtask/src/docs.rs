//! The generated documents: `cargo xtask docs` writes them, tidy compares them with what is checked in.
//!
//! All come from the built binary or from what is built into it, so that a document cannot say what the
//! program does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

mod commands;
mod help;
mod shipped;

/// A file that is generated and checked in.
pub(crate) struct Document {
    /// From the root of the repository.
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// Every generated document, as the binary at `product` makes it.
pub(crate) fn generate(product: &Path) -> Result<Vec<Document>> {
    let schema = ask(product, &["policy", "schema"])?;
    let commands = commands::page(&mut |words| ask(product, words))?;
    Ok(vec![
        Document { path: "docs/reference/policy.schema.json", text: schema },
        Document { path: "docs/reference/commands.md", text: commands },
        Document { path: "docs/reference/configuration.md", text: ask(product, &["config", "reference"])? },
        Document { path: "docs/reference/shipped-index.md", text: shipped::page()? },
    ])
}

/// Writes the documents that differ, and says which.
pub(crate) fn write(product: &Path) -> Result<()> {
    for document in generate(product)? {
        let path = workspace::root().join(document.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == document.text) {
            println!("{} is up to date", document.path);
            continue;
        }
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, &document.text).with_context(|| format!("cannot write `{}`", document.path))?;
        println!("{} written", document.path);
    }
    Ok(())
}

/// What the product prints for `words`, the same on every machine: no settings of the person who runs it.
fn ask(product: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new(product);
    command.current_dir(workspace::root()).args(words);
    command.env_clear().env("NO_COLOR", "1").env("COLUMNS", "100");
    let answer = process::capture(&mut command)?.stdout;
    ensure!(!answer.trim().is_empty(), "`portcullis {}` printed nothing", words.join(" "));
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_prints_nothing_makes_no_document() {
        let error = ask(Path::new("true"), &["policy", "schema"]).unwrap_err();
        assert_eq!(error.to_string(), "`portcullis policy schema` printed nothing");
    }

    #[test]
    fn settings_of_the_person_who_runs_it_do_not_reach_the_program() {
        let seen = ask(Path::new("env"), &[]).unwrap();
        let mut seen: Vec<&str> = seen.lines().collect();
        seen.sort_unstable();
        assert_eq!(seen, ["COLUMNS=100", "NO_COLOR=1"]);
    }
}
