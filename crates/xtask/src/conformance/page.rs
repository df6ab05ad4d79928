//! `docs/conformance.md`: one table per revision, made from a run and read again to compare with another.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::expected::Expected;
use super::outcome::{Leg, REVISIONS, Results, Scenario};
use super::suite::FOLDER;
use crate::workspace;

const HEAD: &str = "\
<!-- Made by `cargo xtask conformance --write`; do not edit. -->

# Conformance

The official conformance suite of the Model Context Protocol, run against a fixture server of ours
([crates/xtask/conformance](../crates/xtask/conformance/fixture/main.mjs)) three times: **bare** over HTTP, behind
the gateway over **HTTP**, and behind the gateway as a program (**stdio**), where the suite still speaks HTTP to the
gateway. The policy lets everything through that the fixture has, so that what is lost is lost by the gateway.

The rule: **the gateway costs no check.** A check that passes bare and does not behind the gateway fails the run, and
so does a known difference that is gone. All scenarios of a revision's server requirements are run, also those that the
suite does not score (extensions, and what its own reference server cannot pass yet). Numbers are checks passed and
checks judged; warnings count as not passed.

`cargo xtask conformance` runs all of it and compares with this page; CI runs the two over HTTP.

What this does not show: the suite's scenarios for clients, which start a client program and play the server; and
bridging between the eras, which the gateway does not do: each client speaks to a server of its own era.
";

/// The page of a complete run.
pub(super) fn render(results: &Results, expected: &[Expected]) -> Result<String> {
    let mut page = HEAD.to_owned();
    writeln!(page, "\nSuite: `@modelcontextprotocol/conformance` {}.", version()?)?;
    for revision in REVISIONS {
        writeln!(page, "\n## {revision}\n")?;
        page.push_str(&table(results, revision)?);
    }
    writeln!(page, "\n## Known differences\n")?;
    if expected.is_empty() {
        writeln!(page, "None.")?;
    }
    for one in expected {
        writeln!(page, "- `{}`: {}", one.loss, one.why)?;
    }
    Ok(page)
}

fn version() -> Result<String> {
    let text = std::fs::read_to_string(workspace::root().join(FOLDER).join("package.json"))?;
    let package: serde_json::Value = serde_json::from_str(&text)?;
    let version = package.pointer("/dependencies/@modelcontextprotocol~1conformance");
    Ok(version.and_then(|version| version.as_str()).context("the suite has no version")?.to_owned())
}

fn table(results: &Results, revision: &str) -> Result<String> {
    let mut table = "| scenario | scored | bare | HTTP | stdio |\n|---|---|--:|--:|--:|\n".to_owned();
    let empty = Vec::new();
    let of =
        |leg: Leg| results.iter().find(|(key, _)| **key == (leg, revision)).map_or(&empty, |found| found.1);
    for scenario in of(Leg::Bare) {
        let scored = scenario.not_scored.as_deref().unwrap_or("yes");
        let cells = Leg::ALL.map(|leg| cell(of(leg), &scenario.name));
        writeln!(table, "| {} | {scored} | {} |", scenario.name, cells.join(" | "))?;
    }
    let totals = Leg::ALL.map(|leg| total(of(leg)));
    writeln!(table, "| **all {}** | | {} |", of(Leg::Bare).len(), totals.join(" | "))?;
    Ok(table)
}

fn cell(scenarios: &[Scenario], name: &str) -> String {
    let found = scenarios.iter().find(|scenario| scenario.name == name);
    match found.map(Scenario::score) {
        None => "not run".to_owned(),
        Some((_, 0)) => "skipped".to_owned(),
        Some((passed, judged)) => format!("{passed}/{judged}"),
    }
}

fn total(scenarios: &[Scenario]) -> String {
    let sum = |sum: (usize, usize), one: (usize, usize)| (sum.0 + one.0, sum.1 + one.1);
    let (passed, judged) = scenarios.iter().map(Scenario::score).fold((0, 0), sum);
    format!("**{passed}/{judged}**")
}

/// Where a run differs from what the page shows; of a short run, only what was run is compared.
pub(super) fn differences(results: &Results, shown: &str) -> Vec<String> {
    let shown = cells(shown);
    let mut differences = Vec::new();
    let mut seen = 0;
    for ((leg, revision), scenarios) in results {
        for scenario in scenarios {
            let now = cell(scenarios, &scenario.name);
            let key = (revision.to_string(), scenario.name.clone(), *leg);
            let then = shown.get(&key).map_or("nothing", String::as_str);
            seen += usize::from(shown.contains_key(&key));
            if then != now {
                let leg = leg.word();
                differences.push(format!("{leg} {revision} {}: {now}, the page has {then}", scenario.name));
            }
        }
    }
    let legs = |leg: &Leg| results.keys().any(|key| key.0 == *leg);
    let rows = shown.keys().filter(|key| legs(&key.2)).count();
    if rows != seen {
        differences.push(format!("the page has {rows} results of these runs, and {seen} of them were seen"));
    }
    differences
}

/// The cells of all tables, by revision, scenario and leg.
fn cells(page: &str) -> BTreeMap<(String, String, Leg), String> {
    let mut cells = BTreeMap::new();
    let mut revision = "";
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            revision = heading;
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", name, _, bare, http, stdio, ""] = parts.as_slice()
            && REVISIONS.contains(&revision)
            && !["scenario", "---"].contains(name)
            && !name.starts_with("**")
        {
            for (leg, cell) in Leg::ALL.iter().zip([bare, http, stdio]) {
                cells.insert((revision.to_owned(), (*name).to_owned(), *leg), (*cell).to_owned());
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Status;
    use super::super::outcome::tests::scenario;
    use super::*;

    fn results(legs: &[Leg], passes: Status) -> Results {
        let run = || vec![scenario("ping", &[("a", Status::Success), ("b", passes)]), scenario("skip", &[])];
        let keys = legs.iter().flat_map(|leg| REVISIONS.map(|revision| (*leg, revision)));
        keys.map(|key| (key, run())).collect()
    }

    #[test]
    fn a_run_is_like_the_page_that_was_made_from_it() {
        let all = results(&Leg::ALL, Status::Success);
        let page = render(&all, &[]).unwrap();
        assert!(page.contains("| ping | yes | 2/2 | 2/2 | 2/2 |"), "{page}");
        assert!(page.contains("| skip | yes | skipped | skipped | skipped |"), "{page}");
        assert_eq!(differences(&all, &page), [""; 0]);
        assert_eq!(differences(&results(&[Leg::Bare, Leg::Http], Status::Success), &page), [""; 0]);
    }

    #[test]
    fn a_check_that_no_longer_passes_and_a_scenario_that_is_gone_are_differences() {
        let page = render(&results(&Leg::ALL, Status::Success), &[]).unwrap();
        let worse = differences(&results(&[Leg::Http], Status::Failure), &page);
        assert_eq!(worse[0], "http 2025-11-25 ping: 1/2, the page has 2/2");
        let mut fewer = results(&[Leg::Http], Status::Success);
        fewer.values_mut().for_each(|run| drop(run.pop()));
        assert_eq!(
            differences(&fewer, &page),
            ["the page has 4 results of these runs, and 2 of them were seen"]
        );
    }
}
