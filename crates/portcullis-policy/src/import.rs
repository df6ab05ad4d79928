//! From the YAML rules of PolicyLayer's Intercept to a policy.
//!
//! What can be said in both is carried over with its meaning. Where the two differ, the policy is the
//! stricter one, and a note says so; nothing becomes laxer in silence. `docs/import.md` has the table. The
//! command line calls this; nothing on the way of a call does.

mod condition;
mod counters;
mod fields;
mod findings;
mod go_regex;
mod source;
mod validity;

use std::fmt;

use portcullis_json::{Limits, Object, Place, Pointer, Value, pretty};

use crate::glob::Glob;
use crate::policy::Policy;
use crate::yaml::{self, YamlFault};
use counters::Counters;
use findings::Findings;
use source::{EVERY_TOOL, Rule, Source, Tool};

/// A policy that was made from something else.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The policy; it loads.
    pub policy: Value,
    /// What it does not say as the source did, in the order of the source.
    pub notes: Vec<Note>,
}

/// Something that was not carried over as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether it changed, or is gone.
    pub kind: NoteKind,
    /// Where in the source, as a path.
    pub pointer: Pointer,
    /// Where in the source, as a line.
    pub place: Place,
    /// What is different.
    pub message: String,
}

/// What became of a part of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// It is there, with another meaning.
    Changed,
    /// It is not there.
    Dropped,
}

impl NoteKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            NoteKind::Changed => "changed",
            NoteKind::Dropped => "dropped",
        }
    }
}

/// Why a source was not imported: everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFaults {
    /// At least one.
    pub list: Vec<YamlFault>,
}

impl fmt::Display for ImportFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.list.iter().map(YamlFault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ImportFaults {}

impl From<YamlFault> for ImportFaults {
    fn from(fault: YamlFault) -> ImportFaults {
        ImportFaults { list: vec![fault] }
    }
}

/// Turns an Intercept policy into one of ours.
pub fn import_intercept(yaml: &[u8]) -> Result<Imported, ImportFaults> {
    let (document, places) = yaml::read(yaml)?;
    let mut findings = Findings::default();
    let source = source::read(&document, &places, &mut findings);
    if findings.has_faults() {
        return Err(findings.into_faults(&document, &places));
    }
    let policy = Value::Object(translate(&source, &mut findings));
    check(&policy, &mut findings);
    if findings.has_faults() {
        return Err(findings.into_faults(&document, &places));
    }
    let notes = findings.into_notes(&document, &places);
    Ok(Imported { policy, notes })
}

/// What comes out of an import loads: from the value, and from a file.
fn check(policy: &Value, findings: &mut Findings) {
    if pretty(policy).len() > Limits::document().bytes_max {
        let message = "the policy that comes of it is too large; import it in parts";
        findings.fault(&Pointer::root(), message);
    }
    if let Err(problems) = Policy::from_value(policy) {
        let message = format!("the policy that comes of it does not load: {}", problems.text());
        findings.fault(&Pointer::root(), message);
    }
}

fn translate(source: &Source, findings: &mut Findings) -> Object {
    let mut policy = Object::new().with("version", "1");
    if let Some(description) = &source.description {
        policy.insert("description", Value::from(description.as_str()));
    }
    let default = if source.denies_unlisted { "deny" } else { "allow" };
    policy.insert("default", Value::from(default));
    note_the_general(source, findings);
    if !source.hide.is_empty() {
        policy.insert("hide", hide(source, findings));
    }
    let counters = Counters::of(source, findings);
    let (every, named): (Vec<&Tool>, Vec<&Tool>) = source.tools.iter().partition(|tool| tool.is_every_tool());
    for tool in every {
        let all_tools = all_tools(tool, &counters, findings);
        if !all_tools.is_empty() {
            policy.insert("all_tools", Value::Object(all_tools));
        }
    }
    let mut tools = Vec::new();
    for tool in named {
        let entry = entry(tool, source.denies_unlisted, &counters, findings);
        tools.push(portcullis_json::Member { key: tool.name.as_str().into(), value: Value::Object(entry) });
    }
    // The keys were those of one object: they are distinct.
    if let Ok(tools) = Object::from_members(tools)
        && !tools.is_empty()
    {
        policy.insert("tools", Value::Object(tools));
    }
    policy
}

/// Differences that no single line of the source is to blame for.
fn note_the_general(source: &Source, findings: &mut Findings) {
    let root = Pointer::root();
    let message = "Intercept judges calls of tools only; here sampling, elicitation and roots are denied to \
                   the server unless `server_requests` allows them";
    findings.changed(&root, message);
    if source.denies_unlisted {
        let message = "resources and prompts follow `default: deny`, and tools that are not named are left out of \
                       the list; Intercept passes both (see `resources`, `prompts` and `list`)";
        findings.changed(&root.key("default"), message);
    }
    let rules = || source.tools.iter().flat_map(|tool| &tool.rules);
    if rules().any(|rule| rule.on_deny.is_some() || rule.state.is_some()) {
        let message = "the names of rules are kept only where a rule has no message; here a rule is known by \
                       its pointer";
        findings.dropped(&root.key("tools"), message);
    }
    if let Some(state) = rules().find_map(|rule| rule.state.as_ref()) {
        let message = "a call that the server answers with an error stays counted; Intercept takes it back";
        findings.changed(&state.at, message);
    }
}

fn hide(source: &Source, findings: &mut Findings) -> Value {
    for (index, name) in source.hide.iter().enumerate() {
        if Glob::is_glob(name) && name != EVERY_TOOL {
            let message = format!("`{name}` hides every tool that it matches; in Intercept it is one name");
            findings.changed(&Pointer::root().key("hide").index(index), message);
        }
    }
    let names = source.hide.iter().map(|name| Value::from(name.as_str()));
    Value::Array(names.collect())
}

/// What the rules of one tool amount to.
#[derive(Default)]
struct Parts {
    stopped_by: Option<String>,
    require: Vec<Value>,
    limits: Vec<Value>,
}

fn parts(tool: &Tool, counters: &Counters<'_>, findings: &mut Findings) -> Parts {
    let mut parts = Parts::default();
    for rule in &tool.rules {
        if rule.denies {
            parts.stopped_by.get_or_insert_with(|| rule.message());
            continue;
        }
        match required(rule, findings) {
            Ok(conditions) if conditions.is_empty() => {}
            Ok(conditions) => parts.require.push(require(conditions, rule.message())),
            Err((at, why)) => {
                counters::stop(tool, &at, &why, findings);
                parts.stopped_by.get_or_insert_with(|| rule.message());
            }
        }
    }
    let limited = counters.limited(tool, findings);
    parts.require.extend(limited.require);
    parts.limits = limited.limits;
    parts.stopped_by = parts.stopped_by.or(limited.stopped_by);
    parts
}

/// The conditions on arguments; the error says which could not be carried over, and why.
fn required(rule: &Rule, findings: &mut Findings) -> Result<Vec<Value>, (Pointer, String)> {
    let mut conditions = Vec::new();
    for condition in rule.conditions.iter().filter(|condition| !counters::is_state(condition)) {
        let translated = condition::translate(condition, findings);
        conditions.extend(translated.map_err(|why| (condition.at.clone(), why))?);
    }
    Ok(conditions)
}

fn require(conditions: Vec<Value>, on_deny: String) -> Value {
    Value::Object(Object::new().with("conditions", conditions).with("on_deny", on_deny))
}

impl Rule {
    /// What the agent is told when this rule denies.
    fn message(&self) -> String {
        match &self.on_deny {
            Some(message) => message.clone(),
            None => format!("Denied by rule `{}`.", self.name),
        }
    }
}

fn entry(tool: &Tool, denies_unlisted: bool, counters: &Counters<'_>, findings: &mut Findings) -> Object {
    let mut parts = parts(tool, counters, findings);
    if Glob::is_glob(&tool.name) {
        exact_name(tool, denies_unlisted, &mut parts, findings);
    }
    let mut entry = Object::new();
    if let Some(reason) = parts.stopped_by.take() {
        entry.insert("action", Value::from("deny"));
        entry.insert("reason", Value::from(reason));
    }
    add_lists(entry, parts)
}

/// A key with `*` or `?` is one name in Intercept, and a pattern here.
fn exact_name(tool: &Tool, denies_unlisted: bool, parts: &mut Parts, findings: &mut Findings) {
    let name = &tool.name;
    let message = format!("`{name}` also stands for every tool that it matches; in Intercept it is one name");
    findings.changed(&tool.at, message);
    // Else the pattern would let in what `default: deny` keeps out.
    if denies_unlisted {
        let exactly = condition::one("tool.name", "eq", Value::from(name.as_str()));
        let message = "This tool is not permitted.".to_owned();
        parts.require.insert(0, require(vec![exactly], message));
    }
}

/// `all_tools` has no `action`: a rule without conditions denies every call.
fn all_tools(tool: &Tool, counters: &Counters<'_>, findings: &mut Findings) -> Object {
    let mut parts = parts(tool, counters, findings);
    let mut entry = Object::new();
    if let Some(reason) = parts.stopped_by.take() {
        entry.insert("deny_if", Value::Array(vec![require(Vec::new(), reason)]));
    }
    add_lists(entry, parts)
}

fn add_lists(mut entry: Object, parts: Parts) -> Object {
    for (key, list) in [("require", parts.require), ("limits", parts.limits)] {
        if !list.is_empty() {
            entry.insert(key, Value::Array(list));
        }
    }
    entry
}

#[cfg(test)]
mod never_laxer;
#[cfg(test)]
mod tests;
