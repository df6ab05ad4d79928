//! The policy language: parse with positions, check, compile, decide, explain; limits as values.
//!
//! Pure: this crate has no clock, no I/O and no randomness, and knows nothing of MCP or HTTP. The gateway
//! and the command line call [`decide`]; policy tests call the same.

mod class;
mod compile;
mod decide;
mod glob;
mod import;
mod json_schema;
mod limits;
mod lint;
mod names;
mod operator;
mod path;
mod policy;
mod problem;
mod question;
mod redact;
mod rule;
mod schema;
mod shape;
mod tests_as_files;
mod time;
mod trace;
mod verdict;
mod yaml;

pub use class::Class;
pub use decide::{decide, explain};
pub use import::{ImportFaults, Imported, Note, NoteKind, import_intercept};
pub use json_schema::{Dialect, JsonSchema};
pub use limits::{
    COUNTERS_MAX, Charge, CounterKey, Counters, Limit, OverLimit, Reservation, STEPS_MAX, Scope, Unit, Window,
};
pub use lint::warn_unknown_tools;
pub use policy::Policy;
pub use problem::{PROBLEMS_MAX, Part, Problem, Problems, Severity};
pub use question::{Call, Caller, Question, ServerRequest, Subject};
pub use redact::{Detector, Detectors};
pub use rule::{Cause, CauseKind};
pub use schema::json_schema;
pub use tests_as_files::{CaseResult, Load, run_tests};
pub use time::Time;
pub use trace::{ConditionLook, Look};
pub use verdict::{Effect, Obligations, Verdict};
pub use yaml::{YamlFault, yaml_to_value};

/// Reads a policy as `policy check` does: the policy if it has no errors, and every error and warning.
pub fn check(source: &[u8]) -> (Option<Policy>, Problems) {
    compile::read(source)
}
