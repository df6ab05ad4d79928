//! `cargo xtask tidy`: the project's own rules, those that neither rustc nor clippy knows.
//!
//! Each check is one module with one pure function from text to findings; this file only gathers the
//! input and prints what was found, all of it at once.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::workspace;

mod sources;

mod arrows;
mod attributes;
mod evidence;
mod generated;
mod invariants;
mod links;
mod machine_paths;
mod module_heads;
mod names;
mod purity;
mod sizes;

use sources::Sources;

/// A rule that is broken, and where.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    /// About a file as a whole.
    fn in_file(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, message: message.into() }
    }

    /// About one line, counted from 1.
    fn at_line(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Runs every check on the working tree; `product` is the built binary.
pub(crate) fn run(product: &Path) -> Result<()> {
    let findings = find_all(product)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing found"),
        1 => bail!("tidy found 1 problem"),
        count => bail!("tidy found {count} problems"),
    }
    Ok(())
}

fn find_all(product: &Path) -> Result<Vec<Finding>> {
    let (sources, mut findings) = Sources::read()?;
    findings.extend(arrows::check(&workspace::metadata()?));
    findings.extend(check_purity(&sources)?);
    findings.extend(module_heads::check(&sources.texts));
    findings.extend(sizes::check(&sources.rust, &read_size_exceptions()?));
    findings.extend(names::check(&sources.rust));
    findings.extend(attributes::check(&sources.rust));
    findings.extend(invariants::check(&sources.texts));
    findings.extend(evidence::check(&sources.texts, &crate::tasks()));
    findings.extend(links::check(&sources));
    findings.extend(machine_paths::check(&sources.texts));
    findings.extend(generated::check(product, &sources.texts));
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(findings)
}

fn check_purity(sources: &Sources) -> Result<Vec<Finding>> {
    let mut findings = purity::check_sources(&sources.rust);
    for package in purity::PURE {
        // Its own features only: in the whole workspace another crate may switch more on.
        let mut tree = process::cargo(&["tree", "--package", package, "--all-features"]);
        tree.args(["--edges", "normal", "--prefix", "none"]);
        let listed = process::capture(&mut tree)?.stdout;
        findings.extend(purity::check_dependencies(package, &listed));
    }
    Ok(findings)
}

fn read_size_exceptions() -> Result<String> {
    fs::read_to_string(workspace::root().join(sizes::EXCEPTIONS_PATH))
        .with_context(|| format!("cannot read `{}`", sizes::EXCEPTIONS_PATH))
}
