//! Counters and the conditions on them, as limits.
//!
//! A condition `state.TOOL.COUNTER lte N` is a limit with `max` N. Counters are known by tool and name, are
//! shared by everyone (`scope: global`) and start anew with the UTC minute, hour or day, as in Intercept.

use std::collections::{HashMap, HashSet};

use portcullis_json::{Number, Object, Pointer, Value};

use super::condition;
use super::findings::Findings;
use super::source::{Condition, EVERY_TOOL, EVERY_TOOL_SCOPE, Rule, Source, State, Tool};

/// What a counter that only counts may reach: as much as Intercept can count.
const COUNTS_ONLY: i64 = i64::MAX;

/// All counters of a source.
#[derive(Debug)]
pub(super) struct Counters<'s> {
    declared: HashMap<String, &'s State>,
    /// Compared by a rule of another tool than the one that counts.
    read_elsewhere: HashSet<String>,
}

/// One limit to be.
#[derive(Debug)]
struct Draft<'s> {
    key: String,
    max: i64,
    on_deny: Option<&'s str>,
    state: &'s State,
    /// The tool that has the limit is the one that counts.
    own: bool,
}

/// What the rules of one tool say about counters.
#[derive(Debug, Default)]
pub(super) struct Limited {
    pub(super) limits: Vec<Value>,
    pub(super) require: Vec<Value>,
    /// A rule that admits nothing, or that no limit can express.
    pub(super) stopped_by: Option<String>,
}

pub(super) fn is_state(condition: &Condition) -> bool {
    condition.path.starts_with("state.")
}

/// `TOOL.COUNTER`.
fn key_of(condition: &Condition) -> String {
    let key = condition.path.strip_prefix("state.").unwrap_or_default();
    match key.strip_prefix(EVERY_TOOL).and_then(|rest| rest.strip_prefix('.')) {
        Some(counter) => format!("{EVERY_TOOL_SCOPE}.{counter}"),
        None => key.to_owned(),
    }
}

fn state_conditions(tool: &Tool) -> impl Iterator<Item = (&Rule, &Condition)> {
    let rules = tool.rules.iter().filter(|rule| !rule.denies);
    rules.flat_map(|rule| {
        let on_state = rule.conditions.iter().filter(|condition| is_state(condition));
        on_state.map(move |condition| (rule, condition))
    })
}

/// The state block of this tool that counts under `key`.
fn own_state<'s>(tool: &'s Tool, key: &str) -> Option<&'s State> {
    let counter = tool.own_counter(key)?;
    let mut states = tool.rules.iter().filter_map(|rule| rule.state.as_ref());
    states.find(|state| state.counter == counter)
}

impl<'s> Counters<'s> {
    pub(super) fn of(source: &'s Source, findings: &mut Findings) -> Counters<'s> {
        let mut counters = Counters { declared: HashMap::new(), read_elsewhere: HashSet::new() };
        for tool in &source.tools {
            for state in tool.rules.iter().filter_map(|rule| rule.state.as_ref()) {
                counters.declare(tool.counter_key(&state.counter), state, findings);
            }
        }
        for tool in &source.tools {
            let keys = state_conditions(tool).map(|(_, condition)| key_of(condition));
            let elsewhere = keys.filter(|key| own_state(tool, key).is_none());
            counters.read_elsewhere.extend(elsewhere);
        }
        counters
    }

    fn declare(&mut self, key: String, state: &'s State, findings: &mut Findings) {
        match self.declared.get(&key) {
            Some(other) if other.window != state.window => findings.fault(
                &state.at,
                format!("the counter `{key}` is declared twice, with two windows; rename one"),
            ),
            _ => {
                self.declared.insert(key, state);
            }
        }
    }

    /// The limits that the rules of `tool` amount to.
    pub(super) fn limited(&self, tool: &'s Tool, findings: &mut Findings) -> Limited {
        let mut limited = Limited::default();
        let mut drafts: Vec<Draft<'s>> = Vec::new();
        for (rule, condition) in state_conditions(tool) {
            match self.draft(tool, rule, condition, findings) {
                Ok(Some(draft)) => merge(draft, &mut drafts, &condition.at, findings),
                Ok(None) => {}
                Err(why) => {
                    stop(tool, &condition.at, &why, findings);
                    limited.stopped_by.get_or_insert_with(|| rule.message());
                }
            }
        }
        drafts.extend(self.counting_only(tool, &drafts, &mut limited, findings));
        for draft in &drafts {
            match draft.limit(findings) {
                Ok(limit) => limited.limits.push(limit),
                Err(why) => {
                    stop(tool, &draft.state.at, &why, findings);
                    let message = draft.on_deny.unwrap_or(&why).to_owned();
                    limited.stopped_by.get_or_insert(message);
                }
            }
        }
        limited
    }

    /// `None`: it holds for every call.
    fn draft(
        &self,
        tool: &'s Tool,
        rule: &'s Rule,
        condition: &Condition,
        findings: &mut Findings,
    ) -> Result<Option<Draft<'s>>, String> {
        let key = key_of(condition);
        let Some(declared) = self.declared.get(&key) else {
            let message = format!("no rule has a `state` block for the counter `{key}`");
            findings.fault(&condition.at.key("path"), message);
            return Ok(None);
        };
        if !condition.path.ends_with(&key) {
            let message = format!("taken for `{key}`; Intercept compares a counter that stays at nought");
            findings.changed(&condition.at, message);
        }
        let own = own_state(tool, &key);
        let max = match (condition.op.as_str(), &condition.value) {
            ("lt" | "lte", Value::Number(number)) => max(&condition.op, number, own.is_some()),
            ("exists", Value::Bool(true)) => {
                findings.dropped(&condition.at, "a counter is always there");
                return Ok(None);
            }
            (op, _) => return Err(format!("no limit can express `{op}` on a counter")),
        };
        if own.is_none() {
            let message = format!(
                "calls of `{}` are counted in `{key}` as well, one each; Intercept only compares here",
                tool.name
            );
            findings.changed(&condition.at, message);
        }
        Ok(Some(Draft {
            max: max.ok_or("this admits no call at all")?,
            on_deny: rule.on_deny.as_deref(),
            state: own.unwrap_or(declared),
            own: own.is_some(),
            key,
        }))
    }

    /// Counters that this tool counts and does not compare.
    fn counting_only(
        &self,
        tool: &'s Tool,
        drafts: &[Draft<'s>],
        limited: &mut Limited,
        findings: &mut Findings,
    ) -> Vec<Draft<'s>> {
        let mut counting = Vec::new();
        let rules = tool.rules.iter().filter(|rule| !rule.denies);
        for state in rules.filter_map(|rule| rule.state.as_ref()) {
            let key = tool.counter_key(&state.counter);
            if drafts.iter().any(|draft| draft.key == key) {
                continue;
            }
            if self.read_elsewhere.contains(&key) {
                counting.push(Draft { key, max: COUNTS_ONLY, on_deny: None, state, own: true });
                continue;
            }
            let message = format!("no condition compares the counter `{key}`, so it limits nothing");
            findings.dropped(&state.at, message);
            limited.require.extend(countable(state, findings));
        }
        counting
    }
}

/// Intercept refuses a call whose amount it cannot read, also where nothing is limited.
fn countable(state: &State, findings: &mut Findings) -> Option<Value> {
    let path = match condition::path(state.increment_from.as_ref()?) {
        Ok(path) => path,
        Err(message) => {
            findings.fault(&state.at.key("increment_from"), message);
            return None;
        }
    };
    let is_number = condition::one(&path, "type", Value::from("number"));
    Some(Value::Object(Object::new().with("conditions", vec![is_number])))
}

/// One call must not be counted twice in one counter: of several limits the lowest stays.
fn merge<'s>(draft: Draft<'s>, drafts: &mut Vec<Draft<'s>>, at: &Pointer, findings: &mut Findings) {
    match drafts.iter_mut().find(|other| other.key == draft.key) {
        Some(other) => {
            let message = format!("several conditions on `{}` became one limit, the lowest", draft.key);
            findings.changed(at, message);
            if draft.max < other.max {
                *other = draft;
            }
        }
        None => drafts.push(draft),
    }
}

pub(super) fn stop(tool: &Tool, at: &Pointer, why: &str, findings: &mut Findings) {
    let calls = if tool.is_every_tool() {
        "every call is denied".to_owned()
    } else {
        format!("every call of `{}` is denied", tool.name)
    };
    findings.changed(at, format!("{calls} instead: {why}"));
}

/// The largest total that is admitted, as Intercept cuts it to whole numbers; `None`: not even nothing.
///
/// Where the tool counts itself, the total after the call is compared; elsewhere the one before it, so one
/// more fits.
fn max(op: &str, number: &Number, own: bool) -> Option<i64> {
    let floor = match number.as_i64() {
        Some(whole) => whole,
        None if number.is_integer() => return None,
        // Cut off at the ends of `i64`, which no counter reaches.
        None => number.nearest_double().floor() as i64,
    };
    let largest = match (op, own) {
        ("lte", true) => floor,
        ("lte", false) => floor.checked_add(1)?,
        (_, true) => floor.checked_sub(1)?,
        (_, false) if number.is_integer() => floor,
        (_, false) => floor.checked_add(1)?,
    };
    let admits_nothing =
        if op == "lte" { floor < 0 } else { number.decimal() <= portcullis_json::Decimal::ZERO };
    (!admits_nothing && largest >= 0).then_some(largest)
}

impl Draft<'_> {
    fn limit(&self, findings: &mut Findings) -> Result<Value, String> {
        let mut limit = Object::new()
            .with("counter", self.key.as_str())
            .with("window", self.state.window.as_str())
            .with("max", self.max)
            .with("scope", "global")
            .with("align", "calendar");
        if self.own {
            self.add_increment(&mut limit, findings)?;
        }
        if let Some(on_deny) = self.on_deny {
            limit.insert("on_deny", Value::from(on_deny));
        }
        Ok(Value::Object(limit))
    }

    fn add_increment(&self, limit: &mut Object, findings: &mut Findings) -> Result<(), String> {
        match &self.state.increment_from {
            Some(path) => {
                let message = "amounts are added exactly, and a negative one is refused; Intercept cuts off \
                               fractions and subtracts";
                findings.changed(&self.state.at.key("increment_from"), message);
                limit.insert("increment_from", Value::from(condition::path(path)?));
            }
            None if self.state.increment < 0 => {
                return Err("a counter cannot count backwards".to_owned());
            }
            None if self.state.increment != 1 => {
                limit.insert("increment", Value::from(self.state.increment));
            }
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_whole_numbers_as_intercept_cuts_them() {
        for (op, value, own, other) in [
            ("lte", "5", Some(5), Some(6)),
            ("lte", "5.9", Some(5), Some(6)),
            ("lt", "5", Some(4), Some(5)),
            ("lt", "5.5", Some(4), Some(6)),
            ("lt", "1", Some(0), Some(1)),
            ("lt", "0.5", None, Some(1)),
            ("lt", "0", None, None),
            ("lte", "0", Some(0), Some(1)),
            ("lte", "-0.5", None, None),
        ] {
            let expected = (own, other);
            let number = Number::parse(value).unwrap();
            assert_eq!((max(op, &number, true), max(op, &number, false)), expected, "{op} {value}");
        }
    }
}
