//! The classifier: a pure function from a definition and its siblings to a class with its reasons.
//!
//! Deterministic rules, listed in [`rules`]. No model, no clock, no I/O: the same input gives the same
//! bytes. Annotations may raise a class or lower confidence, never lower a class.

mod clause;
mod confidence;
mod decide;
mod description;
mod evidence;
mod money;
mod name;
mod object;
mod parameters;
mod precedence;
mod rationale;
mod reading;
mod rules;
mod siblings;

pub use confidence::{CAP, FLOOR, REVIEW_BELOW};
pub use decide::classify;
pub(crate) use decide::classify_briefly;
pub(crate) use description::front;
pub(crate) use evidence::short_place;
pub use evidence::{Evidence, Place, QUOTE_BYTES_MAX, Signal};
pub use rules::{RULES, Rule, RuleId};
pub use siblings::{SIBLINGS_MAX, Siblings};

use crate::{Class, Level};

/// What the rules make of one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// The class.
    pub class: Class,
    /// How sure, from [`FLOOR`] to [`CAP`].
    pub confidence: f64,
    /// Each reason, the one that decided first.
    pub evidence: Vec<Evidence>,
    /// What else matters about the tool, sorted.
    pub signals: Vec<Signal>,
    /// Why this class, why not its neighbours, and why not surer: a few sentences.
    pub rationale: String,
    /// The vendor states that the tool changes nothing, and the rules say that it does.
    pub hint_contradicts: bool,
}

impl Classification {
    /// The level: a function of the class.
    pub fn level(&self) -> Level {
        Level::of(self.class)
    }

    /// Whether a person should look at it.
    pub fn needs_review(&self) -> bool {
        self.confidence < REVIEW_BELOW
    }

    /// Whether the signal is there.
    pub fn has(&self, signal: Signal) -> bool {
        self.signals.contains(&signal)
    }
}
