//! Which crate may use which: the drawing in ARCHITECTURE.md, compared with the manifests.

use std::collections::BTreeSet;

use super::Finding;
use crate::workspace::{Dependency, Metadata, Package};

/// Where a new crate is added.
const THIS_FILE: &str = "crates/xtask/src/tidy/arrows.rs";

/// The arrows as drawn. A crate may use whatever it reaches along them, and nothing else.
const ARROWS: &[(&str, &[&str])] = &[
    ("portcullis-json", &[]),
    ("portcullis-mcp", &["portcullis-json"]),
    ("portcullis-policy", &["portcullis-json"]),
    ("portcullis-catalogue", &["portcullis-mcp", "portcullis-policy"]),
    ("portcullis-state", &["portcullis-policy"]),
    ("portcullis-gateway", &["portcullis-catalogue", "portcullis-state"]),
    ("portcullis-console", &["portcullis-catalogue", "portcullis-state"]),
    ("portcullis-playground", &["portcullis-mcp", "portcullis-policy"]),
    ("portcullis-clients", &["portcullis-json"]),
    (
        "portcullis",
        &["portcullis-gateway", "portcullis-console", "portcullis-playground", "portcullis-clients"],
    ),
    ("pharo-interop", &[]),
    ("portcullis-testkit", &[]),
    ("xtask", &["portcullis-catalogue"]),
];

/// What any crate's tests may use besides the crates above it.
const FOR_TESTS: &str = "portcullis-testkit";

/// Compares every crate of the workspace with the drawing.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    metadata.packages.iter().flat_map(|package| check_package(package, &ours)).collect()
}

fn check_package(package: &Package, ours: &BTreeSet<&str>) -> Vec<Finding> {
    let path = format!("crates/{}/Cargo.toml", package.name);
    if !package.manifest_path.ends_with(&path) {
        let message = format!("a crate's folder has its name: expected `{path}`");
        return vec![Finding::in_file(package.manifest_path.to_string_lossy(), message)];
    }
    let Some(above) = above(&package.name) else {
        let message = format!(
            "`{}` is not in the drawing; add it to `ARROWS` in `{THIS_FILE}` and to ARCHITECTURE.md",
            package.name
        );
        return vec![Finding::in_file(path, message)];
    };
    package
        .dependencies
        .iter()
        .filter(|dependency| ours.contains(dependency.name.as_str()))
        .filter(|dependency| !is_permitted(dependency, &above))
        .map(|dependency| Finding::in_file(&path, refusal(&package.name, dependency)))
        .collect()
}

fn is_permitted(dependency: &Dependency, above: &BTreeSet<&str>) -> bool {
    let is_for_tests = dependency.kind.as_deref() == Some("dev");
    above.contains(dependency.name.as_str()) || (is_for_tests && dependency.name == FOR_TESTS)
}

fn refusal(package: &str, dependency: &Dependency) -> String {
    let kind = dependency.kind.as_deref().map(|kind| format!("{kind}-")).unwrap_or_default();
    format!("`{package}` must not have `{}` as a {kind}dependency: no arrow leads there", dependency.name)
}

/// Every crate that can be reached along the arrows; nothing for a crate that is not drawn.
fn above(package: &str) -> Option<BTreeSet<&'static str>> {
    let (_, direct) = ARROWS.iter().find(|(name, _)| *name == package)?;
    let mut reached = BTreeSet::new();
    for name in *direct {
        reached.insert(*name);
        reached.extend(above(name)?);
    }
    Some(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(packages: &str) -> Vec<String> {
        let text = format!(r#"{{"target_directory": "t", "packages": [{packages}]}}"#);
        let metadata: Metadata = serde_json::from_str(&text).unwrap();
        check(&metadata).into_iter().map(|finding| finding.to_string()).collect()
    }

    fn package(name: &str, dependencies: &str) -> String {
        format!(
            r#"{{"name": "{name}", "manifest_path": "/x/crates/{name}/Cargo.toml", "dependencies": [{dependencies}]}}"#
        )
    }

    fn with_json(package: &str) -> String {
        format!("{package}, {}", self::package("portcullis-json", ""))
    }

    #[test]
    fn every_arrow_leads_to_a_crate_that_is_drawn() {
        for (name, _) in ARROWS {
            assert!(above(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_crate_may_use_any_crate_above_it_and_siblings_are_strangers() {
        let gateway = above("portcullis-gateway").unwrap();
        for name in ["json", "mcp", "policy", "catalogue", "state"] {
            assert!(gateway.contains(format!("portcullis-{name}").as_str()), "{name}");
        }
        assert!(!gateway.contains("portcullis-console"));
        assert!(!above("portcullis-state").unwrap().contains("portcullis-mcp"));
    }

    #[test]
    fn an_arrow_along_the_drawing_is_fine() {
        let policy = package("portcullis-policy", r#"{"name": "portcullis-json", "kind": null}"#);
        assert_eq!(messages(&with_json(&policy)), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found() {
        let json = package("portcullis-json", r#"{"name": "portcullis-policy", "kind": null}"#);
        let both = format!("{json}, {}", package("portcullis-policy", ""));
        assert_eq!(
            messages(&both),
            [
                "crates/portcullis-json/Cargo.toml: `portcullis-json` must not have `portcullis-policy` as a dependency: no arrow leads there"
            ]
        );
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        let kit = package("portcullis-testkit", "");
        let dev = package("pharo-interop", r#"{"name": "portcullis-testkit", "kind": "dev"}"#);
        assert_eq!(messages(&format!("{dev}, {kit}")), Vec::<String>::new());
        let normal = package("pharo-interop", r#"{"name": "portcullis-testkit", "kind": null}"#);
        assert_eq!(messages(&format!("{normal}, {kit}")).len(), 1);
    }

    #[test]
    fn pharo_interop_stands_alone_also_in_its_tests() {
        let alone = package("pharo-interop", r#"{"name": "portcullis-json", "kind": "dev"}"#);
        assert_eq!(messages(&with_json(&alone)).len(), 1);
    }

    #[test]
    fn a_crate_nobody_drew_is_found_and_the_message_says_where_to_add_it() {
        let found = messages(&package("portcullis-extras", ""));
        assert!(found[0].contains("add it to `ARROWS` in `crates/xtask/src/tidy/arrows.rs`"), "{found:?}");
    }

    #[test]
    fn a_folder_with_another_name_is_found() {
        let moved = r#"{"name": "xtask", "manifest_path": "/x/tools/xtask/Cargo.toml", "dependencies": []}"#;
        assert!(messages(moved)[0].contains("expected `crates/xtask/Cargo.toml`"));
    }
}
