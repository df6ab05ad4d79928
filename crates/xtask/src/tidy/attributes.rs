//! Attributes that switch something off without saying why: `#[ignore]` bare, and `#[allow]` at all.
//!
//! A lint is set aside with `#[expect(…, reason = "…")]`, which complains once it is no longer needed.

use proc_macro2::{Delimiter, Group, TokenTree};

use super::Finding;
use super::sources::{self, RustFile};

/// Looks at every attribute of every Rust file.
pub(super) fn check(files: &[RustFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        check_tokens(file, &file.tokens, &mut findings);
    }
    findings
}

fn check_tokens(file: &RustFile, tokens: &[TokenTree], findings: &mut Vec<Finding>) {
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            check_tokens(file, &sources::inside(group), findings);
        }
        if !sources::is_mark(Some(token), '#') {
            continue;
        }
        let after_bang = index + 1 + usize::from(sources::is_mark(tokens.get(index + 1), '!'));
        let attribute = sources::group(tokens.get(after_bang), Delimiter::Bracket);
        if let Some(complaint) = attribute.and_then(complaint) {
            findings.push(Finding::at_line(&file.path, sources::line(token), complaint));
        }
    }
}

fn complaint(attribute: &Group) -> Option<&'static str> {
    let tokens = sources::inside(attribute);
    match sources::word(tokens.first())?.as_str() {
        "ignore" if !sources::is_mark(tokens.get(1), '=') => {
            Some("an ignored test says why: `#[ignore = \"…\"]`")
        }
        "allow" => Some(ALLOW),
        "cfg_attr" if allows_under_condition(tokens.get(1)) => Some(ALLOW),
        _ => None,
    }
}

const ALLOW: &str = "use `#[expect(…, reason = \"…\")]` instead of `allow`";

fn allows_under_condition(arguments: Option<&TokenTree>) -> bool {
    let Some(arguments) = sources::group(arguments, Delimiter::Parenthesis) else {
        return false;
    };
    sources::inside(arguments).iter().any(|token| sources::word(Some(token)).as_deref() == Some("allow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = RustFile::lex("a.rs", text).unwrap();
        check(&[file]).into_iter().filter_map(|finding| finding.line).collect()
    }

    #[test]
    fn an_ignored_test_without_a_reason_is_found() {
        assert_eq!(lines("mod tests {\n #[test]\n #[ignore]\n fn a() {}\n}"), [3]);
        assert_eq!(lines("#[ignore = \"needs a network\"] fn a() {}"), [0; 0]);
    }

    #[test]
    fn allow_is_found_in_each_of_its_forms() {
        assert_eq!(lines("#[allow(dead_code, reason = \"x\")] fn a() {}"), [1]);
        assert_eq!(lines("\n#![allow(dead_code)]"), [2]);
        assert_eq!(lines("#[cfg_attr(test, allow(dead_code))] fn a() {}"), [1]);
        assert_eq!(lines("macro_rules! m { () => {\n #[allow(x)] fn a() {} } }"), [2]);
    }

    #[test]
    fn expect_comments_and_strings_are_fine() {
        assert_eq!(lines("#[expect(dead_code, reason = \"x\")] fn a() {}"), [0; 0]);
        assert_eq!(lines("/// `#[allow(x)]`\nconst A: &str = \"#[ignore]\";"), [0; 0]);
        assert_eq!(lines("fn allow() { ignore(); }"), [0; 0]);
    }
}
