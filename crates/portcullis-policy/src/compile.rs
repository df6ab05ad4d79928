//! From a document to a policy. The shape is checked first; here are the problems that need meaning.
//!
//! Every getter takes what is there and passes over what has the wrong form: that is reported already.

mod limit;

use std::sync::Arc;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use portcullis_json::{Limits, Object, Pointer, Value};

use crate::class::Class;
use crate::decide::access::normalised_glob;
use crate::glob::Glob;
use crate::names::Names;
use crate::operator;
use crate::path::{Path, Root, Step};
use crate::policy::{Access, Action, Assignment, Default, Entry, List, Mode, Policy, Validate};
use crate::problem::Problems;
use crate::question::ServerRequest;
use crate::redact::Detectors;
use crate::rule::{Condition, Rule};
use crate::shape::DOCUMENT;

/// Reads, checks and compiles; problems carry their places in the source.
pub(crate) fn read(source: &[u8]) -> (Option<Policy>, Problems) {
    let value = match portcullis_json::parse(source, &Limits::document()) {
        Ok(value) => value,
        Err(fault) => return (None, Problems::from_fault(&fault, source)),
    };
    let mut problems = Problems::default();
    let policy = document(&value, &mut problems);
    if let Some(policy) = &policy {
        crate::lint::warn(policy, &mut problems);
    }
    if let Ok(text) = std::str::from_utf8(source) {
        problems.locate(text, &value);
    }
    (policy, problems)
}

/// The policy, if there is no error.
pub(crate) fn document(value: &Value, problems: &mut Problems) -> Option<Policy> {
    let root = Pointer::root();
    DOCUMENT.check(value, &root, problems);
    let object = value.as_object()?;
    let default = default(object).unwrap_or(Default::Deny);
    let zone = zone(object, problems);
    let policy = Policy {
        document: value.clone(),
        default,
        mode: if text(object, "mode") == Some("shadow") { Mode::Shadow } else { Mode::Enforce },
        list: if text(object, "list") == Some("all") { List::All } else { List::Permitted },
        hide: Names::new(
            globs(object, "hide", &root, problems).into_iter().map(|(key, glob)| (key, glob, ())).collect(),
        ),
        all_tools: all_tools(object, &zone, problems),
        classes: classes(object, &zone, problems),
        tools: tools(object, &zone, problems),
        resources: access(object, "resources", default, problems),
        prompts: access(object, "prompts", default, problems),
        server_requests: server_requests(object),
        zone,
    };
    limit::check_shared_counters(&policy, problems);
    check_expression_count(&policy, problems);
    (!problems.has_errors()).then_some(policy)
}

/// Each expression is bounded in size, so bounding their number bounds what a policy takes in memory.
const EXPRESSIONS_MAX: usize = 1_000;

fn check_expression_count(policy: &Policy, problems: &mut Problems) {
    let entries = policy.tools.items().chain(policy.classes.iter().flatten().map(|(_, entry)| entry));
    let rules = entries
        .chain([&policy.all_tools])
        .flat_map(|entry| entry.require.iter().chain(&entry.deny_if).chain(&entry.approve_if));
    let expressions = rules
        .flat_map(|rule| &rule.conditions)
        .filter(|condition| condition.operator.compiles_an_expression());
    let count = expressions.count();
    if count > EXPRESSIONS_MAX {
        let message = format!(
            "a policy may have at most {EXPRESSIONS_MAX} conditions with `regex`, `not_regex`, `glob` or `schema`, this one has {count}"
        );
        problems.error(&Pointer::root(), message);
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn default(object: &Object) -> Option<Default> {
    match text(object, "default")? {
        "allow" => Some(Default::Allow),
        "deny" => Some(Default::Deny),
        _ => None,
    }
}

fn zone(object: &Object, problems: &mut Problems) -> TimeZone {
    let Some(name) = text(object, "timezone") else {
        return TimeZone::UTC;
    };
    TimeZoneDatabase::bundled().get(name).unwrap_or_else(|_| {
        let at = Pointer::root().key("timezone");
        let message = format!("`{name}` is not a known time zone");
        problems.error_with_help(&at, message, "write an IANA name such as `Europe/Berlin` or `UTC`");
        TimeZone::UTC
    })
}

/// The strings of a list that are globs, with a problem for each that is none.
fn globs(object: &Object, key: &str, at: &Pointer, problems: &mut Problems) -> Vec<(String, Glob)> {
    let elements = object.get(key).and_then(Value::as_array).unwrap_or_default();
    let mut globs = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let Some(pattern) = element.as_str() else {
            continue;
        };
        match Glob::new(pattern) {
            Ok(glob) => globs.push((pattern.to_owned(), glob)),
            Err(message) => problems.error(&at.key(key).index(index), message),
        }
    }
    globs
}

fn all_tools(object: &Object, zone: &TimeZone, problems: &mut Problems) -> Entry {
    let at = Pointer::root().key("all_tools");
    let empty = Object::new();
    let value = object.get("all_tools").and_then(Value::as_object).unwrap_or(&empty);
    entry(value, &at, Some("all_tools_rate"), zone, problems)
}

fn classes(object: &Object, zone: &TimeZone, problems: &mut Problems) -> Option<Vec<(Class, Entry)>> {
    let at = Pointer::root().key("classes");
    let entries = object.get("classes")?.as_object()?.iter().filter_map(|member| {
        let class = Class::from_name(&member.key)?;
        let value = member.value.as_object()?;
        Some((class, entry(value, &at.key(&member.key), None, zone, problems)))
    });
    Some(entries.collect())
}

fn tools(object: &Object, zone: &TimeZone, problems: &mut Problems) -> Names<Entry> {
    let at = Pointer::root().key("tools");
    let members = object.get("tools").and_then(Value::as_object).into_iter().flatten();
    let mut entries = Vec::new();
    for member in members {
        let here = at.key(&member.key);
        let Some(value) = member.value.as_object() else {
            continue;
        };
        match Glob::new(&member.key) {
            Ok(glob) => {
                entries.push((member.key.to_string(), glob, entry(value, &here, None, zone, problems)))
            }
            Err(message) => problems.error_at_key(&here, message, None),
        }
    }
    Names::new(entries)
}

/// `rate_counter`: the name of the counter of `rate_limit`, where it is not the called tool's.
fn entry(
    object: &Object,
    at: &Pointer,
    rate_counter: Option<&str>,
    zone: &TimeZone,
    problems: &mut Problems,
) -> Entry {
    let pointer = |key: &str| -> Arc<str> { at.key(key).as_str().into() };
    let mut rules = |key: &str| rules(object, key, at, problems);
    let (require, deny_if, approve_if) = (rules("require"), rules("deny_if"), rules("approve_if"));
    let mut limits = limit::limits(object, at, zone, problems);
    limits.extend(limit::rate_limit(object, at, rate_counter, zone, problems));
    Entry {
        pointer: at.as_str().into(),
        action: action(object),
        action_pointer: pointer("action"),
        reason: text(object, "reason").map(str::to_owned),
        require,
        deny_if,
        approve_if,
        limits,
        validate: validate(object),
        validate_pointer: pointer("validate"),
        set: assignments(object, at, problems),
        set_pointer: pointer("set"),
        redact: redact(object),
    }
}

fn action(object: &Object) -> Action {
    match text(object, "action") {
        Some("deny") => Action::Deny,
        Some("approve" | "require_approval") => Action::Approve,
        _ => Action::Allow,
    }
}

fn validate(object: &Object) -> Validate {
    match text(object, "validate") {
        Some("strict") => Validate::Strict,
        Some("schema") => Validate::Schema,
        _ => Validate::Off,
    }
}

fn redact(object: &Object) -> Detectors {
    let names = object.get("redact").and_then(Value::as_array).unwrap_or_default();
    Detectors::from_names(names.iter().filter_map(Value::as_str))
}

fn rules(object: &Object, key: &str, at: &Pointer, problems: &mut Problems) -> Vec<Rule> {
    let elements = object.get(key).and_then(Value::as_array).unwrap_or_default();
    let mut rules = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let here = at.key(key).index(index);
        let Some(rule) = element.as_object() else {
            continue;
        };
        let conditions = rule.get("conditions").and_then(Value::as_array).unwrap_or_default();
        let conditions_at = here.key("conditions");
        let compiled = conditions.iter().enumerate().filter_map(|(index, value)| {
            condition(value.as_object()?, &conditions_at.index(index), problems)
        });
        rules.push(Rule {
            pointer: here.as_str().into(),
            conditions: compiled.collect(),
            message: text(rule, "ask").or(text(rule, "on_deny")).map(str::to_owned),
        });
    }
    rules
}

fn condition(object: &Object, at: &Pointer, problems: &mut Problems) -> Option<Condition> {
    let path = text(object, "path").and_then(|path| match Path::parse(path) {
        Ok(path) => Some(path),
        Err(message) => {
            problems.error(&at.key("path"), message);
            None
        }
    });
    let operator = text(object, "op").and_then(operator::find)?;
    let value = object.get("value")?;
    match operator.compile(value) {
        Ok(test) => Some(Condition { path: path?, operator, test, value: value.clone() }),
        Err(message) => {
            problems.error(&at.key("value"), message);
            None
        }
    }
}

fn assignments(object: &Object, at: &Pointer, problems: &mut Problems) -> Vec<Assignment> {
    let members = object.get("set").and_then(Value::as_object).into_iter().flatten();
    let mut assignments: Vec<Assignment> = Vec::new();
    for member in members {
        let here = at.key("set").key(&member.key);
        match assignable(&member.key) {
            Ok(path) => assignments.push(Assignment { path, value: member.value.clone() }),
            Err(message) => problems.error_at_key(&here, message, None),
        }
    }
    assignments
}

/// A path that can be set: below `args`, to one place.
fn assignable(text: &str) -> Result<Path, String> {
    let path = Path::parse(text)?;
    if path.root != Root::Args || path.steps.is_empty() {
        return Err(format!("`{text}` cannot be set; only what lies below `args` can"));
    }
    if path.steps.contains(&Step::Each) {
        return Err(format!("`{text}` cannot be set: `[*]` is not one place"));
    }
    Ok(path)
}

fn access(object: &Object, key: &str, default_of_policy: Default, problems: &mut Problems) -> Access {
    let at = Pointer::root().key(key);
    let empty = Object::new();
    let value = object.get(key).and_then(Value::as_object).unwrap_or(&empty);
    let deny = access_globs(value, "deny", &at, problems);
    let pointer_of = |index| -> Arc<str> { at.key("deny").index(index).as_str().into() };
    Access {
        default: default(value).unwrap_or(default_of_policy),
        allow: access_globs(value, "allow", &at, problems),
        deny: deny.into_iter().enumerate().map(|(index, glob)| (glob, pointer_of(index))).collect(),
    }
}

/// Globs over URIs lose the case of scheme and host, as the URIs do; names of prompts keep theirs.
fn access_globs(object: &Object, key: &str, at: &Pointer, problems: &mut Problems) -> Vec<Glob> {
    let is_resources = at.as_str() == "/resources";
    let globs = globs(object, key, at, problems).into_iter();
    globs
        .map(
            |(pattern, glob)| {
                if is_resources { Glob::new(&normalised_glob(&pattern)).unwrap_or(glob) } else { glob }
            },
        )
        .collect()
}

fn server_requests(object: &Object) -> [Option<Action>; 3] {
    let requests = object.get("server_requests").and_then(Value::as_object);
    ServerRequest::NAMES.map(|name| match text(requests?, name)? {
        "allow" => Some(Action::Allow),
        "approve" => Some(Action::Approve),
        _ => Some(Action::Deny),
    })
}
