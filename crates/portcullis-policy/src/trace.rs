//! What was looked at on the way to a decision: the same evaluation, written down.

use crate::operator::Stance;
use crate::rule::{CauseKind, Condition, Facts, Outcome, Rule, RuleOutcome};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where it stands in the document.
    pub pointer: String,
    /// How it came out, in a few words.
    pub outcome: String,
    /// For rules: the conditions that were looked at.
    pub conditions: Vec<ConditionLook>,
}

/// One condition that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionLook {
    /// Its path.
    pub path: String,
    /// Its operator.
    pub op: &'static str,
    /// `holds`, `does not hold`, `path missing`, `path inapplicable` or `operator inapplicable`.
    pub outcome: &'static str,
    /// What that counts as here.
    pub counts_as_true: bool,
}

/// Takes notes, or does not.
pub(crate) trait Trace {
    /// Notes what `look` makes; one that takes no notes does not make it.
    fn note(&mut self, look: impl FnOnce() -> Look);
    /// Evaluates a rule and notes it.
    fn rule(&mut self, rule: &Rule, facts: &Facts<'_>, stance: Stance) -> RuleOutcome;
}

/// Takes no notes: for deciding.
pub(crate) struct Silent;

impl Trace for Silent {
    fn note(&mut self, _: impl FnOnce() -> Look) {}

    fn rule(&mut self, rule: &Rule, facts: &Facts<'_>, stance: Stance) -> RuleOutcome {
        rule.evaluate(facts, stance, |_, _| {})
    }
}

/// Takes notes: for explaining.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) looks: Vec<Look>,
}

impl Trace for Notes {
    fn note(&mut self, look: impl FnOnce() -> Look) {
        self.looks.push(look());
    }

    fn rule(&mut self, rule: &Rule, facts: &Facts<'_>, stance: Stance) -> RuleOutcome {
        let mut conditions = Vec::new();
        let result = rule.evaluate(facts, stance, |condition, outcome| {
            conditions.push(condition_look(condition, outcome));
        });
        let outcome = if result.holds { "holds" } else { "does not hold" };
        self.looks.push(Look { pointer: rule.pointer.to_string(), outcome: outcome.to_owned(), conditions });
        result
    }
}

impl Look {
    pub(crate) fn at(pointer: &str, outcome: impl Into<String>) -> Look {
        Look { pointer: pointer.to_owned(), outcome: outcome.into(), conditions: Vec::new() }
    }
}

fn condition_look(condition: &Condition, outcome: Outcome) -> ConditionLook {
    let words = match outcome.cause {
        Some(CauseKind::Missing) => "path missing",
        Some(CauseKind::NoObject(_) | CauseKind::NoArray(_) | CauseKind::ClassUnknown) => "path inapplicable",
        Some(CauseKind::Inapplicable(_)) => "operator inapplicable",
        None if outcome.holds => "holds",
        None => "does not hold",
    };
    ConditionLook {
        path: condition.path.to_string(),
        op: condition.operator.name,
        outcome: words,
        counts_as_true: outcome.holds,
    }
}
