//! Warnings: what is legal and probably not meant. One file for each.
//!
//! Called after a policy compiled without errors; a warning never refuses it. Nothing here decides a call.

mod absence;
mod anchors;
mod client_name;
mod contradiction;
mod counters;
mod replaced_class;
mod shadowed;
mod ties;
mod unknown_tools;

pub use unknown_tools::warn_unknown_tools;

use portcullis_json::{Member, Pointer, Value};

use crate::operator::Stance;
use crate::path::Path;
use crate::policy::{Entry, Mode, Policy};
use crate::problem::Problems;
use crate::rule::{Condition, Rule};

/// Comparing each with each can be slow in a huge document; after so many steps no further pairs are looked
/// at, and what they would have warned of goes unsaid.
const STEPS_MAX: usize = 4_000_000;

pub(crate) fn warn(policy: &Policy, problems: &mut Problems) {
    let mut effort = Effort { left: STEPS_MAX };
    let all_tools = all_tools(policy);
    let shared = all_tools.all_rules();
    warn_of_entry(policy.mode, &all_tools, &[], &mut effort, problems);
    for place in entries(policy) {
        warn_of_entry(policy.mode, &place, &shared, &mut effort, problems);
    }
    counters::warn_of_doubles(policy, problems);
    counters::warn_of_too_many(policy, problems);
    replaced_class::warn(policy, problems);
    ties::warn(policy, &mut effort, problems);
}

/// `shared`: the rules of `all_tools`, which are added to the entry's own.
fn warn_of_entry(
    mode: Mode,
    place: &EntryPlace<'_>,
    shared: &[RulePlace<'_>],
    effort: &mut Effort,
    problems: &mut Problems,
) {
    let rules = place.all_rules();
    absence::warn(place.entry, &rules, shared, effort, problems);
    anchors::warn(&rules, problems);
    client_name::warn(&rules, problems);
    contradiction::warn(&rules, effort, problems);
    shadowed::warn(mode, place, &rules, shared, effort, problems);
    counters::warn_of_sessions(place, problems);
}

/// How much comparing is left.
struct Effort {
    left: usize,
}

impl Effort {
    /// Whether there is enough left for so many steps; they are then taken.
    fn allows(&mut self, steps: usize) -> bool {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

/// An entry, and where it stands.
struct EntryPlace<'p> {
    at: Pointer,
    entry: &'p Entry,
}

/// A rule, and where it stands.
struct RulePlace<'p> {
    at: Pointer,
    list: RuleList,
    rule: &'p Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleList {
    Require,
    DenyIf,
    ApproveIf,
}

impl RuleList {
    const ALL: [RuleList; 3] = [RuleList::Require, RuleList::DenyIf, RuleList::ApproveIf];

    fn name(self) -> &'static str {
        match self {
            RuleList::Require => "require",
            RuleList::DenyIf => "deny_if",
            RuleList::ApproveIf => "approve_if",
        }
    }

    fn stance(self) -> Stance {
        match self {
            RuleList::Require => Stance::Admits,
            RuleList::DenyIf | RuleList::ApproveIf => Stance::Stops,
        }
    }
}

impl<'p> EntryPlace<'p> {
    fn rules(&self, list: RuleList) -> &'p [Rule] {
        match list {
            RuleList::Require => &self.entry.require,
            RuleList::DenyIf => &self.entry.deny_if,
            RuleList::ApproveIf => &self.entry.approve_if,
        }
    }

    /// The rules of all its lists, in the order in which they are judged.
    fn all_rules(&self) -> Vec<RulePlace<'p>> {
        let in_list = |list: RuleList| {
            let rules = self.rules(list).iter().enumerate();
            rules.map(move |(index, rule)| RulePlace {
                at: self.at.key(list.name()).index(index),
                list,
                rule,
            })
        };
        RuleList::ALL.into_iter().flat_map(in_list).collect()
    }
}

impl<'p> RulePlace<'p> {
    /// The conditions, each with its place.
    fn conditions(&self) -> impl Iterator<Item = (Pointer, &'p Condition)> {
        let at = self.at.key("conditions");
        let conditions = self.rule.conditions.iter().enumerate();
        conditions.map(move |(index, condition)| (at.index(index), condition))
    }
}

fn all_tools(policy: &Policy) -> EntryPlace<'_> {
    EntryPlace { at: Pointer::root().key("all_tools"), entry: &policy.all_tools }
}

/// The entries of which one is chosen for a call.
fn entries(policy: &Policy) -> impl Iterator<Item = EntryPlace<'_>> {
    let classes_at = Pointer::root().key("classes");
    let classes = policy.classes.iter().flatten();
    let classes = classes.map(move |(class, entry)| EntryPlace { at: classes_at.key(class.name()), entry });
    classes.chain(tools(policy).map(|(_, place)| place))
}

/// The entries under `tools`, with their keys.
fn tools(policy: &Policy) -> impl Iterator<Item = (&str, EntryPlace<'_>)> {
    let tools_at = Pointer::root().key("tools");
    members(policy, "tools").filter_map(move |member| {
        let at = tools_at.key(&member.key);
        let entry = policy.tools.find_key(&member.key)?;
        Some((member.key.as_str(), EntryPlace { at, entry }))
    })
}

fn members<'p>(policy: &'p Policy, key: &str) -> impl Iterator<Item = &'p Member> {
    let object = policy.document.get(key).and_then(Value::as_object);
    object.into_iter().flatten()
}

/// Whether both say the same of the same place.
fn same_condition(a: &Condition, b: &Condition) -> bool {
    same_path(&a.path, &b.path) && a.operator.name == b.operator.name && a.value == b.value
}

fn same_path(a: &Path, b: &Path) -> bool {
    a.root == b.root && a.steps == b.steps
}

/// Whether `deeper` is `path` or lies below it.
fn leads_through(deeper: &Path, path: &Path) -> bool {
    deeper.root == path.root && deeper.steps.starts_with(&path.steps)
}

#[cfg(test)]
mod tests;
