//! A person's word, where the policy wants one. Only this module makes an [`Approved`].
//!
//! People cannot be asked yet: what wants a person's word is refused, and says so. INVARIANT: deny by default.

use portcullis_policy::{Effect, Verdict};

use crate::decide::{Allowed, denial};
use crate::question::Asked;
use crate::stop::{Denial, DenialKind, Stop};

/// What needs no further word.
pub(crate) struct Approved {
    asked: Asked,
    verdict: Verdict,
}

impl Approved {
    pub(crate) fn into_parts(self) -> (Asked, Verdict) {
        (self.asked, self.verdict)
    }
}

/// Lets through what needs no person.
pub(crate) fn approve(allowed: Allowed) -> Result<Approved, Stop> {
    let (asked, verdict) = allowed.into_parts();
    match verdict.effect {
        Effect::Allow => Ok(Approved { asked, verdict }),
        Effect::Approve | Effect::Deny => Err(nobody_to_ask(&verdict).into()),
    }
}

/// The denial of what a person would have to approve.
pub(crate) fn nobody_to_ask(verdict: &Verdict) -> Denial {
    let denial = denial(verdict);
    let message =
        format!("{} A person must approve this, and this gateway cannot ask anybody yet.", denial.message);
    Denial { message, kind: DenialKind::Approval, retryable: false, retry_after_s: None, ..denial }
}
