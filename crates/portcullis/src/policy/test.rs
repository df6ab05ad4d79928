//! `portcullis policy test FILE…`

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use portcullis_json::{Limits, Object, Place, Value};
use portcullis_policy::{CaseResult, run_tests, yaml_to_value};

use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Run policy test files.
///
/// A test file names a policy and lists calls with the decision that is expected of each; JSON, or the
/// same in YAML (`.yaml`, `.yml`). Policies are found relative to the test file.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The test files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name every case, not only those that fail.
    #[arg(long, short)]
    verbose: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

impl Test {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let (mut passed, mut failed, mut unusable) = (0_usize, 0_usize, 0_usize);
        let mut results = Vec::new();
        for path in &self.files {
            let result = Object::new().with("file", path.display().to_string());
            match run_file(path) {
                Ok(cases) => {
                    passed += cases.iter().filter(|case| case.passed).count();
                    failed += cases.iter().filter(|case| !case.passed).count();
                    if !self.json {
                        self.show(path, &cases, output)?;
                    }
                    let cases = cases.into_iter().map(case_as_json).collect::<Vec<_>>();
                    results.push(Value::from(result.with("cases", cases)));
                }
                Err(message) => {
                    unusable += 1;
                    output.error(&format!("{}: {message}", path.display()))?;
                    results.push(result.with("error", message).into());
                }
            }
        }
        self.summarise(passed, failed, unusable, results, output)?;
        Ok(match (unusable, failed) {
            (0, 0) => Code::Good,
            (0, _) => Code::No,
            _ => Code::Failed,
        })
    }

    fn show(&self, path: &Path, cases: &[CaseResult], output: &mut Output) -> io::Result<()> {
        for case in cases.iter().filter(|case| self.verbose || !case.passed) {
            let word = if case.passed { output.good("ok    ") } else { output.bad("FAILED") };
            output.line(&format!("{word} {}: {}", path.display(), case.name))?;
            if !case.passed {
                output.line(&side_by_side(case))?;
            }
        }
        Ok(())
    }

    fn summarise(
        &self,
        passed: usize,
        failed: usize,
        unusable: usize,
        results: Vec<Value>,
        output: &mut Output,
    ) -> io::Result<()> {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        if self.json {
            let summary = Object::new()
                .with("passed", count(passed))
                .with("failed", count(failed))
                .with("files", results);
            return output.line(&Value::from(summary).to_string());
        }
        let word = if failed + unusable == 0 { output.good("ok") } else { output.bad("failed") };
        let unusable =
            if unusable > 0 { format!(", {unusable} files could not be run") } else { String::new() };
        output.line(&format!("{word}: {passed} passed, {failed} failed{unusable}"))
    }
}

fn run_file(path: &Path) -> Result<Vec<CaseResult>, String> {
    let document = read_document(path)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    run_tests(&document, &|name| files::read(&directory.join(name)))
}

/// By its ending: YAML, else JSON.
fn read_document(path: &Path) -> Result<Value, String> {
    let source = files::read(path)?;
    if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
        return yaml_to_value(&source).map_err(|fault| fault.to_string());
    }
    portcullis_json::parse(&source, &Limits::document()).map_err(|fault| {
        let place = Place::of(&source, fault.offset);
        format!("line {}, column {}: {}", place.line, place.column, fault.kind)
    })
}

/// Expected and actual, a row for each field that was expected.
fn side_by_side(case: &CaseResult) -> String {
    let expected = case.expected.as_object().into_iter().flatten();
    let mut rows = vec![("", "expected".to_owned(), "actual".to_owned())];
    for member in expected {
        let key = match member.key.as_str() {
            "message_contains" => "message",
            "error_contains" => "error",
            key => key,
        };
        let actual = case.actual.get(key).map_or("(nothing)".to_owned(), Value::to_string);
        rows.push((member.key.as_str(), member.value.to_string(), actual));
    }
    if let (Some(message), None) = (case.actual.get("message"), case.expected.get("message_contains")) {
        rows.push(("message", String::new(), message.to_string()));
    }
    let width = |column: fn(&(&str, String, String)) -> usize| rows.iter().map(column).max().unwrap_or(0);
    let (first, second) = (width(|row| row.0.chars().count()), width(|row| row.1.chars().count()));
    let lines = rows
        .iter()
        .map(|(key, expected, actual)| format!("       {key:first$}  {expected:second$}  {actual}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn case_as_json(case: CaseResult) -> Value {
    Object::new()
        .with("name", case.name)
        .with("passed", case.passed)
        .with("expected", case.expected)
        .with("actual", case.actual)
        .into()
}
