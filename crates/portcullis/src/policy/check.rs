//! `portcullis policy check FILE…`

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use portcullis_json::{Limits, Object, Value};
use portcullis_policy::{Problems, Severity};

use super::report;
use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Say everything that is wrong with policies, or probably not meant.
///
/// Every problem is shown with its line, the text underlined, and what was probably meant. Warnings are
/// about what is legal and probably not meant; they count only with `--strict`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The policies; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The server's tools, to warn of names it does not have: a saved answer to `tools/list`, or a list of names.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Exit with 1 when there are warnings.
    #[arg(long)]
    strict: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What one file came to.
struct Checked {
    source: Vec<u8>,
    problems: Problems,
}

impl Check {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let known = match self.tools.as_deref().map(known_tools).transpose() {
            Ok(known) => known,
            Err(message) => return output.error(&message).map(|()| Code::Failed),
        };
        let mut worst = Code::Good;
        let mut results = Vec::new();
        for path in &self.files {
            let (code, result) = match check(path, known.as_deref()) {
                Ok(checked) => {
                    if !self.json {
                        show(path, &checked, output)?;
                    }
                    (self.code(&checked.problems), report::as_json(path, &checked.source, &checked.problems))
                }
                Err(message) => {
                    output.error(&message)?;
                    (Code::Failed, unreadable(path, &message))
                }
            };
            worst = worse(worst, code);
            results.push(result);
        }
        if self.json {
            output.line(&Value::from(Object::new().with("files", results)).to_string())?;
        }
        Ok(worst)
    }

    fn code(&self, problems: &Problems) -> Code {
        if problems.has_errors() {
            return Code::Failed;
        }
        if self.strict && !problems.is_empty() { Code::No } else { Code::Good }
    }
}

fn check(path: &Path, known: Option<&[String]>) -> Result<Checked, String> {
    let source = files::read(path)?;
    let (policy, mut problems) = portcullis_policy::check(&source);
    if let (Some(policy), Some(known)) = (policy, known) {
        problems.extend(portcullis_policy::warn_unknown_tools(&policy, &source, known));
    }
    Ok(Checked { source, problems })
}

/// The names in a saved answer to `tools/list`, whole or only its `tools`, or in a plain list.
fn known_tools(path: &Path) -> Result<Vec<String>, String> {
    let source = files::read(path)?;
    let document = portcullis_json::parse(&source, &Limits::message())
        .map_err(|fault| format!("`{}`: {fault}", path.display()))?;
    let result = document.get("result").unwrap_or(&document);
    let tools = result.get("tools").unwrap_or(result).as_array();
    let name = |tool: &Value| tool.as_str().or_else(|| tool.get("name")?.as_str()).map(str::to_owned);
    tools.and_then(|tools| tools.iter().map(name).collect()).ok_or_else(|| {
        format!("`{}` is neither an answer to `tools/list` nor a list of names", path.display())
    })
}

fn show(path: &Path, checked: &Checked, output: &mut Output) -> io::Result<()> {
    let problems = &checked.problems;
    if !problems.is_empty() {
        output.line(&report::drawn(path, &checked.source, problems, output.has_colour()))?;
        output.line("")?;
    }
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error) + problems.left_out(), count(Severity::Warning));
    let word = if errors > 0 { output.bad("refused") } else { output.good("ok") };
    output.line(&format!(
        "{}: {word} ({}, {})",
        path.display(),
        counted(errors, "error"),
        counted(warnings, "warning")
    ))
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        more => format!("{more} {noun}s"),
    }
}

fn unreadable(path: &Path, message: &str) -> Value {
    Object::new().with("file", path.display().to_string()).with("valid", false).with("error", message).into()
}

fn worse(a: Code, b: Code) -> Code {
    match (a, b) {
        (Code::Failed, _) | (_, Code::Failed) => Code::Failed,
        (Code::No, _) | (_, Code::No) => Code::No,
        (Code::Good, Code::Good) => Code::Good,
    }
}
