//! Limits that count otherwise than their author may think.

use std::collections::HashMap;

use portcullis_json::Pointer;

use super::{EntryPlace, all_tools, entries};
use crate::policy::{CounterName, Entry, LimitEntry, Policy, ScopeKind};
use crate::problem::Problems;

/// Whoever opens a new session gets a new counter.
pub(super) fn warn_of_sessions(place: &EntryPlace<'_>, problems: &mut Problems) {
    for (at, limit) in limits(place) {
        if limit.scope == ScopeKind::Session {
            problems.warn(
                &at.key("scope"),
                "with the scope `session`, an agent that opens a new session gets a new counter",
                "use the scope `grant` where the limit has to hold",
            );
        }
    }
}

/// Counters that the decision log takes of one call; the gateway denies a call that would charge more.
const CHARGES_MAX: usize = 64;

/// More limits than a call can be recorded with: every such call is denied.
pub(super) fn warn_of_too_many(policy: &Policy, problems: &mut Problems) {
    let all_tools = all_tools(policy);
    let shared = all_tools.entry.limits.len();
    let mut report = |place: &EntryPlace<'_>, count: usize| {
        problems.warn(
            &place.at.key("limits"),
            format!(
                "{count} limits apply to one call, and no more than {CHARGES_MAX} can be recorded with it"
            ),
            "every such call is denied; remove some, or give tools that need them entries of their own",
        );
    };
    if shared > CHARGES_MAX {
        return report(&all_tools, shared);
    }
    for place in entries(policy) {
        let count = shared + place.entry.limits.len();
        if count > CHARGES_MAX {
            report(&place, count);
        }
    }
}

/// Two limits of one call on one counter: each call counts twice.
pub(super) fn warn_of_doubles(policy: &Policy, problems: &mut Problems) {
    let all_tools = all_tools(policy);
    let shared = Named::by(&all_tools, &HashMap::new(), problems);
    // `rate_limit` counts under the name of the called tool, which may be one of the shared names.
    let mut shared_rates: HashMap<*const Entry, &str> = HashMap::new();
    for (_, limit) in limits(&all_tools) {
        if let CounterName::Fixed(name) = &limit.counter
            && let Some(entry) = entry_with_rate(policy, name)
        {
            shared_rates.entry(entry).or_insert(name);
        }
    }
    for place in entries(policy) {
        let own = Named::by(&place, &shared.first, problems);
        let Some(at) = own.rate else { continue };
        let is_own =
            |name: &&str| entry_with_rate(policy, name).is_some_and(|e| std::ptr::eq(e, place.entry));
        let own_name = own.names.into_iter().find(is_own);
        let shared_name = shared_rates.get(&std::ptr::from_ref(place.entry)).copied();
        let first = own_name.or(shared_name).and_then(|name| {
            let first = own.first.get(name).or_else(|| shared.first.get(name))?;
            Some((name, first))
        });
        if let Some((name, first)) = first {
            report(name, first, &at, problems);
        }
    }
}

/// The counters that an entry names, and where each is named first.
struct Named<'p> {
    first: HashMap<&'p str, Pointer>,
    names: Vec<&'p str>,
    /// Where a counter is named after the called tool.
    rate: Option<Pointer>,
}

impl<'p> Named<'p> {
    /// Warns of names that the entry repeats, its own and those of `shared`.
    fn by(place: &EntryPlace<'p>, shared: &HashMap<&str, Pointer>, problems: &mut Problems) -> Named<'p> {
        let mut named = Named { first: HashMap::new(), names: Vec::new(), rate: None };
        for (at, limit) in limits(place) {
            let CounterName::Fixed(name) = &limit.counter else {
                named.rate = Some(at);
                continue;
            };
            match named.first.get(name.as_str()).or(shared.get(name.as_str())) {
                Some(first) => report(name, first, &at, problems),
                None => {
                    named.first.insert(name, at);
                    named.names.push(name);
                }
            }
        }
        named
    }
}

/// The entry that is chosen for the tool whose `rate_limit` counts under this name.
fn entry_with_rate<'p>(policy: &'p Policy, counter: &str) -> Option<&'p Entry> {
    policy.tools.find(counter.strip_suffix("_rate")?)
}

fn report(name: &str, first: &Pointer, at: &Pointer, problems: &mut Problems) {
    problems.warn(
        at,
        format!("the counter `{name}` is named twice in one call, here and by `{first}`"),
        "the call is charged for both; give one of them a counter of its own, or remove it",
    );
}

/// The limits of an entry with their places, `rate_limit` last.
fn limits<'p>(place: &EntryPlace<'p>) -> impl Iterator<Item = (Pointer, &'p LimitEntry)> {
    let at = place.at.clone();
    place.entry.limits.iter().enumerate().map(move |(index, limit)| {
        let short = at.key("rate_limit");
        let long = at.key("limits").index(index);
        if *limit.limit.pointer == *short.as_str() { (short, limit) } else { (long, limit) }
    })
}
