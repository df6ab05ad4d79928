//! What a policy says: the effect, the rule that decided, and what must be done.

use std::sync::Arc;

use portcullis_json::Value;

use crate::limits::{Charge, OverLimit};
use crate::redact::Detectors;
use crate::rule::Cause;

/// May it?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// Only after a person has said yes.
    Approve,
}

impl Effect {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Deny => "deny",
            Effect::Approve => "approve",
        }
    }
}

/// The decision.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Allow, deny or approve. In shadow mode always allow.
    pub effect: Effect,
    /// In shadow mode: what would have happened, if not allow.
    pub would: Option<Effect>,
    /// A JSON Pointer into the document, or a word in parentheses; empty when allowed.
    pub rule: Arc<str>,
    /// Why it is denied, or the question to a person.
    pub message: Option<String>,
    /// What was wrong with a value, when that was the cause.
    pub cause: Option<Cause>,
    /// Whether the same call may succeed later without a change of policy.
    pub retryable: bool,
    /// Whole seconds until it would fit.
    pub retry_after_s: Option<u64>,
    /// What must be done when it goes through.
    pub obligations: Obligations,
}

/// What must be done when a call goes through.
#[derive(Clone, Debug, Default)]
pub struct Obligations {
    /// The arguments to send, where `set` changed them.
    pub arguments: Option<Value>,
    /// The paths that `set` forced, as written.
    pub set: Vec<String>,
    /// What to blank out in the result.
    pub redact: Detectors,
    /// What to reserve, all or nothing, before the call leaves.
    pub charges: Vec<Charge>,
}

impl Verdict {
    pub(crate) fn allow(obligations: Obligations) -> Verdict {
        Verdict {
            effect: Effect::Allow,
            would: None,
            rule: "".into(),
            message: None,
            cause: None,
            retryable: false,
            retry_after_s: None,
            obligations,
        }
    }

    pub(crate) fn deny(rule: impl Into<Arc<str>>, message: impl Into<String>) -> Verdict {
        Verdict {
            effect: Effect::Deny,
            rule: rule.into(),
            message: Some(message.into()),
            ..Verdict::allow(Obligations::default())
        }
    }

    pub(crate) fn approve(rule: &Arc<str>, question: Option<&str>) -> Verdict {
        let message = question.unwrap_or("This call needs a person's approval.").to_owned();
        Verdict { effect: Effect::Approve, ..Verdict::deny(rule.clone(), message) }
    }

    /// The denial for a call that does not fit: also for one that fitted when it was looked at, and not
    /// any more when it was reserved.
    pub fn over_limit(charges: &[Charge], over: &OverLimit) -> Verdict {
        let limit = charges.get(over.charge).map(|charge| &charge.limit);
        let rule = limit.map_or_else(|| "".into(), |limit| limit.pointer.clone());
        let reason = limit.and_then(|limit| limit.on_deny.as_ref().or(Some(&limit.sentence)));
        let reason = reason.map_or("Limit reached.", String::as_str);
        let message = match over.retry_after_s {
            Some(seconds) => format!("{reason} Try again in {seconds} s."),
            None => format!("{reason} A retry cannot help."),
        };
        let retryable = over.retry_after_s.is_some();
        Verdict { retryable, retry_after_s: over.retry_after_s, ..Verdict::deny(rule, message) }
    }

    /// As shadow mode reports it.
    pub(crate) fn in_shadow(self, obligations: Obligations) -> Verdict {
        let would = (self.effect != Effect::Allow).then_some(self.effect);
        Verdict { effect: Effect::Allow, would, obligations, ..self }
    }
}
