//! The invariants have names, listed in ARCHITECTURE.md; code that upholds one repeats its name, and a
//! name that is not in the list is a misspelling or an invariant nobody wrote down.

use super::Finding;
use super::sources::TextFile;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// What stands before a name in the code.
const MARK: &str = concat!("INVARIANT", ":");

/// Compares every mention in Rust files with the list.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let architecture = files.iter().find(|file| file.path == ARCHITECTURE);
    let listed = architecture.map(|file| listed(&file.text)).unwrap_or_default();
    files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .flat_map(|file| check_file(file, &listed))
        .collect()
}

fn check_file(file: &TextFile, listed: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some((_, mention)) = line.split_once(MARK) else {
            continue;
        };
        if !listed.iter().any(|name| begins_with_name(mention, name)) {
            let message =
                format!("`{}` is not the name of an invariant listed in {ARCHITECTURE}", mention.trim());
            findings.push(Finding::at_line(&file.path, index + 1, message));
        }
    }
    findings
}

fn begins_with_name(mention: &str, name: &str) -> bool {
    let mention = mention.trim_start_matches([' ', '*', '`']).to_lowercase();
    mention.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

/// The names in the lists under the heading "Invariants", in lower case.
fn listed(architecture: &str) -> Vec<String> {
    architecture
        .lines()
        .skip_while(|line| !(line.starts_with('#') && line.contains("Invariants")))
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.trim_start().strip_prefix("- "))
        .flat_map(leading_names)
        .collect()
}

/// The emphasised words an item starts with: one name, or several with `;` between them.
fn leading_names(item: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = item;
    while let Some(start) = rest.trim_start_matches([' ', ';', '*']).split_once('*') {
        let (name, after) = start;
        names.push(name.to_lowercase());
        rest = after.trim_start_matches('*');
        if !rest.starts_with(';') {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Map\n- *not one*: no\n\n## Invariants (named)\n\n\
        - *permit required*: only *forward* talks\n- **no record, no call**: the log first\n\
        - *policy is pure*; *one translation*: status codes\n\n## State\n- *nor this*: no\n";

    fn lines(code: &str) -> Vec<usize> {
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let code = code.replace("MARK", MARK);
        let files = [file(ARCHITECTURE, PAGE), file("crates/x/src/a.rs", &code)];
        check(&files).into_iter().filter_map(|finding| finding.line).collect()
    }

    #[test]
    fn the_list_is_read_from_its_section_alone() {
        assert_eq!(
            listed(PAGE),
            ["permit required", "no record, no call", "policy is pure", "one translation"]
        );
    }

    #[test]
    fn a_name_that_is_listed_is_fine_whatever_follows_it() {
        let code = "// MARK permit required\n// MARK no record, no call: why\n/// MARK *one translation*.\n";
        assert_eq!(lines(code), [0; 0]);
    }

    #[test]
    fn a_name_that_is_not_listed_is_found() {
        let code = "fn a() {}\n// MARK permits required\n// MARK permit requiredness\n// MARK not one\n// MARK forward\n// MARK\n";
        assert_eq!(lines(code), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn without_a_list_every_name_is_found() {
        let code = TextFile { path: "a.rs".to_owned(), text: format!("// {MARK} permit required") };
        assert_eq!(check(&[code]).len(), 1);
    }
}
