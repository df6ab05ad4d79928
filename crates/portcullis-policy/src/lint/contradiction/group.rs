//! The conditions of a rule that speak of the same path, and whether one value can satisfy them all.

use std::collections::HashMap;

use portcullis_json::{Decimal, Number, Value};

use crate::operator::{Stance, Test, Tested};
use crate::path::{Path, Root, Step};
use crate::rule::{Condition, Rule};

/// Conditions on one path, each with its place in the rule; there is at least one.
pub(super) struct Group<'r> {
    pub(super) path: &'r Path,
    pub(super) conditions: Vec<(usize, &'r Condition)>,
}

/// The conditions of a rule by path, in the order in which the paths come up.
pub(super) fn groups(rule: &Rule) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: HashMap<(Root, &[Step]), usize> = HashMap::new();
    for (index, condition) in rule.conditions.iter().enumerate() {
        let path = &condition.path;
        let place = *places.entry((path.root, path.steps.as_slice())).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.conditions.push((index, condition)),
            None => groups.push(Group { path, conditions: vec![(index, condition)] }),
        }
    }
    groups
}

impl Group<'_> {
    pub(super) fn find(&self, is_wanted: impl Fn(&Condition) -> bool) -> Option<(usize, &Condition)> {
        let mut conditions = self.conditions.iter();
        conditions.find_map(|(index, one)| is_wanted(one).then_some((*index, *one)))
    }

    /// The place of the condition that completes the contradiction.
    pub(super) fn last(&self) -> usize {
        self.conditions.last().map_or(0, |(index, _)| *index)
    }

    /// How many tests judging it takes, roughly.
    pub(super) fn cost(&self) -> usize {
        let candidates = self.candidates().map_or(1, |values| values.len());
        self.conditions.len() * candidates
    }

    pub(super) fn contradicts_itself(&self, stance: Stance) -> bool {
        if self.conditions.len() < 2 {
            return false;
        }
        let excluded = |values: &[Value]| !self.any_satisfies(values, stance);
        self.candidates().is_some_and(excluded)
            || self.has_two_types()
            || self.numbers().is_empty()
            || self.lengths().is_empty()
    }

    /// Whether one of the values satisfies all conditions.
    pub(super) fn any_satisfies(&self, values: &[Value], stance: Stance) -> bool {
        values
            .iter()
            .any(|value| self.conditions.iter().all(|(_, condition)| holds(condition, value, stance)))
    }

    /// The only values that can satisfy the group, where a condition lists them.
    fn candidates(&self) -> Option<&[Value]> {
        let exact = self
            .conditions
            .iter()
            .find_map(|(_, one)| (one.operator.name == "eq").then_some(std::slice::from_ref(&one.value)));
        let listed = || {
            self.conditions
                .iter()
                .find_map(|(_, one)| (one.operator.name == "in").then(|| one.value.as_array()).flatten())
        };
        exact.or_else(listed)
    }

    fn has_two_types(&self) -> bool {
        let types = self.conditions.iter().filter_map(|(_, one)| {
            let name = one.value.as_str()?;
            let general = if name == "integer" { "number" } else { name };
            (one.operator.name == "type").then_some(general)
        });
        let mut types = types.peekable();
        let first = types.peek().copied();
        types.any(|other| Some(other) != first)
    }

    fn numbers(&self) -> Interval {
        self.interval(["gt", "gte"], ["lt", "lte"])
    }

    fn lengths(&self) -> Interval {
        self.interval(["", "length_gte"], ["", "length_lte"])
    }

    /// The operators of each side: first the one that leaves its bound out, then the one that takes it in.
    fn interval(&self, above: [&str; 2], below: [&str; 2]) -> Interval {
        let mut interval = Interval::default();
        for (_, condition) in &self.conditions {
            let operator = condition.operator.name;
            let Some(bound) = condition.value.as_number().map(Number::decimal) else {
                continue;
            };
            let open = [above, below].iter().any(|[open, _]| *open == operator);
            if above.contains(&operator) {
                interval.raise(bound, open);
            } else if below.contains(&operator) {
                interval.lower(bound, open);
            }
        }
        interval
    }
}

fn holds(condition: &Condition, value: &Value, stance: Stance) -> bool {
    match &condition.test {
        Test::Exists(wanted) => *wanted,
        Test::Value(operator) => match operator.test(value, stance) {
            Tested::Holds => true,
            Tested::Fails => false,
            Tested::Inapplicable => stance == Stance::Stops,
        },
    }
}

/// Bounds, each with whether it is left out itself.
#[derive(Default)]
struct Interval {
    from: Option<(Decimal, bool)>,
    to: Option<(Decimal, bool)>,
}

impl Interval {
    fn raise(&mut self, bound: Decimal, open: bool) {
        let new = (bound, open);
        if self.from.as_ref().is_none_or(|old| *old < new) {
            self.from = Some(new);
        }
    }

    fn lower(&mut self, bound: Decimal, open: bool) {
        // Of two equal bounds the one that is left out is the narrower.
        let narrower = |old: &(Decimal, bool)| (&bound, !open) < (&old.0, !old.1);
        if self.to.as_ref().is_none_or(narrower) {
            self.to = Some((bound, open));
        }
    }

    fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Some((from, from_open)), Some((to, to_open))) => {
                from > to || (from == to && (*from_open || *to_open))
            }
            _ => false,
        }
    }
}
