//! The source as Intercept reads it: typed, with its defaults filled in and its short form written out.
//!
//! What Intercept refuses is a fault here; a field that it passes over is passed over with a note.

use std::cell::Cell;

use portcullis_json::{Object, Pointer, Value};

use super::fields::{Fields, object, text};
use super::findings::Findings;
use super::validity::{check_condition, check_conditions, check_counter, check_state, is_odd_number};
use crate::glob::GLOB_CHARACTERS_MAX;
use crate::yaml::Places;

/// More rules and conditions than this in one source are refused.
const PARTS_MAX: usize = 10_000;

/// The tool key whose rules apply to every call.
pub(super) const EVERY_TOOL: &str = "*";
/// The scope of the counters that its rules have.
pub(super) const EVERY_TOOL_SCOPE: &str = "_global";

pub(super) const WINDOWS: [&str; 3] = ["minute", "hour", "day"];

#[derive(Debug)]
pub(super) struct Source {
    pub(super) description: Option<String>,
    pub(super) denies_unlisted: bool,
    pub(super) hide: Vec<String>,
    pub(super) tools: Vec<Tool>,
}

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) at: Pointer,
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
}

impl Tool {
    pub(super) fn is_every_tool(&self) -> bool {
        self.name == EVERY_TOOL
    }

    fn scope(&self) -> &str {
        if self.is_every_tool() { EVERY_TOOL_SCOPE } else { &self.name }
    }

    /// What its counters are called: the scope and the counter's own name.
    pub(super) fn counter_key(&self, counter: &str) -> String {
        format!("{}.{counter}", self.scope())
    }

    /// The counter's own name, if `key` is one of this tool's.
    pub(super) fn own_counter<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(self.scope())?.strip_prefix('.')
    }
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) at: Pointer,
    pub(super) name: String,
    pub(super) on_deny: Option<String>,
    pub(super) denies: bool,
    pub(super) conditions: Vec<Condition>,
    pub(super) state: Option<State>,
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) at: Pointer,
    pub(super) path: String,
    pub(super) op: String,
    pub(super) value: Value,
}

/// A counter, where it is declared.
#[derive(Debug)]
pub(super) struct State {
    pub(super) at: Pointer,
    pub(super) counter: String,
    pub(super) window: String,
    pub(super) increment: i64,
    pub(super) increment_from: Option<String>,
}

/// Reads a source; the result is of use only if there are no faults.
pub(super) fn read(document: &Value, places: &Places, findings: &mut Findings) -> Source {
    let root = Pointer::root();
    let empty = Object::new();
    let object = object(document, &root, findings).unwrap_or(&empty);
    let fields = Fields::new(object, &root);
    fields.known(&["version", "description", "default", "hide", "tools"], findings);
    if fields.text("version", findings).as_deref() != Some("1") {
        findings.fault(&root.key("version"), "`version` must be \"1\"");
    }
    let reader = Reader { document, places, parts: Cell::new(0) };
    Source {
        description: fields.text("description", findings),
        denies_unlisted: denies_unlisted(&fields, findings),
        hide: hide(&fields, findings),
        tools: fields
            .object("tools", findings)
            .into_iter()
            .flatten()
            .map(|member| reader.tool(&member.key, &member.value, findings))
            .collect(),
    }
}

fn denies_unlisted(fields: &Fields<'_>, findings: &mut Findings) -> bool {
    match fields.text("default", findings).as_deref() {
        None | Some("allow") => false,
        Some("deny") => true,
        Some(other) => {
            let message = format!("`default` must be `allow` or `deny`, not `{other}`");
            findings.fault(&fields.at.key("default"), message);
            true
        }
    }
}

fn hide(fields: &Fields<'_>, findings: &mut Findings) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (index, value) in fields.list("hide", findings).iter().enumerate() {
        let at = fields.at.key("hide").index(index);
        let name = text(value, &at, findings).unwrap_or_default();
        if name.trim().is_empty() {
            findings.fault(&at, "an entry of `hide` must not be empty");
        } else if names.contains(&name) {
            findings.fault(&at, format!("`{name}` stands twice in `hide`"));
        } else {
            names.push(name);
        }
    }
    names
}

struct Reader<'a> {
    document: &'a Value,
    places: &'a Places,
    /// Rules and conditions so far.
    parts: Cell<usize>,
}

impl Reader<'_> {
    fn tool(&self, name: &str, value: &Value, findings: &mut Findings) -> Tool {
        let at = Pointer::root().key("tools").key(name);
        let mut tool = Tool { at: at.clone(), name: name.to_owned(), rules: Vec::new() };
        if name.chars().count() > GLOB_CHARACTERS_MAX {
            let message = format!("the name of a tool may have at most {GLOB_CHARACTERS_MAX} characters");
            findings.fault(&Pointer::root().key("tools"), message);
            return tool;
        }
        let Some(object) = object(value, &at, findings) else {
            return tool;
        };
        let fields = Fields::new(object, &at);
        fields.known(&["rules"], findings);
        for (index, value) in fields.list("rules", findings).iter().enumerate() {
            let at = at.key("rules").index(index);
            if let Some(rule) = self.rule(&tool, value, &at, findings) {
                tool.rules.push(rule);
            }
        }
        tool
    }

    fn rule(&self, tool: &Tool, value: &Value, at: &Pointer, findings: &mut Findings) -> Option<Rule> {
        self.one_more(at, findings)?;
        let fields = Fields::new(object(value, at, findings)?, at);
        fields.known(&["name", "action", "rate_limit", "conditions", "on_deny", "state"], findings);
        let name = fields.text("name", findings).unwrap_or_default();
        if name.is_empty() {
            findings.fault(at, "a rule must have a `name`");
        }
        let mut rule = Rule {
            at: at.clone(),
            name,
            on_deny: fields.text("on_deny", findings),
            denies: denies(&fields, findings),
            conditions: self.conditions(&fields, findings),
            state: self.state(&fields, findings),
        };
        match fields.text("rate_limit", findings) {
            Some(rate) => write_out(&rate, tool, &mut rule, findings),
            None => check_conditions(&rule, findings),
        }
        check_counter(tool, &rule, findings);
        Some(rule)
    }

    /// Each part keeps its pointer: their number bounds the memory.
    fn one_more(&self, at: &Pointer, findings: &mut Findings) -> Option<()> {
        self.parts.set(self.parts.get() + 1);
        if self.parts.get() > PARTS_MAX {
            let message = format!("more than {PARTS_MAX} rules and conditions; import it in parts");
            findings.fault(at, message);
            return None;
        }
        Some(())
    }

    fn conditions(&self, fields: &Fields<'_>, findings: &mut Findings) -> Vec<Condition> {
        let indexed = fields.list("conditions", findings).iter().enumerate();
        let mut conditions = Vec::new();
        for (index, value) in indexed {
            let at = fields.at.key("conditions").index(index);
            conditions.extend(self.condition(value, &at, findings));
        }
        conditions
    }

    fn condition(&self, value: &Value, at: &Pointer, findings: &mut Findings) -> Option<Condition> {
        self.one_more(at, findings)?;
        let fields = Fields::new(object(value, at, findings)?, at);
        fields.known(&["path", "op", "value"], findings);
        self.refuse_odd_numbers(&at.key("value"), findings);
        let condition = Condition {
            at: at.clone(),
            path: fields.text("path", findings).unwrap_or_default(),
            op: fields.text("op", findings).unwrap_or_default(),
            value: fields.object.get("value").cloned().unwrap_or(Value::Null),
        };
        check_condition(&condition, findings);
        Some(condition)
    }

    fn state(&self, fields: &Fields<'_>, findings: &mut Findings) -> Option<State> {
        let at = fields.at.key("state");
        let fields = Fields::new(fields.object("state", findings)?, &at);
        fields.known(&["counter", "window", "increment", "increment_from"], findings);
        self.refuse_odd_numbers(&at.key("increment"), findings);
        let state = State {
            counter: fields.text("counter", findings).unwrap_or_default(),
            window: fields.text("window", findings).unwrap_or_default(),
            increment: increment(&fields, findings),
            increment_from: fields.text("increment_from", findings),
            at,
        };
        check_state(&state, findings);
        Some(state)
    }

    /// Intercept's reader takes some spellings for other numbers than YAML 1.2 does.
    fn refuse_odd_numbers(&self, at: &Pointer, findings: &mut Findings) {
        let below = self.places.below(self.document, at);
        if let Some((odd, _)) = below.and_then(|places| places.find_plain(is_odd_number)) {
            let message = format!(
                "readers of YAML do not agree on what `{odd}` is; write it in quotes, or as a plain decimal number"
            );
            findings.fault(at, message);
        }
    }
}

fn denies(fields: &Fields<'_>, findings: &mut Findings) -> bool {
    match fields.text("action", findings).as_deref() {
        None | Some("evaluate") => false,
        Some("deny") => true,
        Some(other) => {
            let message = format!("`action` must be `evaluate` or `deny`, not `{other}`");
            findings.fault(&fields.at.key("action"), message);
            true
        }
    }
}

/// `5/hour` as a condition on a counter.
fn write_out(rate: &str, tool: &Tool, rule: &mut Rule, findings: &mut Findings) {
    let at = rule.at.key("rate_limit");
    if !rule.conditions.is_empty() || rule.state.is_some() {
        findings.fault(&at, "`rate_limit` does not go together with `conditions` or `state`");
    }
    if rule.denies {
        findings.fault(&at, "`rate_limit` does not go together with `action: deny`");
    }
    let Some((max, window)) = parse_rate(rate) else {
        let message =
            format!("`{rate}` is not a rate; it is written like `5/hour`, with minute, hour or day");
        return findings.fault(&at, message);
    };
    let counter = format!("_rate_{window}");
    rule.conditions = vec![Condition {
        at: at.clone(),
        path: format!("state.{}", tool.counter_key(&counter)),
        op: "lte".to_owned(),
        value: Value::from(max),
    }];
    rule.state = Some(State { at, counter, window: window.to_owned(), increment: 1, increment_from: None });
}

fn parse_rate(rate: &str) -> Option<(i64, &str)> {
    let (count, window) = rate.split_once('/')?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    WINDOWS.contains(&window).then_some((count, window))
}

/// Nothing and nought mean one.
fn increment(fields: &Fields<'_>, findings: &mut Findings) -> i64 {
    let at = fields.at.key("increment");
    match fields.object.get("increment") {
        None | Some(Value::Null) => 1,
        Some(Value::Number(number)) => match number.as_i64() {
            Some(0) => 1,
            Some(increment) => increment,
            None => {
                findings.fault(&at, "`increment` must be a whole number");
                1
            }
        },
        Some(_) => {
            findings.fault(&at, "`increment` must be a whole number");
            1
        }
    }
}
