//! A negative operator in a rule that stops says nothing of calls that leave the value out.

use portcullis_json::Pointer;

use super::{Effort, RuleList, RulePlace, same_condition, same_path};
use crate::operator::Test;
use crate::path::{Path, Root, Step};
use crate::policy::Entry;
use crate::problem::Problems;
use crate::rule::{Condition, Rule};

pub(super) fn warn(
    entry: &Entry,
    rules: &[RulePlace<'_>],
    shared: &[RulePlace<'_>],
    effort: &mut Effort,
    problems: &mut Problems,
) {
    let stops = |rule: &&RulePlace<'_>| rule.list != RuleList::Require;
    for rule in rules.iter().filter(stops) {
        for (at, condition) in rule.conditions() {
            if !condition.operator.negative || !can_be_missing(&condition.path) {
                continue;
            }
            if !effort.allows(rules.len() + shared.len()) {
                return;
            }
            let mut others = rules.iter().chain(shared);
            if !is_set(entry, &condition.path)
                && !says_it_may_be_missing(rule.rule, &condition.path)
                && !others.any(|other| covers(other, rule.rule, &condition.path))
            {
                report(rule.list, &at, condition, problems);
            }
        }
    }
}

fn report(list: RuleList, at: &Pointer, condition: &Condition, problems: &mut Problems) {
    let (operator, path) = (condition.operator.name, &condition.path);
    let list = list.name();
    let message = format!("`{operator}` does not hold when `{path}` is missing: such a call passes");
    let help = format!(
        "add to `{list}` a rule for `{path}` with `exists` and `false`, or write a `require` rule with `{}`; if such a call may pass, say so here by adding `exists` with `true`",
        positive(operator)
    );
    problems.warn(&at.key("op"), message, help);
}

/// The operator that says in `require` what this one says in `deny_if`.
fn positive(operator: &str) -> String {
    match operator {
        "neq" => "eq".to_owned(),
        other => other.replace("not_", ""),
    }
}

/// Whether a call can leave out what the path leads to.
pub(super) fn can_be_missing(path: &Path) -> bool {
    let steps = without_last_each(&path.steps);
    match path.root {
        Root::Args | Root::GrantTags => !steps.is_empty(),
        Root::ClientName => true,
        Root::ToolName
        | Root::ToolClass
        | Root::ServerName
        | Root::GrantLabel
        | Root::TimeHour
        | Root::TimeWeekday
        | Root::TimeDate => false,
    }
}

/// The elements of an array are there when the array is.
fn without_last_each(mut steps: &[Step]) -> &[Step] {
    while let [before @ .., Step::Each] = steps {
        steps = before;
    }
    steps
}

/// Whether `deeper` lies at or below the path, so that it is missing when the path is.
fn needs(deeper: &Path, path: &Path) -> bool {
    deeper.root == path.root && deeper.steps.starts_with(without_last_each(&path.steps))
}

/// Whether the policy itself puts something there.
fn is_set(entry: &Entry, path: &Path) -> bool {
    entry.set.iter().any(|set| needs(&set.path, path))
}

/// The rule is explicitly about calls that have the value.
fn says_it_may_be_missing(rule: &Rule, path: &Path) -> bool {
    let mut conditions = rule.conditions.iter();
    conditions.any(|other| matches!(other.test, Test::Exists(true)) && same_path(&other.path, path))
}

/// Whether `other` stops the calls that `rule` would stop if the path were not missing.
fn covers(other: &RulePlace<'_>, rule: &Rule, path: &Path) -> bool {
    let absent =
        |condition: &Condition| matches!(condition.test, Test::Exists(false)) && needs(&condition.path, path);
    let mut conditions = other.rule.conditions.iter();
    if other.list == RuleList::Require {
        return conditions
            .any(|condition| needs(&condition.path, path) && !matches!(condition.test, Test::Exists(false)));
    }
    let in_rule = |condition: &Condition| rule.conditions.iter().any(|own| same_condition(own, condition));
    conditions.clone().any(absent) && conditions.all(|one| absent(one) || in_rule(one))
}
