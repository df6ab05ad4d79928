//! How long files and functions may be, and the list of exceptions, which may only shrink.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenTree};

use super::Finding;
use super::sources::{self, RustFile};

/// The list of exceptions, from the root of the repository.
pub(super) const EXCEPTIONS_PATH: &str = "crates/xtask/size-exceptions.txt";

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 1500;
const FUNCTION_LINES_MAX: usize = 100;

/// How many exceptions there are. Lower it with the list; it is not raised.
const ENTRIES_MAX: usize = 0;

/// A file or function that is too long.
struct Oversize {
    /// As the list of exceptions names it.
    name: String,
    path: String,
    line: Option<usize>,
    lines: usize,
    lines_max: usize,
}

/// Measures every Rust file and every function in it.
pub(super) fn check(files: &[RustFile], exceptions: &str) -> Vec<Finding> {
    check_against(files, exceptions, ENTRIES_MAX)
}

fn check_against(files: &[RustFile], exceptions: &str, entries_max: usize) -> Vec<Finding> {
    let (mut entries, mut findings) = parse_exceptions(exceptions);
    if entries.len() > entries_max {
        let message =
            format!("has {} entries, more than {entries_max}: the list may only shrink", entries.len());
        findings.push(Finding::in_file(EXCEPTIONS_PATH, message));
    }
    for oversize in files.iter().flat_map(measure) {
        findings.extend(judge(&oversize, entries.remove(&oversize.name)));
    }
    findings.extend(entries.into_keys().map(|name| {
        Finding::in_file(EXCEPTIONS_PATH, format!("`{name}` is no longer too long; remove its line"))
    }));
    findings
}

/// Compares what is too long with its entry in the list, if it has one.
fn judge(oversize: &Oversize, permitted: Option<usize>) -> Option<Finding> {
    let Oversize { name, path, line, lines, lines_max } = oversize;
    let at_fault = |message| Some(Finding { path: path.clone(), line: *line, message });
    match permitted {
        None => at_fault(format!("`{name}` has {lines} lines, more than {lines_max}; split it")),
        Some(permitted) if *lines > permitted => {
            at_fault(format!("`{name}` grew from {permitted} to {lines} lines; it may only shrink"))
        }
        Some(permitted) if *lines < permitted => {
            let message = format!("`{name}` shrank to {lines} lines; lower its entry from {permitted}");
            Some(Finding::in_file(EXCEPTIONS_PATH, message))
        }
        Some(_) => None,
    }
}

fn parse_exceptions(text: &str) -> (BTreeMap<String, usize>, Vec<Finding>) {
    let mut entries = BTreeMap::new();
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = line.split_once(' ').and_then(|(name, lines)| Some((name, lines.trim().parse().ok()?)));
        match entry {
            Some((name, lines)) => {
                entries.insert(name.to_owned(), lines);
            }
            None => findings.push(Finding::at_line(EXCEPTIONS_PATH, index + 1, "expected `PATH LINES`")),
        }
    }
    (entries, findings)
}

fn measure(file: &RustFile) -> Vec<Oversize> {
    let is_test = file.is_test();
    let lines_max = if is_test { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let whole = Oversize {
        name: file.path.clone(),
        path: file.path.clone(),
        line: None,
        lines: file.lines,
        lines_max,
    };
    let mut measured = vec![whole];
    if !is_test {
        measure_functions(file, &file.tokens, &mut measured);
    }
    measured.retain(|one| one.lines > one.lines_max);
    measured
}

fn measure_functions(file: &RustFile, tokens: &[TokenTree], measured: &mut Vec<Oversize>) {
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            measure_functions(file, &sources::inside(group), measured);
        }
        if sources::word(Some(token)).as_deref() == Some("fn") {
            measured.extend(measure_function(file, tokens.get(index..).unwrap_or_default()));
        }
    }
}

/// Measures from the word `fn` to the brace that ends the body; nothing without name or body.
fn measure_function(file: &RustFile, tokens: &[TokenTree]) -> Option<Oversize> {
    let first = sources::line(tokens.first()?);
    let name = sources::word(tokens.get(1))?;
    let body = tokens
        .iter()
        .take_while(|token| !sources::is_mark(Some(token), ';'))
        .find_map(|token| sources::group(Some(token), Delimiter::Brace))?;
    let last = body.span_close().end().line;
    Some(Oversize {
        name: format!("{}::{name}", file.path),
        path: file.path.clone(),
        line: Some(first),
        lines: last.saturating_sub(first) + 1,
        lines_max: FUNCTION_LINES_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("impl A {{\n fn long() {{\n{} }}\n}}\n", "a();\n".repeat(lines - 2))
    }

    fn found(path: &str, text: &str, exceptions: &str) -> Vec<String> {
        let file = RustFile::lex(path, text).unwrap();
        check_against(&[file], exceptions, 1).into_iter().map(|finding| finding.to_string()).collect()
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_file_over_the_limit_is_found() {
        assert_eq!(found("a.rs", &"\n".repeat(600), ""), NOTHING);
        let expected = "a.rs: `a.rs` has 601 lines, more than 600; split it";
        assert_eq!(found("a.rs", &"\n".repeat(601), ""), [expected]);
    }

    #[test]
    fn a_function_over_the_limit_is_found() {
        assert_eq!(found("a.rs", &function(100), ""), NOTHING);
        let expected = "a.rs:2: `a.rs::long` has 101 lines, more than 100; split it";
        assert_eq!(found("a.rs", &function(101), ""), [expected]);
    }

    #[test]
    fn test_files_have_a_limit_of_their_own_and_none_for_functions() {
        assert_eq!(found("crates/x/tests/it/a.rs", &function(700), ""), NOTHING);
        assert_eq!(found("crates/x/benches/a.rs", &"\n".repeat(1501), "").len(), 1);
    }

    #[test]
    fn functions_without_a_body_and_function_types_are_not_measured() {
        let text = format!("trait T {{ fn a(); }}\nconst F: fn() = b;\nmod m {{\n{} }}\n", "\n".repeat(200));
        assert_eq!(found("a.rs", &text, ""), NOTHING);
    }

    #[test]
    fn an_exception_holds_for_exactly_its_length() {
        assert_eq!(found("a.rs", &function(120), "# why\na.rs::long 120\n"), NOTHING);
        let grown = found("a.rs", &function(121), "a.rs::long 120\n");
        assert_eq!(grown, ["a.rs:2: `a.rs::long` grew from 120 to 121 lines; it may only shrink"]);
        let shrunk = found("a.rs", &function(119), "a.rs::long 120\n");
        assert!(shrunk[0].contains("lower its entry from 120"), "{shrunk:?}");
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        assert!(found("a.rs", &function(9), "a.rs::long 120\n")[0].contains("remove its line"));
    }

    #[test]
    fn a_list_that_grows_is_found() {
        let exceptions = "a.rs::long 120\na.rs 700\n";
        let text = format!("{}{}", function(120), "\n".repeat(700 - 122));
        assert_eq!(found("a.rs", &text, exceptions).len(), 1);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_found() {
        assert_eq!(found("a.rs", "", "a.rs\n"), [format!("{EXCEPTIONS_PATH}:1: expected `PATH LINES`")]);
        assert_eq!(found("a.rs", "", "a.rs many\n").len(), 1);
    }

    #[test]
    fn the_checked_in_list_can_be_read() {
        let (entries, findings) = parse_exceptions(include_str!("../../size-exceptions.txt"));
        assert_eq!((entries.len(), findings.len()), (ENTRIES_MAX, 0));
    }
}
