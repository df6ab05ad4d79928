//! A call, step by step, in the order of the language's section 5.

use std::ops::ControlFlow;
use std::sync::Arc;

use portcullis_json::{Decimal, Value};

use super::set;
use crate::class::Class;
use crate::limits::{Charge, CounterKey, Counters, OverLimit, Scope};
use crate::operator::Stance;
use crate::path::{Path, Walked};
use crate::policy::{
    Action, Amount, CounterName, Default, Entry, LimitEntry, List, Policy, ScopeKind, Validate,
};
use crate::question::{Call, Caller};
use crate::redact::Detectors;
use crate::rule::{Cause, Facts, Rule};
use crate::trace::{Look, Trace};
use crate::verdict::{Obligations, Verdict};

/// A call.
pub(super) fn decide(
    policy: &Policy,
    call: &Call<'_>,
    caller: &Caller<'_>,
    counters: &Counters,
    trace: &mut impl Trace,
) -> Verdict {
    let verdict = steps(policy, call, caller, counters, trace).unwrap_or_else(|stopped| *stopped);
    if policy.is_shadow() { verdict.in_shadow(shadow_obligations(policy, call, caller)) } else { verdict }
}

/// INVARIANT: list equals call. A tool is listed by the same steps 2 to 4 that a call of it goes through.
pub(super) fn decide_listing(
    policy: &Policy,
    tool: &str,
    class: Option<Class>,
    trace: &mut impl Trace,
) -> Verdict {
    let verdict = match (not_hidden(policy, tool, trace), policy.list) {
        (Err(stopped), _) => *stopped,
        (Ok(()), List::All) => Verdict::allow(Obligations::default()),
        (Ok(()), List::Permitted) => match chosen_entry(policy, tool, class, trace) {
            Ok(_) => Verdict::allow(Obligations::default()),
            Err(stopped) => *stopped,
        },
    };
    if policy.is_shadow() { verdict.in_shadow(Obligations::default()) } else { verdict }
}

/// What ends a call on the way: a denial, or a question to a person.
type Stop = Box<Verdict>;

/// The first step that ends it ends it; `Err` is how a step does that.
fn steps(
    policy: &Policy,
    call: &Call<'_>,
    caller: &Caller<'_>,
    counters: &Counters,
    trace: &mut impl Trace,
) -> Result<Verdict, Stop> {
    // 2. What is hidden cannot be called, whatever else is said about it.
    not_hidden(policy, call.tool, trace)?;
    // 3 and 4. One entry; without one, the default.
    let entry = chosen_entry(policy, call.tool, call.class, trace)?;
    let parts: Parts<'_> = [entry, Some(&policy.all_tools)];
    // 5. A plain no needs no arguments.
    action_allows(entry, trace)?;
    // 6. Everything after this sees the forced values.
    let (arguments, set) = forced(entry, call.arguments, trace)?;
    let judged = arguments.as_ref().unwrap_or(call.arguments);
    let facts = Facts { tool: call.tool, class: call.class, arguments: judged, caller, zone: &policy.zone };
    // 7. Arguments that do not fit the tool's schema are not worth judging.
    valid(parts, call, judged, trace)?;
    // 8 and 9. The rules, the entry's before those of all tools.
    for rule in parts.into_iter().flatten().flat_map(|part| &part.require) {
        required(rule, &facts, trace)?;
    }
    for rule in parts.into_iter().flatten().flat_map(|part| &part.deny_if) {
        not_denied(rule, &facts, trace)?;
    }
    // 10. Looked at, not taken: a person should not be asked for what cannot go through.
    let charges = fitting_charges(parts, &facts, counters, trace)?;
    let redact = redactions(parts);
    // 11. A person is asked last, when everything else agrees.
    if !call.approved
        && let Some(mut question) = needs_approval(parts, &facts, trace)
    {
        question.obligations = Obligations { arguments, set, redact, charges: Vec::new() };
        return Err(question.into());
    }
    // 12 and 13. The caller reserves the charges before anything leaves.
    Ok(Verdict::allow(Obligations { arguments, set, redact, charges }))
}

/// What is blanked out in the result: the detectors of both.
fn redactions(parts: Parts<'_>) -> Detectors {
    parts.into_iter().flatten().fold(Detectors::default(), |all, part| all.union(part.redact))
}

/// The entry and `all_tools`, in the order in which they are looked at.
type Parts<'p> = [Option<&'p Entry>; 2];

fn not_hidden(policy: &Policy, tool: &str, trace: &mut impl Trace) -> Result<(), Stop> {
    let hidden = policy.hide.find(tool).is_some();
    trace.note(|| Look::at("/hide", if hidden { "matches" } else { "does not match" }));
    if hidden { Err(Verdict::deny("(hidden)", format!("Unknown tool: {tool}")).into()) } else { Ok(()) }
}

fn find_entry<'p>(policy: &'p Policy, tool: &str, class: Option<Class>) -> Option<&'p Entry> {
    policy.tools.find(tool).or_else(|| {
        let classes = policy.classes.as_ref()?;
        classes.iter().find(|(of, _)| Some(*of) == class).map(|(_, entry)| entry)
    })
}

fn chosen_entry<'p>(
    policy: &'p Policy,
    tool: &str,
    class: Option<Class>,
    trace: &mut impl Trace,
) -> Result<Option<&'p Entry>, Stop> {
    let entry = find_entry(policy, tool, class);
    if let Some(entry) = entry {
        trace.note(|| Look::at(&entry.pointer, "is the entry for this tool"));
        return Ok(Some(entry));
    }
    if policy.classes.is_some() && class.is_none() {
        trace.note(|| Look::at("(class unknown)", "no entry, and the tool's class is not known"));
        return Err(
            Verdict::deny("(class unknown)", "No rule names this tool, and its class is not known.").into()
        );
    }
    trace.note(|| Look::at("/default", "no entry covers this tool"));
    match policy.default {
        Default::Allow => Ok(None),
        Default::Deny => {
            Err(Verdict::deny("(default deny)", "No rule of the policy allows this tool.").into())
        }
    }
}

fn action_allows(entry: Option<&Entry>, trace: &mut impl Trace) -> Result<(), Stop> {
    match entry {
        Some(entry) if entry.action == Action::Deny => {
            trace.note(|| Look::at(&entry.action_pointer, "denies"));
            let reason = entry.reason.as_deref().unwrap_or("The policy denies this tool.");
            Err(Verdict::deny(entry.action_pointer.clone(), reason).into())
        }
        _ => Ok(()),
    }
}

fn forced(
    entry: Option<&Entry>,
    arguments: &Value,
    trace: &mut impl Trace,
) -> Result<(Option<Value>, Vec<String>), Stop> {
    let Some(entry) = entry.filter(|entry| !entry.set.is_empty()) else {
        return Ok((None, Vec::new()));
    };
    match set::apply(&entry.set, arguments) {
        Ok(changed) => {
            trace.note(|| Look::at(&entry.set_pointer, "applied"));
            Ok((Some(changed), entry.set.iter().map(|assignment| assignment.path.to_string()).collect()))
        }
        Err(path) => {
            trace.note(|| Look::at(&entry.set_pointer, format!("`{path}` cannot be set")));
            Err(Verdict::deny(
                entry.set_pointer.clone(),
                format!("`{path}` cannot be set in these arguments."),
            )
            .into())
        }
    }
}

fn valid(parts: Parts<'_>, call: &Call<'_>, arguments: &Value, trace: &mut impl Trace) -> Result<(), Stop> {
    let strictest = parts.into_iter().flatten().map(|part| part.validate).max().unwrap_or(Validate::Off);
    let Some(part) = parts.into_iter().flatten().find(|part| part.validate == strictest) else {
        return Ok(());
    };
    if strictest == Validate::Off {
        return Ok(());
    }
    let message = match call.schema {
        None => Some("The tool's input schema is not known, so its arguments cannot be validated."),
        Some(schema) => {
            let satisfied = match strictest {
                Validate::Strict => schema.is_strictly_satisfied_by(arguments),
                _ => schema.is_satisfied_by(arguments),
            };
            (!satisfied).then_some("The arguments do not satisfy the tool's input schema.")
        }
    };
    trace.note(|| Look::at(&part.validate_pointer, message.unwrap_or("satisfied")));
    message.map_or(Ok(()), |message| Err(Verdict::deny(part.validate_pointer.clone(), message).into()))
}

fn required(rule: &Rule, facts: &Facts<'_>, trace: &mut impl Trace) -> Result<(), Stop> {
    let outcome = trace.rule(rule, facts, Stance::Admits);
    if outcome.holds { Ok(()) } else { Err(denied_by(rule, outcome.cause).into()) }
}

fn not_denied(rule: &Rule, facts: &Facts<'_>, trace: &mut impl Trace) -> Result<(), Stop> {
    let outcome = trace.rule(rule, facts, Stance::Stops);
    if outcome.holds { Err(denied_by(rule, outcome.cause).into()) } else { Ok(()) }
}

fn denied_by(rule: &Rule, cause: Option<Cause>) -> Verdict {
    let reason = rule.message.as_deref().unwrap_or("A rule of the policy denies this call.");
    let message = cause.as_ref().map_or_else(|| reason.to_owned(), |cause| format!("{reason} ({cause})"));
    Verdict { retryable: rule.depends_on_time(), cause, ..Verdict::deny(rule.pointer.clone(), message) }
}

/// All charges of the call, if they fit together.
fn fitting_charges(
    parts: Parts<'_>,
    facts: &Facts<'_>,
    counters: &Counters,
    trace: &mut impl Trace,
) -> Result<Vec<Charge>, Stop> {
    let entries: Vec<&LimitEntry> = parts.into_iter().flatten().flat_map(|part| &part.limits).collect();
    let mut charges = Vec::with_capacity(entries.len());
    let mut uncountable: Option<(usize, &LimitEntry)> = None;
    for entry in entries {
        match charge(entry, facts) {
            Some(charge) => charges.push(charge),
            None => uncountable = uncountable.or(Some((charges.len(), entry))),
        }
    }
    let over = counters.look(&charges, facts.caller.now).err();
    note_limits(&charges, over.as_ref(), facts, counters, trace);
    match (over, uncountable) {
        (None, None) => Ok(charges),
        // The first that fails is named; an amount that is none rules out any retry.
        (Some(over), Some((before, _))) if over.charge < before => {
            Err(Verdict::over_limit(&charges, &OverLimit { retry_after_s: None, ..over }).into())
        }
        (_, Some((_, entry))) => Err(not_countable(entry, trace).into()),
        (Some(over), None) => Err(Verdict::over_limit(&charges, &over).into()),
    }
}

fn note_limits(
    charges: &[Charge],
    over: Option<&OverLimit>,
    facts: &Facts<'_>,
    counters: &Counters,
    trace: &mut impl Trace,
) {
    for (index, charge) in charges.iter().enumerate() {
        trace.note(|| {
            let total = counters.total(&charge.key, &charge.limit.window, facts.caller.now);
            let first = over.is_some_and(|over| over.charge == index);
            let outcome = if first { "does not fit" } else { "looked at" };
            let words =
                format!("{outcome}: {total} of {} used, {} more wanted", charge.limit.max, charge.amount);
            Look::at(&charge.limit.pointer, words)
        });
    }
}

fn not_countable(entry: &LimitEntry, trace: &mut impl Trace) -> Verdict {
    let path = match &entry.amount {
        Amount::From(path) => path.to_string(),
        Amount::Fixed(_) => String::new(),
    };
    trace.note(|| Look::at(&entry.limit.pointer, format!("`{path}` is not a number, 0 or more")));
    let message = format!("`{path}` must be a number, 0 or more, to be counted.");
    let message = entry.limit.on_deny.as_ref().map_or(message.clone(), |own| format!("{own} ({message})"));
    Verdict::deny(entry.limit.pointer.clone(), message)
}

fn needs_approval(parts: Parts<'_>, facts: &Facts<'_>, trace: &mut impl Trace) -> Option<Verdict> {
    let [entry, _] = parts;
    let reason = entry.and_then(|entry| entry.reason.as_deref());
    if let Some(entry) = entry
        && entry.action == Action::Approve
    {
        trace.note(|| Look::at(&entry.action_pointer, "asks a person"));
        return Some(Verdict::approve(&entry.action_pointer, reason));
    }
    parts.into_iter().flatten().flat_map(|part| &part.approve_if).find_map(|rule| {
        let outcome = trace.rule(rule, facts, Stance::Stops);
        outcome.holds.then(|| asked_by(rule, reason, outcome.cause))
    })
}

fn asked_by(rule: &Rule, reason: Option<&str>, cause: Option<Cause>) -> Verdict {
    let question: Option<&str> = rule.message.as_deref().or(reason);
    let verdict = Verdict::approve(&rule.pointer, question);
    let message = match (&verdict.message, &cause) {
        (Some(message), Some(cause)) => Some(format!("{message} ({cause})")),
        _ => verdict.message.clone(),
    };
    Verdict { message, cause, ..verdict }
}

/// What the call adds under one limit; nothing when its amount is no number, 0 or more.
fn charge(entry: &LimitEntry, facts: &Facts<'_>) -> Option<Charge> {
    let amount = match &entry.amount {
        Amount::Fixed(amount) => amount.clone(),
        Amount::From(path) => sum(path, facts.arguments)?,
    };
    let counter = match &entry.counter {
        CounterName::Fixed(name) => name.clone(),
        CounterName::CalledTool => format!("{}_rate", facts.tool),
    };
    let key = CounterKey {
        policy: facts.caller.policy.to_owned(),
        counter,
        scope: scope(entry.scope, facts.caller),
    };
    Some(Charge { key, amount, limit: Arc::clone(&entry.limit) })
}

fn scope(kind: ScopeKind, caller: &Caller<'_>) -> Scope {
    match (kind, caller.session) {
        (ScopeKind::Session, Some(session)) => Scope::Session(caller.grant_id.to_owned(), session.to_owned()),
        (ScopeKind::Grant | ScopeKind::Session, _) => Scope::Grant(caller.grant_id.to_owned()),
        (ScopeKind::Server, _) => Scope::Server(caller.server.to_owned()),
        (ScopeKind::Global, _) => Scope::Global,
    }
}

/// The sum over all ends of the path, if each is a number, 0 or more.
fn sum(path: &Path, arguments: &Value) -> Option<Decimal> {
    let mut total = Some(Decimal::ZERO);
    let _ = path.walk(arguments, &mut |end| {
        let amount = match end {
            Walked::Found(Value::Number(number)) => {
                Some(number.decimal()).filter(|amount| !amount.is_negative())
            }
            _ => None,
        };
        total = match (&total, amount) {
            (Some(total), Some(amount)) => Some(total + &amount),
            _ => None,
        };
        if total.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    total
}

/// In shadow mode nothing is refused, so the entry's `set`, `redact` and limits apply whatever the steps
/// said, and what cannot be applied is left out.
fn shadow_obligations(policy: &Policy, call: &Call<'_>, caller: &Caller<'_>) -> Obligations {
    let entry = find_entry(policy, call.tool, call.class);
    let parts: Parts<'_> = [entry, Some(&policy.all_tools)];
    let (arguments, set) = forced(entry, call.arguments, &mut crate::trace::Silent).unwrap_or_default();
    let judged = arguments.as_ref().unwrap_or(call.arguments);
    let facts = Facts { tool: call.tool, class: call.class, arguments: judged, caller, zone: &policy.zone };
    let limits = parts.into_iter().flatten().flat_map(|part| &part.limits);
    let charges = limits.filter_map(|limit| charge(limit, &facts)).collect();
    let redact = redactions(parts);
    Obligations { arguments, set, redact, charges }
}
