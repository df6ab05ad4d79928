//! The reader and the language are pure: no clock, no files, no network, no environment, no runtime.
//!
//! A decision that depends only on what it is given can be tested, replayed and compared with the oracle.

use proc_macro2::{Delimiter, TokenTree};

use super::Finding;
use super::sources::{self, RustFile};

/// The crates that must stay pure.
pub(super) const PURE: &[&str] = &["portcullis-json", "portcullis-policy"];

/// What no pure crate may pull in, at any distance.
const FORBIDDEN_CRATES: &[&str] = &["tokio", "mio", "async-std", "smol", "hyper", "reqwest", "ureq"];

/// What no source of a pure crate may name, outside its tests.
const FORBIDDEN_PATHS: &[&str] = &[
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "TimeZone::system",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
];

/// Looks through the output of `cargo tree` for one pure crate: a line per crate, `NAME VERSION`.
pub(super) fn check_dependencies(package: &str, tree: &str) -> Vec<Finding> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| FORBIDDEN_CRATES.contains(name))
        .collect();
    found.sort_unstable();
    found.dedup();
    let path = format!("crates/{package}/Cargo.toml");
    found
        .into_iter()
        .map(|name| {
            let message =
                format!("`{package}` is pure but pulls in `{name}`; see `cargo tree -p {package} -i {name}`");
            Finding::in_file(&path, message)
        })
        .collect()
}

/// Looks for clocks, files and the like in the sources of the pure crates.
pub(super) fn check_sources(files: &[RustFile]) -> Vec<Finding> {
    files.iter().filter(|file| is_pure(file)).flat_map(check_file).collect()
}

fn is_pure(file: &RustFile) -> bool {
    let in_crate = |package: &str| file.path.starts_with(&format!("crates/{package}/src/"));
    PURE.iter().any(|package| in_crate(package)) && !file.is_test()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut paths = Vec::new();
    collect_paths(&sources::without_tests(&file.tokens), &[], &mut paths);
    let mut findings = Vec::new();
    for (path, line) in paths {
        if let Some(forbidden) = FORBIDDEN_PATHS.iter().find(|forbidden| names(&path, forbidden)) {
            let message = format!(
                "a pure crate must not use `{forbidden}`; take the value as a parameter (plain addresses are in `core::net`)"
            );
            findings.push(Finding::at_line(&file.path, line, message));
        }
    }
    findings
}

/// Whether the words of `forbidden` follow each other in `path`.
fn names(path: &[String], forbidden: &str) -> bool {
    let words: Vec<&str> = forbidden.split("::").collect();
    path.windows(words.len()).any(|window| window == words.as_slice())
}

/// Gathers every `a::b::c`, with the branches of `a::{b, c::d}` spelled out.
fn collect_paths(tokens: &[TokenTree], prefix: &[String], found: &mut Vec<(Vec<String>, usize)>) {
    let mut rest = tokens;
    while let [token, after @ ..] = rest {
        rest = match token {
            TokenTree::Ident(_) => collect_path(token, after, prefix, found),
            TokenTree::Group(group) => {
                collect_paths(&sources::inside(group), &[], found);
                after
            }
            _ => after,
        };
    }
}

/// Gathers the path that starts at `first` and gives back the tokens after it.
fn collect_path<'a>(
    first: &TokenTree,
    mut rest: &'a [TokenTree],
    prefix: &[String],
    found: &mut Vec<(Vec<String>, usize)>,
) -> &'a [TokenTree] {
    let mut path = prefix.to_vec();
    path.extend(sources::word(Some(first)));
    while let [colon, second, next, after @ ..] = rest {
        if !sources::is_mark(Some(colon), ':') || !sources::is_mark(Some(second), ':') {
            break;
        }
        if let Some(branches) = sources::group(Some(next), Delimiter::Brace) {
            collect_paths(&sources::inside(branches), &path, found);
            return after;
        }
        let Some(word) = sources::word(Some(next)) else {
            break;
        };
        path.push(word);
        rest = after;
    }
    found.push((path, sources::line(first)));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = RustFile::lex(path, text).unwrap();
        check_sources(&[file]).into_iter().filter_map(|finding| finding.line).collect()
    }

    const HERE: &str = "crates/portcullis-policy/src/lib.rs";

    #[test]
    fn each_forbidden_path_is_found() {
        for forbidden in FORBIDDEN_PATHS {
            let text = format!("fn f() {{\n let x = {forbidden}();\n}}");
            assert_eq!(lines(HERE, &text), [2], "{forbidden}");
        }
    }

    #[test]
    fn imports_in_braces_and_longer_paths_are_found() {
        assert_eq!(lines(HERE, "use std::{io::Read,\n fs};"), [2]);
        assert_eq!(lines(HERE, "use std::{collections::BTreeMap, net::{IpAddr}};"), [1]);
        assert_eq!(lines(HERE, "fn f() { jiff::Timestamp::now().into() }"), [1]);
        assert_eq!(lines(HERE, "fn f() { std::fs::read(p) }"), [1]);
    }

    #[test]
    fn tests_comments_strings_and_other_crates_are_let_off() {
        assert_eq!(lines(HERE, "#[cfg(test)] mod tests { use std::fs; }"), [0; 0]);
        assert_eq!(lines(HERE, "// std::fs\nconst A: &str = \"std::fs\";"), [0; 0]);
        assert_eq!(lines("crates/portcullis-policy/tests/it/main.rs", "use std::fs;"), [0; 0]);
        assert_eq!(lines("crates/portcullis/src/main.rs", "use std::fs;"), [0; 0]);
    }

    #[test]
    fn paths_that_only_look_alike_are_let_off() {
        assert_eq!(lines(HERE, "use std::fmt; fn f(fs: u8) { my::fs() }"), [0; 0]);
    }

    #[test]
    fn a_runtime_among_the_dependencies_is_found_once() {
        let tree = "portcullis-json v0.1.0 (crates/portcullis-json)\ntokio v1.40.0\nbytes v1.0.0\ntokio v1.40.0 (*)\n";
        let found = check_dependencies("portcullis-json", tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("pulls in `tokio`"), "{}", found[0]);
        assert_eq!(check_dependencies("portcullis-json", "tokio-like v1.0.0\n"), []);
    }
}
