//! Pages that promise something name the test that shows it: `crate::module::test`, or a task of `cargo xtask`.
//! What they name must exist, and a row that claims something names at least one.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Parser};

use super::Finding;
use super::sources::TextFile;

/// The pages whose names of tests are looked up.
const PAGES: [&str; 4] = ["SECURITY.md", "docs/aisvs.md", "docs/guarantees.md", "docs/threat-model.md"];

/// In this page each row either names a test or says that nothing is claimed.
const TABLE: &str = "docs/aisvs.md";
const NOT_CLAIMED: [&str; 2] = ["not claimed", "removed"];

/// Looks up everything that the pages name; `tasks` are those of `cargo xtask`.
pub(super) fn check(files: &[TextFile], tasks: &BTreeSet<String>) -> Vec<Finding> {
    let tests: BTreeSet<String> = files.iter().flat_map(tests_in).collect();
    let crates: BTreeSet<&str> = files.iter().filter_map(|file| Some(place(&file.path)?.0)).collect();
    let known = Known { tests, crates, tasks };
    let pages = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    pages.flat_map(|page| known.check_page(page)).collect()
}

struct Known<'a> {
    tests: BTreeSet<String>,
    crates: BTreeSet<&'a str>,
    tasks: &'a BTreeSet<String>,
}

/// What a piece of code in a page is.
enum Named {
    Evidence,
    Nowhere,
    SomethingElse,
}

impl Known<'_> {
    fn check_page(&self, page: &TextFile) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, line) in page.text.lines().enumerate() {
            let mut evidence = false;
            for code in code_in(line) {
                match self.name(&code) {
                    Named::Evidence => evidence = true,
                    Named::Nowhere => {
                        let message = format!("`{code}` is neither a test nor a task that exists");
                        findings.push(Finding::at_line(&page.path, index + 1, message));
                    }
                    Named::SomethingElse => {}
                }
            }
            if page.path == TABLE && is_requirement(line) && !evidence && !claims_nothing(line) {
                let message = "the row names no test; say `not claimed` if there is none";
                findings.push(Finding::at_line(&page.path, index + 1, message));
            }
        }
        findings
    }

    fn name(&self, code: &str) -> Named {
        let task = code.strip_prefix("cargo xtask ").and_then(|rest| rest.split_whitespace().next());
        let exists = match (task, code.split_once("::")) {
            (Some(task), _) => self.tasks.contains(task),
            (None, Some((package, _))) if self.crates.contains(package) => self.tests.contains(code),
            _ => return Named::SomethingElse,
        };
        if exists { Named::Evidence } else { Named::Nowhere }
    }
}

fn code_in(line: &str) -> Vec<String> {
    let codes = Parser::new(line).filter_map(|event| match event {
        Event::Code(code) => Some(code.into_string()),
        _ => None,
    });
    codes.collect()
}

/// A row of the table that starts with a number, as in `| 9.1.1 | …`.
fn is_requirement(line: &str) -> bool {
    let first = line.strip_prefix("| ").and_then(|row| row.split(' ').next());
    first.is_some_and(|cell| cell.contains('.') && cell.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

fn claims_nothing(line: &str) -> bool {
    NOT_CLAIMED.iter().any(|words| line.contains(words))
}

/// The crate and the module that a Rust file is: `crates/x/tests/it/a/b.rs` is `a::b` of `x`.
fn place(path: &str) -> Option<(&str, Vec<&str>)> {
    let (package, file) = path.strip_prefix("crates/")?.strip_suffix(".rs")?.split_once('/')?;
    let module = file.strip_prefix("src/").or_else(|| file.strip_prefix("tests/it/"))?;
    let last = ["mod", "lib", "main"];
    Some((package, module.split('/').filter(|part| !last.contains(part)).collect()))
}

/// The tests in a file, as pages name them; a module `tests` inside the file is left out.
fn tests_in(file: &TextFile) -> Vec<String> {
    let Some((package, module)) = place(&file.path) else {
        return Vec::new();
    };
    let prefix = [vec![package], module].concat().join("::");
    let mut names = Vec::new();
    let mut is_test = false;
    for line in file.text.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let function = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some((name, _)) = function.and_then(|rest| rest.split_once('(')) {
            if is_test {
                names.push(format!("{prefix}::{name}"));
            }
            is_test = false;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str =
        "#[test]\nfn holds() {}\nfn helps() {}\n\n#[tokio::test(flavor = \"x\")]\nasync fn waits() {}\n";

    fn found(page: &str, text: &str) -> Vec<(usize, String)> {
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/x/tests/it/a/b.rs", CODE),
            file("crates/x/src/lib.rs", CODE),
            file("crates/x/src/c/mod.rs", CODE),
            file(page, text),
        ];
        let findings = check(&files, &BTreeSet::from(["faults".to_owned()]));
        findings.into_iter().map(|finding| (finding.line.unwrap(), finding.message)).collect()
    }

    #[test]
    fn tests_and_tasks_that_exist_may_be_named() {
        let text =
            "`x::a::b::holds`, `x::holds`, `x::c::waits`\n`cargo xtask faults --long`, `y::z`, `serde::de`\n";
        assert!(found("docs/guarantees.md", text).is_empty());
    }

    #[test]
    fn what_does_not_exist_or_is_no_test_is_found() {
        let text = "`x::a::b::helps`\n`x::a::holds` and `x::c::holds`\n`cargo xtask fault`\n";
        let lines: Vec<usize> =
            found("docs/threat-model.md", text).into_iter().map(|found| found.0).collect();
        assert_eq!(lines, [1, 2, 3]);
        assert!(found("docs/other.md", text).is_empty(), "other pages may name what they like");
    }

    #[test]
    fn a_row_that_claims_something_names_a_test() {
        let text = "| id | claim |\n|---|---|\n| 9.1.1 | all good |\n| 9.1.2 | `x::holds` |\n| 9.1.3 | not claimed: no |\n";
        let found = found("docs/aisvs.md", text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 3);
    }
}
