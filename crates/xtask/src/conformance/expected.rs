//! The checks that are known not to pass, each with its reason. A failure that is not listed is an error, and so is
//! a listed one that passes.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::outcome::Loss;
use crate::workspace;

const LIST: &str = "crates/xtask/conformance/expected-failures.json";

/// A check that is known not to pass.
#[derive(Deserialize)]
pub(super) struct Expected {
    #[serde(flatten)]
    pub(super) loss: Loss,
    pub(super) why: String,
}

pub(super) fn read() -> Result<Vec<Expected>> {
    let text = std::fs::read_to_string(workspace::root().join(LIST))?;
    serde_json::from_str(&text).with_context(|| format!("cannot read `{LIST}`"))
}

/// What was found and is not listed, and what is listed and was not found.
pub(super) fn complaints(found: &[Loss], expected: &[Loss]) -> Vec<String> {
    let unexpected = found.iter().filter(|loss| !expected.contains(loss));
    let stale = expected.iter().filter(|loss| !found.contains(loss));
    unexpected
        .map(|loss| format!("does not pass: {loss}"))
        .chain(stale.map(|loss| format!("passes, but `{LIST}` lists it: {loss}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Leg;
    use super::*;

    fn loss(check: &str) -> Loss {
        Loss { leg: Leg::Http, revision: "2026-07-28".into(), scenario: "s".into(), check: check.into() }
    }

    #[test]
    fn the_list_is_strict_both_ways() {
        assert!(complaints(&[loss("a")], &[loss("a")]).is_empty());
        assert_eq!(complaints(&[loss("a")], &[]), ["does not pass: http 2026-07-28 s:a"]);
        let stale = complaints(&[], &[loss("a")]);
        assert!(
            stale[0].starts_with("passes, but") && stale[0].ends_with("http 2026-07-28 s:a"),
            "{stale:?}"
        );
    }

    #[test]
    fn the_list_can_be_read_and_gives_reasons() {
        for expected in read().unwrap() {
            assert!(expected.why.len() > 20, "{}", expected.loss);
        }
    }
}
