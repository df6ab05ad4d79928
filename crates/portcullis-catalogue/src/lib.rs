//! The catalogue: what a tool does, how risky that is, why, and the rule to put on it.
//!
//! Pure functions over tool definitions, and an index of servers and tools in one file. Talks to no
//! network and starts no process: whoever calls it brings the definitions.

pub mod attacks;
pub mod baseline;
mod classify;
pub mod combine;
mod definition;
pub mod diff;
pub mod eval;
pub mod findings;
pub mod fingerprint;
pub mod index;
mod inert;
mod level;
pub mod recommend;
pub mod record;
pub mod reference;
pub mod rename;
pub mod render;
pub mod tokens;
mod words;

pub use classify::{
    CAP, Classification, Evidence, FLOOR, Place, QUOTE_BYTES_MAX, REVIEW_BELOW, RULES, Rule, RuleId,
    SIBLINGS_MAX, Siblings, Signal, classify,
};
pub use definition::{
    DefinitionFault, ENUM_VALUES_MAX, Hints, NAME_BYTES_MAX, PARAMETERS_MAX, Parameter, SCHEMA_DEPTH_MAX,
    ToolDefinition,
};
pub use inert::{inert, inert_json, inert_short, is_hidden};
pub use level::{Level, graver, severity};
pub use portcullis_policy::Class;
