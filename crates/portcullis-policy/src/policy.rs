//! A policy, compiled: everything is parsed, every expression is ready, every pointer is written.

use std::sync::Arc;

use jiff::tz::TimeZone;
use portcullis_json::{Decimal, Value};

use crate::class::Class;
use crate::compile;
use crate::glob::Glob;
use crate::limits::{Limit, Unit};
use crate::names::Names;
use crate::path::Path;
use crate::problem::Problems;
use crate::redact::Detectors;
use crate::rule::Rule;

/// A policy that was read without errors.
#[derive(Debug)]
pub struct Policy {
    pub(crate) document: Value,
    pub(crate) default: Default,
    pub(crate) mode: Mode,
    pub(crate) zone: TimeZone,
    pub(crate) list: List,
    pub(crate) hide: Names<()>,
    pub(crate) all_tools: Entry,
    /// `None`: the document has no `classes`.
    pub(crate) classes: Option<Vec<(Class, Entry)>>,
    pub(crate) tools: Names<Entry>,
    pub(crate) resources: Access,
    pub(crate) prompts: Access,
    /// In the order of `ServerRequest::ALL`; absent means deny.
    pub(crate) server_requests: [Option<Action>; 3],
}

impl Policy {
    /// Reads a policy; every problem in it is reported at once. Warnings do not refuse it.
    pub fn parse(source: &[u8]) -> Result<Policy, Problems> {
        let (policy, problems) = compile::read(source);
        policy.ok_or(problems)
    }

    /// Reads a policy from a value, as when it stands inside another document.
    pub fn from_value(document: &Value) -> Result<Policy, Problems> {
        let mut problems = Problems::default();
        compile::document(document, &mut problems).ok_or(problems)
    }

    /// The document it was read from.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// What the owner wrote about it.
    pub fn description(&self) -> Option<&str> {
        self.document.get("description").and_then(Value::as_str)
    }

    /// What `all_tools` has blanked out in every result.
    pub fn redact_always(&self) -> Detectors {
        self.all_tools.redact
    }

    /// Whether it only reports what it would do.
    pub fn is_shadow(&self) -> bool {
        self.mode == Mode::Shadow
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Default {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Enforce,
    Shadow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Permitted,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Allow,
    Deny,
    Approve,
}

/// Stricter is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Validate {
    Off,
    Schema,
    Strict,
}

/// What applies to a tool. `all_tools` is one without action, reason and set.
#[derive(Debug)]
pub(crate) struct Entry {
    /// `/tools/NAME`.
    pub(crate) pointer: Arc<str>,
    pub(crate) action: Action,
    pub(crate) action_pointer: Arc<str>,
    pub(crate) reason: Option<String>,
    pub(crate) require: Vec<Rule>,
    pub(crate) deny_if: Vec<Rule>,
    pub(crate) approve_if: Vec<Rule>,
    /// `limits`, then `rate_limit`.
    pub(crate) limits: Vec<LimitEntry>,
    pub(crate) validate: Validate,
    pub(crate) validate_pointer: Arc<str>,
    pub(crate) set: Vec<Assignment>,
    pub(crate) set_pointer: Arc<str>,
    pub(crate) redact: Detectors,
}

impl Entry {
    /// Whether it restricts nothing.
    pub(crate) fn is_bare(&self) -> bool {
        let restricts =
            [&self.require, &self.deny_if, &self.approve_if].iter().any(|rules| !rules.is_empty());
        self.action == Action::Allow && !restricts && self.limits.is_empty() && self.validate == Validate::Off
    }
}

/// A value forced into the arguments.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) path: Path,
    pub(crate) value: Value,
}

/// A limit, and what a call adds under it.
#[derive(Debug)]
pub(crate) struct LimitEntry {
    pub(crate) counter: CounterName,
    pub(crate) scope: ScopeKind,
    pub(crate) amount: Amount,
    pub(crate) limit: Arc<Limit>,
    /// For comparing limits that share a counter.
    pub(crate) alignment: Alignment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    Sliding { seconds: u64 },
    Calendar { unit: Unit },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CounterName {
    Fixed(String),
    /// The name of the called tool and `_rate`.
    CalledTool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Grant,
    Session,
    Server,
    Global,
}

#[derive(Debug)]
pub(crate) enum Amount {
    Fixed(Decimal),
    From(Path),
}

/// Who may use which resources or prompts.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) default: Default,
    pub(crate) allow: Vec<Glob>,
    /// With the pointer of each.
    pub(crate) deny: Vec<(Glob, Arc<str>)>,
}
