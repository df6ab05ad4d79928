//! Problems as a person reads them, and as JSON.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use portcullis_json::{Object, Value};
use portcullis_policy::{Problem, Problems, Severity};

/// All problems of a file, each with its line, the text underlined, and a suggestion.
pub(super) fn drawn(path: &Path, source: &[u8], problems: &Problems, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let shown = path.display().to_string();
    // Bytes that are no text can still be shown around.
    let text = String::from_utf8_lossy(source);
    let mut drawings: Vec<String> = problems
        .iter()
        .map(|problem| renderer.render(&[group(&shown, &text, problem, text.len() == source.len())]))
        .collect();
    if problems.left_out() > 0 {
        drawings.push(format!("… and {} more problems in `{shown}`", problems.left_out()));
    }
    drawings.join("\n\n")
}

fn group<'a>(path: &'a str, source: &'a str, problem: &'a Problem, spans_fit: bool) -> Group<'a> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.message.as_str());
    let group = match &problem.span {
        Some(span) if spans_fit && !source.is_empty() => {
            let marked = AnnotationKind::Primary.span(span.clone());
            title.element(Snippet::source(source).path(path).annotation(marked))
        }
        _ => title.element(annotate_snippets::Origin::path(path)),
    };
    match &problem.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// The problems of a file for programs.
pub(super) fn as_json(path: &Path, source: &[u8], problems: &Problems) -> Value {
    let list = problems.iter().map(|problem| one_as_json(source, problem)).collect::<Vec<_>>();
    Object::new()
        .with("file", path.display().to_string())
        .with("valid", !problems.has_errors())
        .with("problems", list)
        .with("problems_left_out", i64::try_from(problems.left_out()).unwrap_or(i64::MAX))
        .into()
}

fn one_as_json(source: &[u8], problem: &Problem) -> Value {
    let place = problem.place(source);
    let number =
        |number: Option<usize>| number.and_then(|n| i64::try_from(n).ok()).map_or(Value::Null, Value::from);
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    Object::new()
        .with("severity", severity)
        .with("line", number(place.map(|place| place.line)))
        .with("column", number(place.map(|place| place.column)))
        .with("pointer", problem.pointer.as_str())
        .with("message", problem.message.as_str())
        .with("help", problem.help.as_deref().map_or(Value::Null, Value::from))
        .into()
}
