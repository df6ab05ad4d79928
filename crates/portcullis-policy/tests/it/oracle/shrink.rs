//! Makes a failing scenario small: leaves out one thing after the other as long as it still fails.

use super::document::{Doc, Entry};
use super::scenario::{Scenario, What};
use super::value::Val;

/// How often the whole scenario is gone through; each round only ever makes it smaller.
const ROUNDS_MAX: usize = 20;

pub(crate) fn shrunk(mut scenario: Scenario, still_fails: &mut dyn FnMut(&Scenario) -> bool) -> Scenario {
    for _ in 0..ROUNDS_MAX {
        let mut progress = false;
        let mut index = 0;
        while let Some(smaller) = smaller_scenarios(&scenario).into_iter().nth(index) {
            if still_fails(&smaller) {
                scenario = smaller;
                progress = true;
            } else {
                index += 1;
            }
        }
        if !progress {
            break;
        }
    }
    scenario
}

fn smaller_scenarios(scenario: &Scenario) -> Vec<Scenario> {
    let mut smaller = Vec::new();
    for events in without_one(&scenario.events) {
        smaller.push(Scenario { events, ..scenario.clone() });
    }
    for doc in scenario.doc.iter().flat_map(smaller_documents) {
        smaller.push(Scenario { doc: Some(doc), ..scenario.clone() });
    }
    for index in 0..scenario.events.len() {
        smaller.extend(with_fewer_arguments(scenario, index));
    }
    if scenario.spelling.is_some() {
        smaller.push(Scenario { spelling: None, ..scenario.clone() });
    }
    smaller
}

fn with_fewer_arguments(scenario: &Scenario, index: usize) -> Vec<Scenario> {
    let What::Call(call) = &scenario.events[index].what else {
        return Vec::new();
    };
    let Some(Val::Obj(members)) = &call.arguments else {
        return Vec::new();
    };
    let fewer = |members: Vec<(String, Val)>| {
        let mut call = call.clone();
        let arguments = Val::Obj(members);
        call.arguments_text = Some(super::print::compact(&arguments));
        call.arguments = Some(arguments);
        let mut scenario = scenario.clone();
        scenario.events[index].what = What::Call(call);
        scenario
    };
    without_one(members).into_iter().map(fewer).collect()
}

/// The list without its first element, without its second, and so on.
fn without_one<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    let without = |index: usize| {
        let mut shorter = list.to_vec();
        shorter.remove(index);
        shorter
    };
    (0..list.len()).map(without).collect()
}

/// The field absent, then its list shorter by one.
fn less<T: Clone>(list: &Option<Vec<T>>) -> Vec<Option<Vec<T>>> {
    match list {
        None => Vec::new(),
        Some(list) => {
            let shorter = without_one(list).into_iter().map(Some);
            std::iter::once(None).chain(shorter).collect()
        }
    }
}

/// Pushes a copy of `$whole` for each of the `$smaller` values of its field.
macro_rules! each {
    ($out:ident, $whole:ident, $field:ident, $smaller:expr) => {
        for value in $smaller {
            let mut copy = $whole.clone();
            copy.$field = value;
            $out.push(copy);
        }
    };
}

/// The field absent, where it is there.
fn absent<T>(field: &Option<T>) -> Vec<Option<T>> {
    field.iter().map(|_| None).collect()
}

fn smaller_documents(doc: &Doc) -> Vec<Doc> {
    let mut out = Vec::new();
    each!(out, doc, tools, less(&doc.tools));
    each!(out, doc, classes, less(&doc.classes));
    each!(out, doc, all_tools, absent(&doc.all_tools));
    each!(out, doc, hide, less(&doc.hide));
    each!(out, doc, resources, absent(&doc.resources));
    each!(out, doc, prompts, absent(&doc.prompts));
    each!(out, doc, server_requests, less(&doc.server_requests));
    each!(out, doc, description, absent(&doc.description));
    each!(out, doc, timezone, absent(&doc.timezone));
    each!(out, doc, list, absent(&doc.list));
    each!(out, doc, mode, absent(&doc.mode));
    for entry in doc.all_tools.iter().flat_map(smaller_entries) {
        let mut copy = doc.clone();
        copy.all_tools = Some(entry);
        out.push(copy);
    }
    each!(out, doc, tools, with_smaller_entries(&doc.tools));
    each!(out, doc, classes, with_smaller_entries(&doc.classes));
    out
}

type Entries<K> = Option<Vec<(K, Entry)>>;

fn with_smaller_entries<K: Clone>(entries: &Entries<K>) -> Vec<Entries<K>> {
    let mut out = Vec::new();
    for (index, (_, entry)) in entries.iter().flatten().enumerate() {
        for smaller in smaller_entries(entry) {
            let mut copy = entries.clone().unwrap_or_default();
            copy[index].1 = smaller;
            out.push(Some(copy));
        }
    }
    out
}

fn smaller_entries(entry: &Entry) -> Vec<Entry> {
    let mut out = Vec::new();
    each!(out, entry, action, absent(&entry.action));
    each!(out, entry, reason, absent(&entry.reason));
    each!(out, entry, require, less(&entry.require));
    each!(out, entry, deny_if, less(&entry.deny_if));
    each!(out, entry, approve_if, less(&entry.approve_if));
    each!(out, entry, limits, less(&entry.limits));
    each!(out, entry, rate_limit, absent(&entry.rate_limit));
    each!(out, entry, validate, absent(&entry.validate));
    each!(out, entry, set, less(&entry.set));
    each!(out, entry, redact, less(&entry.redact));
    each!(out, entry, require, with_fewer_conditions(&entry.require));
    each!(out, entry, deny_if, with_fewer_conditions(&entry.deny_if));
    each!(out, entry, approve_if, with_fewer_conditions(&entry.approve_if));
    out
}

type Rules = Option<Vec<super::document::Rule>>;

fn with_fewer_conditions(rules: &Rules) -> Vec<Rules> {
    let mut out = Vec::new();
    for (index, rule) in rules.iter().flatten().enumerate() {
        for conditions in without_one(&rule.conditions) {
            let mut copy = rules.clone().unwrap_or_default();
            copy[index].conditions = conditions;
            out.push(Some(copy));
        }
    }
    out
}
