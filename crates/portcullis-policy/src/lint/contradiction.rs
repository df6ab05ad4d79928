//! A rule whose conditions no value satisfies.
//!
//! In `deny_if` and `approve_if` such a rule can still hold for what cannot be judged; nobody writes a rule
//! for that, so it is warned of as well. Conditions with `[*]` range independently and are left alone.

mod group;

use portcullis_json::{Pointer, Value};

use self::group::{Group, groups};
use super::absence::can_be_missing;
use super::{Effort, RuleList, RulePlace, leads_through};
use crate::class::Class;
use crate::operator::Test;
use crate::path::{Path, Root, listed};
use crate::problem::Problems;
use crate::rule::Condition;

/// A longer value is cut in messages.
const SHOWN_CHARACTERS_MAX: usize = 40;
/// More conditions are not shown in a message.
const SHOWN_CONDITIONS_MAX: usize = 4;

pub(super) fn warn(rules: &[RulePlace<'_>], effort: &mut Effort, problems: &mut Problems) {
    for rule in rules {
        let groups = groups(rule.rule);
        for group in &groups {
            if !effort.allows(group.cost() + groups.len()) {
                return;
            }
            judge(rule, group, &groups, problems);
        }
    }
}

/// Reports the first thing that is wrong with the conditions on one path.
fn judge(rule: &RulePlace<'_>, group: &Group<'_>, groups: &[Group<'_>], problems: &mut Problems) {
    if let Some((index, condition)) = group.find(|one| holds_for_nothing(rule.list, one)) {
        let message = format!("{} holds for no value", shown(condition));
        let help = "say at least one thing that may stand there, or remove the rule".to_owned();
        report(rule, index, message, help, problems);
        return;
    }
    if group.path.has_each() {
        return;
    }
    if let Some((index, _)) = group.find(|one| is_absent(one) && never_absent(&one.path)) {
        let message = format!("`{}` is never missing", group.path);
        report(rule, index, message, general_help(rule.list), problems);
    } else if let Some((index, deeper)) = needs_what_is_absent(group, groups) {
        let message = format!("`{}` has to be missing here, and `{}` to be found", group.path, deeper);
        report(rule, index, message, general_help(rule.list), problems);
    } else if let Some(help) = outside_of_domain(rule.list, group) {
        let message = format!("`{}` never satisfies {}", group.path, all_shown(group));
        report(rule, group.last(), message, help, problems);
    } else if group.contradicts_itself(rule.list.stance()) {
        let message = format!("no value of `{}` satisfies {}", group.path, all_shown(group));
        report(rule, group.last(), message, general_help(rule.list), problems);
    }
}

fn report(rule: &RulePlace<'_>, condition: usize, message: String, help: String, problems: &mut Problems) {
    let at: Pointer = rule.at.key("conditions").index(condition);
    problems.warn(&at, format!("{message}: the rule can never hold"), help);
}

fn general_help(list: RuleList) -> String {
    match list {
        RuleList::Require => "as it is, every call is denied here; all conditions of a rule must hold, and of `require` every rule".to_owned(),
        RuleList::DenyIf | RuleList::ApproveIf => {
            "all conditions of a rule must hold; where any is enough, write a rule for each".to_owned()
        }
    }
}

fn holds_for_nothing(list: RuleList, condition: &Condition) -> bool {
    let empty = condition.value.as_array().is_some_and(<[_]>::is_empty);
    let admits = list == RuleList::Require;
    match condition.operator.name {
        // An array without elements satisfies whatever is required of each.
        _ if admits && condition.path.has_each() => false,
        "in" => empty,
        "host_in" | "path_within" => empty && admits,
        _ => false,
    }
}

fn is_absent(condition: &Condition) -> bool {
    matches!(condition.test, Test::Exists(false))
}

/// A class that is not known counts as absent.
fn never_absent(path: &Path) -> bool {
    !can_be_missing(path) && path.root != Root::ToolClass
}

/// The condition that has the path absent, where another needs it or something below it.
fn needs_what_is_absent(group: &Group<'_>, groups: &[Group<'_>]) -> Option<(usize, String)> {
    let (index, _) = group.find(is_absent)?;
    let needed = groups
        .iter()
        .find(|other| leads_through(other.path, group.path) && other.find(|one| !is_absent(one)).is_some())?;
    Some((index, needed.path.to_string()))
}

/// What to say where a path has few values, and none of them satisfies all conditions.
fn outside_of_domain(list: RuleList, group: &Group<'_>) -> Option<String> {
    let (values, help): (Vec<Value>, String) = match group.path.root {
        Root::TimeHour => (
            (0..24).map(Value::from).collect(),
            "`time.hour` is 0 to 23; for a span over midnight, list the hours with `in`".to_owned(),
        ),
        Root::TimeWeekday => named(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
        Root::ToolClass => named(&Class::ALL.map(Class::name)),
        _ => return None,
    };
    let only_values = group.find(is_absent).is_none();
    (only_values && !group.any_satisfies(&values, list.stance())).then_some(help)
}

fn named(names: &[&str]) -> (Vec<Value>, String) {
    let values = names.iter().map(|name| Value::from(*name)).collect();
    (values, format!("known are {}", listed(names)))
}

fn all_shown(group: &Group<'_>) -> String {
    let conditions = group.conditions.iter().take(SHOWN_CONDITIONS_MAX);
    let shown: Vec<String> = conditions.map(|(_, condition)| shown(condition)).collect();
    shown.join(" and ")
}

fn shown(condition: &Condition) -> String {
    let value = condition.value.to_string();
    let mut text: String = value.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if text.len() < value.len() {
        text.push('…');
    }
    format!("`{} {text}`", condition.operator.name)
}
