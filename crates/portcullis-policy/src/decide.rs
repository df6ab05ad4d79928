//! The one function that decides, for calls and for lists.
//!
//! INVARIANT: policy is pure. No clock, no I/O, no randomness: the same question, policy and counters give
//! the same verdict.

pub(crate) mod access;
mod call;
mod set;

use crate::limits::Counters;
use crate::policy::Policy;
use crate::question::{Question, Subject};
use crate::trace::{Look, Notes, Silent, Trace};
use crate::verdict::Verdict;

/// Decides.
pub fn decide(policy: Option<&Policy>, question: &Question<'_>, counters: &Counters) -> Verdict {
    evaluate(policy, question, counters, &mut Silent)
}

/// Decides, and says everything that was looked at.
pub fn explain(
    policy: Option<&Policy>,
    question: &Question<'_>,
    counters: &Counters,
) -> (Verdict, Vec<Look>) {
    let mut notes = Notes::default();
    let verdict = evaluate(policy, question, counters, &mut notes);
    (verdict, notes.looks)
}

fn evaluate(
    policy: Option<&Policy>,
    question: &Question<'_>,
    counters: &Counters,
    trace: &mut impl Trace,
) -> Verdict {
    // INVARIANT: deny by default.
    let Some(policy) = policy else {
        return Verdict::deny("(no policy)", "This grant has no policy for this server.");
    };
    match &question.subject {
        Subject::Call(call) => call::decide(policy, call, &question.caller, counters, trace),
        Subject::List { tool, class } => call::decide_listing(policy, tool, *class, trace),
        Subject::Resource(uri) => access::resource(policy, uri, trace),
        Subject::Prompt(name) => access::prompt(policy, name, trace),
        Subject::ServerRequest(request) => access::server_request(policy, *request, trace),
    }
}
