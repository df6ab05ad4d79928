//! Generated documents are those that the program makes today.

use std::path::Path;

use super::Finding;
use super::sources::TextFile;
use crate::docs::{self, Document};

const REMEDY: &str = "run `cargo xtask docs` and check the result in";

/// Makes every document anew and compares it with the one that is checked in.
pub(super) fn check(product: &Path, files: &[TextFile]) -> Vec<Finding> {
    match docs::generate(product) {
        Ok(documents) => documents.iter().filter_map(|document| compare(document, files)).collect(),
        Err(error) => vec![Finding::in_file("docs/reference", format!("cannot be generated: {error:#}"))],
    }
}

fn compare(document: &Document, files: &[TextFile]) -> Option<Finding> {
    let Some(file) = files.iter().find(|file| file.path == document.path) else {
        return Some(Finding::in_file(document.path, format!("is missing; {REMEDY}")));
    };
    let line = first_difference(&file.text, &document.text)?;
    Some(Finding::at_line(document.path, line, format!("is out of date; {REMEDY}")))
}

/// The first line that differs, counted from 1; nothing when the texts are the same.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one.lines().zip(other.lines()).take_while(|(one, other)| one == other);
    Some(same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare_with(checked_in: &str) -> Option<Finding> {
        let document = Document { path: "docs/a.md", text: "one\ntwo\n".to_owned() };
        compare(&document, &[TextFile { path: "docs/a.md".to_owned(), text: checked_in.to_owned() }])
    }

    #[test]
    fn the_same_text_is_fine_and_the_first_other_line_is_named() {
        assert_eq!(compare_with("one\ntwo\n"), None);
        assert_eq!(compare_with("one\nTWO\n").unwrap().line, Some(2));
        assert_eq!(compare_with("one\ntwo\nthree\n").unwrap().line, Some(3));
        assert_eq!(compare_with("one\ntwo").unwrap().line, Some(3));
    }

    #[test]
    fn a_document_that_was_never_checked_in_is_found() {
        let document = Document { path: "docs/a.md", text: String::new() };
        assert!(compare(&document, &[]).unwrap().message.starts_with("is missing"));
    }

    #[test]
    fn a_program_that_does_not_answer_is_a_finding() {
        let findings = check(Path::new("no/such/program"), &[]);
        assert!(findings[0].message.starts_with("cannot be generated"), "{}", findings[0]);
    }
}
