//! The source as Intercept reads it: typed, with its defaults filled in and its short form written out.
//!
//! What Intercept refuses is a fault here; a field that it passes over is passed over with a note.

use portcullis_json::{Object, Pointer, Value};

use super::findings::Findings;
use crate::yaml::Places;

/// The tool key whose rules apply to every call.
pub(super) const EVERY_TOOL: &str = "*";
/// The scope of the counters that its rules have.
pub(super) const EVERY_TOOL_SCOPE: &str = "_global";

const WINDOWS: [&str; 3] = ["minute", "hour", "day"];
const OPERATORS: [&str; 11] = [
    "eq", "neq", "in", "not_in", "lt", "lte", "gt", "gte", "regex", "contains", "exists",
];

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

    /// What its counters are called: the scope and the counter's own name.
    pub(super) fn counter_key(&self, counter: &str) -> String {
        let scope = if self.is_every_tool() {
            EVERY_TOOL_SCOPE
        } else {
            &self.name
        };
        format!("{scope}.{counter}")
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
    fields.known(
        &["version", "description", "default", "hide", "tools"],
        findings,
    );
    if fields.text("version", findings).as_deref() != Some("1") {
        findings.fault(&root.key("version"), "`version` must be \"1\"");
    }
    let reader = Reader { document, places };
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
}

impl Reader<'_> {
    fn tool(&self, name: &str, value: &Value, findings: &mut Findings) -> Tool {
        let at = Pointer::root().key("tools").key(name);
        let mut tool = Tool {
            at: at.clone(),
            name: name.to_owned(),
            rules: Vec::new(),
        };
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

    fn rule(
        &self,
        tool: &Tool,
        value: &Value,
        at: &Pointer,
        findings: &mut Findings,
    ) -> Option<Rule> {
        let fields = Fields::new(object(value, at, findings)?, at);
        fields.known(
            &[
                "name",
                "action",
                "rate_limit",
                "conditions",
                "on_deny",
                "state",
            ],
            findings,
        );
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
        fields.known(
            &["counter", "window", "increment", "increment_from"],
            findings,
        );
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

/// `010`, `1_000`, `0b11`, `-0x1F` and dates.
fn is_odd_number(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let agreed = plain.starts_with("0x") || plain.starts_with("0o");
    let second = unsigned
        .strip_prefix('0')
        .and_then(|rest| rest.chars().next());
    let based =
        second.is_some_and(|second| second.is_ascii_alphanumeric() && !"eE".contains(second));
    let date = unsigned.split('-').count() == 3
        && unsigned.starts_with(|first: char| first.is_ascii_digit());
    unsigned.contains('_') || (based && !agreed) || date
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
        findings.fault(
            &at,
            "`rate_limit` does not go together with `conditions` or `state`",
        );
    }
    if rule.denies {
        findings.fault(&at, "`rate_limit` does not go together with `action: deny`");
    }
    let Some((max, window)) = parse_rate(rate) else {
        let message = format!(
            "`{rate}` is not a rate; it is written like `5/hour`, with minute, hour or day"
        );
        return findings.fault(&at, message);
    };
    let counter = format!("_rate_{window}");
    rule.conditions = vec![Condition {
        at: at.clone(),
        path: format!("state.{}", tool.counter_key(&counter)),
        op: "lte".to_owned(),
        value: Value::from(max),
    }];
    rule.state = Some(State {
        at,
        counter,
        window: window.to_owned(),
        increment: 1,
        increment_from: None,
    });
}

fn parse_rate(rate: &str) -> Option<(i64, &str)> {
    let (count, window) = rate.split_once('/')?;
    let count = count.parse().ok().filter(|count| *count > 0)?;
    WINDOWS.contains(&window).then_some((count, window))
}

fn check_conditions(rule: &Rule, findings: &mut Findings) {
    match (rule.denies, rule.conditions.is_empty()) {
        (true, false) => findings.fault(&rule.at, "a rule with `action: deny` has no `conditions`"),
        (false, true) => findings.fault(&rule.at, "a rule needs at least one condition"),
        _ => {}
    }
}

fn check_counter(tool: &Tool, rule: &Rule, findings: &mut Findings) {
    let Some(state) = &rule.state else { return };
    let mut states = tool.rules.iter().filter_map(|rule| rule.state.as_ref());
    if states.any(|other| other.counter == state.counter) {
        let message = format!(
            "the counter `{}` is declared twice for this tool",
            state.counter
        );
        findings.fault(&state.at, message);
    }
}

fn check_condition(condition: &Condition, findings: &mut Findings) {
    let Condition {
        at,
        path,
        op,
        value,
    } = condition;
    if !path.starts_with("args.") && !path.starts_with("state.") {
        let message = format!("`{path}` must start with `args.` or `state.`");
        findings.fault(&at.key("path"), message);
    }
    let wanted = match (op.as_str(), value) {
        ("in" | "not_in", Value::Array(_)) => None,
        ("in" | "not_in", _) => Some("a list"),
        ("lt" | "lte" | "gt" | "gte", Value::Number(_)) => None,
        ("lt" | "lte" | "gt" | "gte", _) => Some("a number"),
        ("exists", Value::Bool(_)) => None,
        ("exists", _) => Some("true or false"),
        ("regex", Value::String(_)) => None,
        ("regex", _) => Some("a string"),
        _ => None,
    };
    if let Some(wanted) = wanted {
        findings.fault(&at.key("value"), format!("`{op}` takes {wanted}"));
    }
    if !OPERATORS.contains(&op.as_str()) {
        findings.fault(&at.key("op"), format!("unknown operator `{op}`"));
    }
}

fn check_state(state: &State, findings: &mut Findings) {
    let State {
        at,
        counter,
        window,
        increment_from,
        ..
    } = state;
    if counter.is_empty() {
        findings.fault(at, "a counter needs a name");
    }
    if !WINDOWS.contains(&window.as_str()) {
        let message = format!("`window` must be minute, hour or day, not `{window}`");
        findings.fault(&at.key("window"), message);
    }
    if increment_from
        .as_ref()
        .is_some_and(|path| !path.starts_with("args."))
    {
        let message = "`increment_from` must start with `args.`";
        findings.fault(&at.key("increment_from"), message);
    }
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

/// The fields of one object. An empty value is an absent one, as in Intercept.
struct Fields<'a> {
    object: &'a Object,
    at: &'a Pointer,
}

impl<'a> Fields<'a> {
    fn new(object: &'a Object, at: &'a Pointer) -> Fields<'a> {
        Fields { object, at }
    }

    fn known(&self, names: &[&str], findings: &mut Findings) {
        for member in self.object {
            if !names.contains(&member.key.as_str()) {
                let message = format!("`{}` is no field that Intercept reads", member.key);
                findings.dropped(&self.at.key(&member.key), message);
            }
        }
    }

    fn text(&self, key: &str, findings: &mut Findings) -> Option<String> {
        let text = text(self.object.get(key)?, &self.at.key(key), findings);
        text.filter(|text| !text.is_empty())
    }

    fn list(&self, key: &str, findings: &mut Findings) -> &'a [Value] {
        match self.object.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(elements)) => elements,
            Some(_) => {
                findings.fault(&self.at.key(key), format!("`{key}` must be a list"));
                &[]
            }
        }
    }

    fn object(&self, key: &str, findings: &mut Findings) -> Option<&'a Object> {
        match self.object.get(key)? {
            Value::Null => None,
            value => object(value, &self.at.key(key), findings),
        }
    }
}

fn object<'v>(value: &'v Value, at: &Pointer, findings: &mut Findings) -> Option<&'v Object> {
    match value {
        Value::Object(object) => Some(object),
        Value::Null if *at != Pointer::root() => None,
        other => {
            let message = format!(
                "this must be a mapping, not {}",
                other.kind().with_article()
            );
            findings.fault(at, message);
            None
        }
    }
}

/// Intercept takes any scalar where it wants text.
fn text(value: &Value, at: &Pointer, findings: &mut Findings) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.spelling().to_owned()),
        Value::Array(_) | Value::Object(_) => {
            findings.fault(at, "this must be text");
            None
        }
    }
}
