//! `path_within`: whether a path lies at or below a directory, by its text alone.

/// None where the operator does not apply to the path.
pub(crate) fn lies_within(path: &str, directories: &[String]) -> Option<bool> {
    let lower = path.to_ascii_lowercase();
    let disguised = ["%2e", "%2f", "%5c"].iter().any(|code| lower.contains(code));
    if disguised || path.contains(['\0', '\\']) || !path.starts_with('/') {
        return None;
    }
    let path = names_from_root(path);
    Some(directories.iter().any(|d| path.starts_with(&names_from_root(d))))
}

/// The names on the way down from the root, with `.` and `..` resolved.
fn names_from_root(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_slashes_are_resolved_first() {
        for (path, directory, expected) in [
            ("/srv/data/a", "/srv/data", Some(true)),
            ("/srv/data", "/srv/data/", Some(true)),
            ("/srv/database", "/srv/data", Some(false)),
            ("/srv/data/../x", "/srv/data", Some(false)),
            ("//srv/.//data/x", "/srv/data", Some(true)),
            ("/../srv/data", "/srv/x/../data", Some(true)),
            ("/srv/data/...", "/srv/data", Some(true)),
            ("/anything", "/", Some(true)),
            ("srv/data", "/", None),
            ("", "/", None),
            ("/srv/data/%2E%2e/x", "/", None),
            ("/srv/data\\x", "/", None),
        ] {
            assert_eq!(lies_within(path, &[directory.to_owned()]), expected, "{path}");
        }
    }
}
