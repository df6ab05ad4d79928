//! A `tools` entry that restricts nothing takes the place of the class entry that would.

use super::{EntryPlace, tools};
use crate::class::Class;
use crate::policy::{Entry, Policy};
use crate::problem::Problems;

pub(super) fn warn(policy: &Policy, problems: &mut Problems) {
    let classes = policy.classes.as_deref().unwrap_or_default();
    let bare = |entry: &Entry| entry.is_bare() && entry.set.is_empty();
    for (key, place) in tools(policy).filter(|(_, place)| bare(place.entry)) {
        let stricter: Vec<&str> = classes
            .iter()
            .filter(|(_, class)| is_stricter(class, place.entry))
            .map(|(class, _)| Class::name(*class))
            .collect();
        if key.chars().all(|character| character == '*') && !classes.is_empty() {
            report_every_tool(key, &place, problems);
        } else if !stricter.is_empty() {
            report(key, &place, &stricter, problems);
        }
    }
}

/// Whether the class entry holds something that the bare `tool` entry lacks.
fn is_stricter(class: &Entry, tool: &Entry) -> bool {
    !class.is_bare() || !class.set.is_empty() || class.redact.union(tool.redact) != tool.redact
}

fn report_every_tool(key: &str, place: &EntryPlace<'_>, problems: &mut Problems) {
    problems.warn_at_key(
        &place.at,
        format!("`{key}` allows every tool without restrictions, and no entry of `classes` is ever used"),
        "remove it, or put what every call must satisfy into `all_tools`",
    );
}

fn report(key: &str, place: &EntryPlace<'_>, stricter: &[&str], problems: &mut Problems) {
    let names = crate::path::listed(stricter);
    problems.warn_at_key(
        &place.at,
        format!("`{key}` restricts nothing, and replaces the class entry of the tools it names; stricter are {names}"),
        "remove it so that the class entry applies, or write into it what should still hold",
    );
}
