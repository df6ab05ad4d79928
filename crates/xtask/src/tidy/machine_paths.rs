//! Paths of somebody's machine: they tell strangers nothing, and say more about their author than meant.

use super::Finding;
use super::sources::TextFile;

/// Where paths of a particular machine start. In pieces, so that this file passes its own check.
const STARTS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/"), HOMES];

/// Under this one a name must follow: the directory of all homes is nobody's.
const HOMES: &str = concat!("/ho", "me/");

/// Names of people who do not exist.
const INVENTED: &[&str] = &["user", "you", "alice", "ann", "bob", "agent", "portcullis"];

/// Looks through every text file.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(start) = STARTS.iter().find(|start| has_machine_path(line, start)) {
            let message = format!(
                "a path of somebody's machine (`{start}…`); write it from the root of the repository, or invent one below `/srv`"
            );
            findings.push(Finding::at_line(&file.path, index + 1, message));
        }
    }
    findings
}

fn has_machine_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let name = rest.strip_prefix(start).unwrap_or(rest);
        starts_a_path(before) && (start != HOMES || is_a_persons(name))
    })
}

/// Whether a `/` here is the first of a path, and not one inside it.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|last: char| {
        last.is_alphanumeric() || matches!(last, '.' | '_' | '-' | '~' | '}' | '>' | '*')
    })
}

fn is_a_persons(rest: &str) -> bool {
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
    !name.is_empty() && !INVENTED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str) -> bool {
        let text = text.replace("HOMES", HOMES);
        !check(&[TextFile { path: "a.md".to_owned(), text }]).is_empty()
    }

    #[test]
    fn each_start_is_found() {
        for start in STARTS {
            assert!(is_found(&format!("see `{start}jdoe/notes`")), "{start}");
        }
    }

    #[test]
    fn only_the_start_of_a_path_counts() {
        for start in STARTS {
            assert!(!is_found(&format!("srv{start}jdoe/notes and ~{start}jdoe")), "{start}");
        }
    }

    #[test]
    fn homes_of_nobody_are_fine() {
        assert!(!is_found("HOMESuser/documents, HOMESalice, HOMES*, HOMES<name>"));
        assert!(is_found("HOMESuser and HOMESalicia"));
    }
}
