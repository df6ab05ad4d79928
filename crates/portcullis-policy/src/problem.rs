//! What is wrong with a document, or probably not meant, and where.

use std::ops::Range;

use portcullis_json::{Fault, Place, Pointer, Position, Positions, Value};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document is refused.
    Error,
    /// Legal, and probably not meant.
    Warning,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, naming the offending field and value.
    pub message: String,
    /// What was probably meant, or what to do.
    pub help: Option<String>,
    /// Where in the document.
    pub pointer: Pointer,
    /// Whether the key is at fault, or the value under it.
    pub part: Part,
    /// The same place in the source, once it is known.
    pub span: Option<Range<usize>>,
}

/// Which part of a member is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
}

impl Problem {
    /// The line and column of the problem in `source`.
    pub fn place(&self, source: &[u8]) -> Option<Place> {
        self.span.as_ref().map(|span| Place::of(source, span.start))
    }
}

/// More problems than this in one document are counted, not kept.
pub const PROBLEMS_MAX: usize = 200;

/// All problems of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    pub(crate) fn error(&mut self, pointer: &Pointer, message: impl Into<String>) {
        self.add(Severity::Error, pointer, Part::Value, message.into(), None);
    }

    pub(crate) fn error_at_key(
        &mut self,
        pointer: &Pointer,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.add(Severity::Error, pointer, Part::Key, message.into(), help);
    }

    pub(crate) fn error_with_help(
        &mut self,
        pointer: &Pointer,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Error, pointer, Part::Value, message.into(), Some(help.into()));
    }

    pub(crate) fn warn(&mut self, pointer: &Pointer, message: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, pointer, Part::Value, message.into(), Some(help.into()));
    }

    pub(crate) fn warn_at_key(
        &mut self,
        pointer: &Pointer,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Warning, pointer, Part::Key, message.into(), Some(help.into()));
    }

    fn add(
        &mut self,
        severity: Severity,
        pointer: &Pointer,
        part: Part,
        message: String,
        help: Option<String>,
    ) {
        if self.list.len() >= PROBLEMS_MAX {
            self.left_out += 1;
            return;
        }
        let (pointer, message, help) = (pointer.clone(), inert(&message), help.as_deref().map(inert));
        self.list.push(Problem { severity, message, help, pointer, part, span: None });
    }

    pub(crate) fn from_fault(fault: &Fault, source: &[u8]) -> Problems {
        let end = match std::str::from_utf8(source) {
            Ok(text) => {
                text.get(fault.offset..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            }
            Err(_) => 1,
        };
        let start = fault.offset.min(source.len());
        let problem = Problem {
            severity: Severity::Error,
            message: fault.kind.to_string(),
            help: None,
            pointer: Pointer::root(),
            part: Part::Value,
            span: Some(start..(start + end).min(source.len())),
        };
        Problems { list: vec![problem], left_out: 0 }
    }

    /// Puts spans to all problems, and the problems into the order of the source.
    pub(crate) fn locate(&mut self, source: &str, document: &Value) {
        let positions = Positions::of(source);
        for problem in &mut self.list {
            let Position { key, value } = positions.find(document, &problem.pointer);
            problem.span = Some(match (problem.part, key) {
                (Part::Key, Some(key)) => key,
                _ => first_line(source, value),
            });
        }
        self.sort();
    }

    /// Adds those of another look at the same document.
    pub fn extend(&mut self, others: Problems) {
        self.list.extend(others.list);
        self.left_out += others.left_out;
        self.sort();
    }

    fn sort(&mut self) {
        self.list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    }

    /// Whether more are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= PROBLEMS_MAX
    }

    /// Whether the document is refused.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are that are not in the list.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The problems, in the order of the source.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// All messages and suggestions as plain text, a line each.
    pub fn text(&self) -> String {
        let lines = self.list.iter().map(|problem| {
            let place =
                if problem.pointer == Pointer::root() { "the document" } else { problem.pointer.as_str() };
            let help = problem.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
            format!("{place}: {}{help}", problem.message)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Messages quote documents, and a terminal must not act on what stands in them.
fn inert(text: &str) -> String {
    let acts = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().fold(String::new(), |mut shown, character| {
        if acts(character) {
            shown.extend(character.escape_unicode())
        } else {
            shown.push(character)
        }
        shown
    })
}

/// A whole object underlined helps nobody: its first line stands for it.
fn first_line(source: &str, span: Range<usize>) -> Range<usize> {
    let length = source.get(span.clone()).and_then(|text| text.find('\n'));
    length.map_or(span.clone(), |length| span.start..span.start + length)
}

/// The name that was probably meant.
pub(crate) fn nearest<'a>(wrong: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&wrong.to_lowercase(), &name.to_lowercase());
    known
        .iter()
        .map(|name| (distance(name), *name))
        .filter(|(distance, name)| {
            *distance <= 1 + name.chars().count().max(wrong.chars().count().min(64)) / 3
        })
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_find_their_name() {
        let known = ["require", "deny_if", "approve_if", "limits", "rate_limit"];
        for (wrong, expected) in [
            ("requires", "require"),
            ("denyif", "deny_if"),
            ("Limits", "limits"),
            ("ratelimit", "rate_limit"),
            ("rate-limit", "rate_limit"),
        ] {
            assert_eq!(nearest(wrong, &known), Some(expected), "{wrong}");
        }
        assert_eq!(nearest("zzzzzzzzzz", &known), None);
    }
}
