//! What the suite found, and what is lost between two runs of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// The revisions that are run, each with the scenarios that it requires.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Where the suite connects to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Leg {
    /// The fixture itself, over HTTP.
    Bare,
    /// The gateway, with the fixture behind it over HTTP.
    Http,
    /// The gateway, with the fixture behind it as a program.
    Stdio,
}

/// The scenarios of each run.
pub(super) type Results = BTreeMap<(Leg, &'static str), Vec<Scenario>>;

/// One scenario of a run.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// Why the revision does not count it, if so.
    pub(super) not_scored: Option<String>,
    pub(super) checks: Vec<Check>,
}

/// One thing that a scenario looked at.
#[derive(Debug, Deserialize)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    #[serde(rename = "errorMessage")]
    pub(super) message: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// What the suite noted on its way; not a judgement.
    Info,
}

/// A check that is not passed: by the bare fixture, or behind the gateway although the bare fixture passes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loss {
    pub(super) leg: Leg,
    pub(super) revision: String,
    pub(super) scenario: String,
    pub(super) check: String,
}

impl Leg {
    pub(super) const ALL: [Leg; 3] = [Leg::Bare, Leg::Http, Leg::Stdio];

    pub(super) fn word(self) -> &'static str {
        match self {
            Leg::Bare => "bare",
            Leg::Http => "http",
            Leg::Stdio => "stdio",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}:{}", self.leg.word(), self.revision, self.scenario, self.check)
    }
}

impl Scenario {
    /// How many checks passed, and of how many that were judged.
    pub(super) fn score(&self) -> (usize, usize) {
        let count =
            |wanted: &[Status]| self.checks.iter().filter(|check| wanted.contains(&check.status)).count();
        (count(&[Status::Success]), count(&[Status::Success, Status::Failure, Status::Warning]))
    }

    fn passed(&self, id: &str) -> usize {
        let passes = |check: &&Check| check.id == id && check.status == Status::Success;
        self.checks.iter().filter(passes).count()
    }

    fn complaints(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.status, Status::Failure | Status::Warning))
    }
}

/// One line about a run, and what did not pass.
pub(super) fn summary(leg: Leg, revision: &str, scenarios: &[Scenario]) -> String {
    let scores = scenarios.iter().map(Scenario::score);
    let (passed, judged) = scores.fold((0, 0), |sum, score| (sum.0 + score.0, sum.1 + score.1));
    let count = scenarios.len();
    let mut lines =
        vec![format!("{} at {revision}: {passed} of {judged} checks, {count} scenarios", leg.word())];
    for scenario in scenarios {
        for check in scenario.complaints() {
            let message = check.message.as_deref().unwrap_or("");
            lines.push(format!("  {}:{} {:?} {message}", scenario.name, check.id, check.status));
        }
    }
    lines.join("\n")
}

/// Everything that is not passed where it should be, in order.
pub(super) fn losses(results: &Results) -> Vec<Loss> {
    let mut losses = Vec::new();
    for ((leg, revision), scenarios) in results {
        let bare = results.get(&(Leg::Bare, *revision)).map_or(&[][..], Vec::as_slice);
        let lost = if *leg == Leg::Bare { failures(scenarios) } else { lost(bare, scenarios) };
        losses.extend(lost.into_iter().map(|(scenario, check)| Loss {
            leg: *leg,
            revision: (*revision).to_owned(),
            scenario,
            check,
        }));
    }
    losses.sort();
    losses.dedup();
    losses
}

fn failures(scenarios: &[Scenario]) -> Vec<(String, String)> {
    let of = |scenario: &Scenario| -> Vec<(String, String)> {
        scenario.complaints().map(|check| (scenario.name.clone(), check.id.clone())).collect()
    };
    scenarios.iter().flat_map(of).collect()
}

/// Checks that passed more often bare, and failures that the bare run does not have.
fn lost(bare: &[Scenario], through: &[Scenario]) -> Vec<(String, String)> {
    let mut lost = Vec::new();
    for scenario in bare {
        let same = through.iter().find(|other| other.name == scenario.name);
        for check in &scenario.checks {
            let passed = same.map_or(0, |same| same.passed(&check.id));
            if passed < scenario.passed(&check.id) {
                lost.push((scenario.name.clone(), check.id.clone()));
            }
        }
    }
    let known = failures(bare);
    lost.extend(failures(through).into_iter().filter(|failure| !known.contains(failure)));
    lost
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::conformance) fn scenario(name: &str, checks: &[(&str, Status)]) -> Scenario {
        let check =
            |(id, status): &(&str, Status)| Check { id: (*id).into(), status: *status, message: None };
        Scenario { name: name.into(), not_scored: None, checks: checks.iter().map(check).collect() }
    }

    fn lost_between(bare: Scenario, through: Vec<Scenario>) -> Vec<String> {
        let revision = REVISIONS[0];
        let results = Results::from([((Leg::Bare, revision), vec![bare]), ((Leg::Http, revision), through)]);
        losses(&results).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_passes_behind_the_gateway_too_is_no_loss() {
        let checks = [("a", Status::Success), ("b", Status::Info), ("c", Status::Skipped)];
        assert!(lost_between(scenario("s", &checks), vec![scenario("s", &checks[..1])]).is_empty());
    }

    #[test]
    fn a_check_that_fails_warns_is_skipped_or_is_not_made_behind_the_gateway_is_lost() {
        let wanted = ["http 2025-11-25 s:a"];
        for after in [Status::Failure, Status::Warning, Status::Skipped, Status::Info] {
            let lost =
                lost_between(scenario("s", &[("a", Status::Success)]), vec![scenario("s", &[("a", after)])]);
            assert_eq!(lost, wanted);
        }
        let lost = lost_between(scenario("s", &[("a", Status::Success)]), vec![]);
        assert_eq!(lost, wanted);
    }

    #[test]
    fn one_of_several_passes_of_a_check_is_missed() {
        let twice = scenario("s", &[("a", Status::Success), ("a", Status::Success)]);
        let once = scenario("s", &[("a", Status::Success), ("a", Status::Failure)]);
        assert_eq!(lost_between(twice, vec![once]), ["http 2025-11-25 s:a"]);
    }

    #[test]
    fn a_failure_that_only_the_gateway_has_is_a_loss_and_a_bare_failure_is_one_of_the_fixture() {
        let bare = scenario("s", &[("a", Status::Failure)]);
        let through = scenario("s", &[("a", Status::Failure), ("b", Status::Failure)]);
        assert_eq!(lost_between(bare, vec![through]), ["bare 2025-11-25 s:a", "http 2025-11-25 s:b"]);
    }
}
