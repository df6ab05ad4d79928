//! The oracle: a second, naive reading of the policy language, to hold the engine against. It covers
//! every field and operator and shares nothing with the engine but the crates for regular expressions,
//! JSON Schema and time zones. Not fast, not bounded, not for use; where the two differ, one of them
//! misreads the page.
//!
//! The engine takes part by implementing [`Subject`]; [`compare`] then runs the scenario of a seed on both
//! and tells the first difference, shrunk, as a policy test file. The modules are grouped in the order
//! in which they are best read.

// A policy and how it is written.
#[cfg(test)]
pub(crate) mod document;
#[cfg(test)]
mod number;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod print;
#[cfg(test)]
mod reading;
#[cfg(test)]
pub(crate) mod value;

// What conditions say.
#[cfg(test)]
pub(crate) mod conditions;
#[cfg(test)]
mod directories;
#[cfg(test)]
mod glob;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod operators;
#[cfg(test)]
mod schemas;

// How calls and the rest are decided.
#[cfg(test)]
pub(crate) mod counters;
#[cfg(test)]
pub(crate) mod decide;
#[cfg(test)]
mod elsewhere;
#[cfg(test)]
mod forcing;
#[cfg(test)]
pub(crate) mod scenario;
#[cfg(test)]
mod windows;

// Both readings side by side.
#[cfg(test)]
mod compare;
#[cfg(test)]
mod dump;
#[cfg(test)]
mod shrink;

// Where scenarios come from.
#[cfg(test)]
mod generate;
#[cfg(test)]
mod generate_conditions;
#[cfg(test)]
mod generate_events;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod random;

// What the oracle itself is held against.
#[cfg(test)]
mod cases;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod subjects;

#[cfg(test)]
pub(crate) use compare::{Observed, ObservedCharge, Subject, compare};

/// A value of the oracle's as JSON text.
#[cfg(test)]
pub(crate) fn text_of(value: &value::Val) -> String {
    print::compact(value)
}

/// The scenario of a seed, and its policy as text.
#[cfg(test)]
pub(crate) fn scenario_of(seed: u64) -> (Option<String>, scenario::Scenario) {
    let scenario = generate::scenario(seed);
    let text = scenario.doc.as_ref().map(|doc| compare::policy_text(doc, scenario.spelling));
    (text, scenario)
}
