//! The repository's files as the checks see them: text, and Rust also as tokens.
//!
//! Tokens know nothing of comments and keep strings whole, so a check that looks at them cannot mistake
//! a word in a comment for code.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::Finding;
use crate::workspace;

/// Everything the checks look at.
pub(super) struct Sources {
    /// All files, also those that are not text.
    pub(super) paths: BTreeSet<String>,
    pub(super) texts: Vec<TextFile>,
    pub(super) rust: Vec<RustFile>,
}

/// A file of UTF-8 text.
pub(super) struct TextFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// A Rust file, with its tokens.
pub(super) struct RustFile {
    pub(super) path: String,
    pub(super) lines: usize,
    pub(super) tokens: Vec<TokenTree>,
}

impl Sources {
    /// Reads the working tree. Rust files that cannot be read as tokens are findings.
    pub(super) fn read() -> Result<(Self, Vec<Finding>)> {
        let paths: BTreeSet<String> = workspace::files()?.into_iter().collect();
        let mut texts = Vec::new();
        for path in &paths {
            let bytes =
                fs::read(workspace::root().join(path)).with_context(|| format!("cannot read `{path}`"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                texts.push(TextFile { path: path.clone(), text });
            }
        }
        let (rust, findings) = lex_all(&texts);
        Ok((Self { paths, texts, rust }, findings))
    }
}

fn lex_all(texts: &[TextFile]) -> (Vec<RustFile>, Vec<Finding>) {
    let mut rust = Vec::new();
    let mut findings = Vec::new();
    for file in texts.iter().filter(|file| file.path.ends_with(".rs")) {
        match RustFile::lex(&file.path, &file.text) {
            Some(lexed) => rust.push(lexed),
            None => findings.push(Finding::in_file(&file.path, "is not Rust that can be read")),
        }
    }
    (rust, findings)
}

impl RustFile {
    /// Splits text into tokens; nothing when it is not Rust.
    pub(super) fn lex(path: &str, text: &str) -> Option<Self> {
        let tokens: TokenStream = text.parse().ok()?;
        Some(Self {
            path: path.to_owned(),
            lines: text.lines().count(),
            tokens: tokens.into_iter().collect(),
        })
    }

    /// Whether the file belongs to a crate's integration tests or benchmarks. What lies under `src` never
    /// does: the product has modules about policy tests, and their names prove nothing.
    pub(super) fn is_test(&self) -> bool {
        let place = self.path.split('/').nth(2);
        self.path.starts_with("crates/") && matches!(place, Some("tests" | "benches"))
    }
}

/// The tokens inside a group.
pub(super) fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

/// The line a token starts on, counted from 1.
pub(super) fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

/// The token as a word, when it is one.
pub(super) fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// Whether the token is this punctuation mark.
pub(super) fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The token as a group with these delimiters.
pub(super) fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

/// The tokens without the items marked `#[cfg(test)]`, at any depth of groups.
pub(super) fn without_tests(tokens: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut rest = tokens.iter();
    while let Some(token) = rest.next() {
        let attribute = group(rest.as_slice().first(), Delimiter::Bracket);
        if is_mark(Some(token), '#') && attribute.is_some_and(is_cfg_test) {
            skip_item(&mut rest);
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => {
                let stream = without_tests(&inside(group)).into_iter().collect();
                Group::new(group.delimiter(), stream).into()
            }
            other => other.clone(),
        });
    }
    kept
}

fn is_cfg_test(attribute: &Group) -> bool {
    let tokens = inside(attribute);
    let [cfg, TokenTree::Group(condition)] = tokens.as_slice() else {
        return false;
    };
    word(Some(cfg)).as_deref() == Some("cfg") && condition.stream().to_string() == "test"
}

/// Goes past an item: to the end of its first braces, or its semicolon.
fn skip_item(rest: &mut std::slice::Iter<'_, TokenTree>) {
    for token in rest {
        if is_mark(Some(token), ';') || group(Some(token), Delimiter::Brace).is_some() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        let file = RustFile::lex("a.rs", text).unwrap();
        let stream: TokenStream = without_tests(&file.tokens).into_iter().collect();
        stream.to_string()
    }

    #[test]
    fn items_for_tests_are_left_out_at_any_depth() {
        let text = "fn a() {} #[cfg(test)] mod tests { fn b() {} } mod m { #[cfg(test)] use c; fn d() {} }";
        let kept = kept(text);
        assert!(kept.contains("fn a") && kept.contains("fn d"), "{kept}");
        assert!(!kept.contains("fn b") && !kept.contains("use c"), "{kept}");
    }

    #[test]
    fn other_conditions_are_kept() {
        assert!(kept("#[cfg(unix)] fn a() {}").contains("fn a"));
        assert!(kept("#[cfg(not(test))] fn a() {}").contains("fn a"));
    }

    #[test]
    fn text_that_is_not_rust_is_a_finding() {
        let broken = TextFile { path: "a.rs".to_owned(), text: "fn a( {".to_owned() };
        let (rust, findings) = lex_all(&[broken]);
        assert!(rust.is_empty());
        assert_eq!(findings, [Finding::in_file("a.rs", "is not Rust that can be read")]);
    }

    #[test]
    fn the_place_of_a_file_says_whether_it_is_a_test() {
        let is_test = |path| RustFile::lex(path, "").unwrap().is_test();
        assert!(is_test("crates/x/tests/it/main.rs"));
        assert!(is_test("crates/x/benches/decide.rs"));
        assert!(!is_test("crates/x/src/tests.rs"));
        assert!(!is_test("crates/x/src/tests/mod.rs"));
    }
}
