//! Names that say nothing: a file or module with one of them collects whatever had no better place.

use proc_macro2::TokenTree;

use super::Finding;
use super::sources::{self, RustFile};

const REFUSED: &[&str] = &["utils", "helpers", "common", "types", "manager"];

/// Looks at the path of every Rust file and at the modules it declares.
pub(super) fn check(files: &[RustFile]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        refused_in_path(&file.path).map(|name| Finding::in_file(&file.path, refusal(name))).collect();
    check_modules(file, &file.tokens, &mut findings);
    findings
}

fn refused_in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part)).filter(|name| REFUSED.contains(name))
}

/// Looks at modules written out in braces; one in a file of its own is found by its path.
fn check_modules(file: &RustFile, tokens: &[TokenTree], findings: &mut Vec<Finding>) {
    for window in tokens.windows(3) {
        let [keyword, name, TokenTree::Group(_)] = window else {
            continue;
        };
        if sources::word(Some(keyword)).as_deref() != Some("mod") {
            continue;
        }
        let name_text = name.to_string();
        if REFUSED.contains(&name_text.as_str()) {
            findings.push(Finding::at_line(&file.path, sources::line(name), refusal(&name_text)));
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            check_modules(file, &sources::inside(group), findings);
        }
    }
}

fn refusal(name: &str) -> String {
    format!("`{name}` says nothing; name the module for the one thing it holds")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[RustFile::lex(path, text).unwrap()]).len()
    }

    #[test]
    fn each_refused_name_is_found_as_file_directory_and_module() {
        for name in REFUSED {
            assert_eq!(count(&format!("crates/x/src/{name}.rs"), ""), 1, "{name}");
            assert_eq!(count(&format!("crates/x/tests/{name}/mod.rs"), ""), 1, "{name}");
            assert_eq!(count("crates/x/src/a.rs", &format!("mod a {{ mod {name} {{ }} }}")), 1, "{name}");
        }
    }

    #[test]
    fn other_names_are_fine() {
        assert_eq!(count("crates/x/src/common_prefix.rs", "fn types() {}"), 0);
    }
}
