//! `path_within`: an absolute path, resolved as text, lies at or below one of the directories.
//!
//! Nothing is looked up: symbolic links are not seen.

use portcullis_json::Value;

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const PATH_WITHIN: OperatorInfo = OperatorInfo {
    name: "path_within",
    operand: Operand::TextList,
    speaks_of: "an absolute path without NUL, backslash or percent-encoded dots and slashes",
    meaning: "the absolute path, with . and .. resolved as text, lies at or below one of the directories; symbolic links are not seen",
    negative: false,
    compile: Compile::Test(compile),
};

#[derive(Debug)]
struct Within {
    directories: Vec<Vec<String>>,
}

fn compile(value: &Value) -> Result<Box<dyn Operator>, String> {
    let directories = value.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
    let resolved: Result<Vec<_>, String> = directories
        .map(|directory| {
            let segments = resolve(directory).ok_or_else(|| {
                format!("`{directory}` is not a plain absolute directory; it must start with `/`")
            })?;
            Ok(segments.into_iter().map(str::to_owned).collect())
        })
        .collect();
    Ok(Box::new(Within { directories: resolved? }))
}

/// The names from the root down, or nothing where the operator does not apply.
fn resolve(path: &str) -> Option<Vec<&str>> {
    let lower = path.to_ascii_lowercase();
    let hidden = ["%2e", "%2f", "%5c"].iter().any(|encoded| lower.contains(encoded));
    if !path.starts_with('/') || path.contains(['\0', '\\']) || hidden {
        return None;
    }
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
    Some(names)
}

impl Operator for Within {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        match value.as_str().and_then(resolve) {
            Some(path) => Tested::from_truth(self.directories.iter().any(|directory| {
                directory.len() <= path.len() && directory.iter().zip(&path).all(|(a, b)| a == b)
            })),
            None => Tested::Inapplicable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check, find};

    #[test]
    fn at_or_below_after_resolving() {
        check(
            "path_within",
            r#"["/srv/data","/opt//x/."]"#,
            &[
                ("\"/srv/data\"", Holds),
                ("\"/srv/data/\"", Holds),
                ("\"/srv/data/a/b\"", Holds),
                ("\"//srv///data//a\"", Holds),
                ("\"/srv/./data/a/../b\"", Holds),
                ("\"/opt/x/y\"", Holds),
                ("\"/srv/database\"", Fails),
                ("\"/srv\"", Fails),
                ("\"/srv/data/..\"", Fails),
                ("\"/srv/data/../../etc/passwd\"", Fails),
                ("\"/../../srv/data\"", Holds),
                ("\"/SRV/data\"", Fails),
            ],
        );
        check("path_within", r#"["/"]"#, &[("\"/anything\"", Holds)]);
    }

    #[test]
    fn what_a_server_could_read_differently_is_inapplicable() {
        let odd = [
            "\"srv/data\"",
            "\"\"",
            "\"./srv\"",
            "\"~/x\"",
            "\"/srv/data/\\u0000x\"",
            "\"/srv/data\\\\x\"",
            "\"/srv/data/%2e%2E/x\"",
            "\"/srv/data%2Fx\"",
            "\"/a%5Cb\"",
            "5",
            "null",
        ];
        let cases: Vec<_> = odd.into_iter().map(|path| (path, Inapplicable)).collect();
        check("path_within", r#"["/srv/data"]"#, &cases);
    }

    #[test]
    fn a_relative_directory_does_not_load() {
        let operand = portcullis_json::Value::from(vec![portcullis_json::Value::from("srv")]);
        assert!(find("path_within").unwrap().compile(&operand).is_err());
    }
}
