//! Every module says first what it is: each file under `crates/*/src` starts with `//!`.

use super::Finding;
use super::sources::TextFile;

/// Looks at the first line of every module.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| is_module(&file.path) && !file.text.starts_with("//! "))
        .map(|file| {
            Finding::at_line(
                &file.path,
                1,
                "a module starts with `//!`: what it is, what it is not, who calls it",
            )
        })
        .collect()
}

fn is_module(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src") && path.ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(path: &str, text: &str) -> bool {
        !check(&[TextFile { path: path.to_owned(), text: text.to_owned() }]).is_empty()
    }

    #[test]
    fn a_module_without_a_head_is_found() {
        assert!(is_found("crates/x/src/a/b.rs", "use std::fmt;\n"));
        assert!(is_found("crates/x/src/lib.rs", ""));
        assert!(is_found("crates/x/src/lib.rs", "//!\n"));
        assert!(!is_found("crates/x/src/lib.rs", "//! What this is.\n"));
    }

    #[test]
    fn only_rust_under_src_is_looked_at() {
        assert!(!is_found("crates/x/tests/it/main.rs", ""));
        assert!(!is_found("crates/x/src/schema.json", ""));
        assert!(!is_found("build/x/src/a.rs", ""));
    }
}
