//! Changed tools: shown side by side, accepted one by one.
//!
//! Only what was shown can be accepted: a definition that changed again since must be looked at again.

use std::collections::BTreeMap;

use portcullis_catalogue::diff::side_by_side;
use portcullis_catalogue::fingerprint::hex;
use portcullis_catalogue::{Siblings, ToolDefinition, classify, severity};
use portcullis_json::{Limits, Object, Value, parse, pretty};
use portcullis_policy::Class;
use portcullis_state::StateFault;
use portcullis_state::log::{Action, Event};
use portcullis_state::pins::{Change, Pin};

use super::arguments::Arguments;
use super::{Administration, BY, text, time, tools};

/// Bytes of definitions that one answer shows; the rest is asked for by name.
const SHOWN_BYTES_MAX: usize = 1 << 20;

/// What is withheld at a server, each with what was pinned.
pub(super) fn changes(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let (server, tool) = (arguments.text("name")?, arguments.optional_text("tool"));
    let shown = administration.pins.change(server, |open| -> Result<_, StateFault> {
        let (pins, mut changes) = (open.pins()?, open.changes()?);
        changes.retain(|name, _| tool.is_none_or(|tool| tool == name));
        let siblings = Siblings::of_names(server, pins.keys().map(String::as_str));
        let (mut shown, mut bytes) = (Vec::new(), 0);
        for (name, change) in &changes {
            let pin = pins.get(change.renamed_from.as_ref().unwrap_or(name));
            let row = Row { name, pin, change, siblings: &siblings };
            bytes += change.definition.len() + pin.map_or(0, |pin| pin.definition.len());
            // One that is asked for by name is shown whatever its size.
            let whole = bytes <= SHOWN_BYTES_MAX || tool.is_some();
            if whole {
                open.note_shown(name, &change.fingerprint)?;
            }
            shown.push(Value::from(row.described(whole)));
        }
        Ok(shown)
    });
    let shown = shown.map_err(text)?;
    if shown.is_empty() {
        super::servers::check_known(administration, server)?;
    }
    if let (Some(tool), true) = (tool, shown.is_empty()) {
        return Err(format!("tool `{tool}` of server `{server}` is not withheld; nothing is to be accepted"));
    }
    Ok(Object::new().with("server", server).with("changes", shown).into())
}

struct Row<'a> {
    name: &'a str,
    pin: Option<&'a Pin>,
    change: &'a Change,
    siblings: &'a Siblings,
}

impl Row<'_> {
    fn described(&self, whole: bool) -> Object {
        let (before, after) = (self.pin.and_then(|pin| read(&pin.definition)), read(&self.change.definition));
        let class =
            |tool: &Option<ToolDefinition>| tool.as_ref().map(|tool| classify(tool, self.siblings).class);
        let (class_before, class_after) = (class(&before), class(&after));
        let raised = class_before.zip(class_after).is_some_and(|(old, new)| severity(new) > severity(old));
        let word = |class: Option<Class>| class.map_or(Value::Null, |class| class.name().into());
        let described = Object::new()
            .with("tool", self.name)
            .with("renamed_from", self.change.renamed_from.as_deref().map_or(Value::Null, Value::from))
            .with("seen", time(Some(self.change.seen)))
            .with("fingerprint", hex(&self.change.fingerprint))
            .with("class_before", word(class_before))
            .with("class_after", word(class_after))
            .with("class_raised", raised);
        match whole {
            true => described.with("parts", self.parts(before, after)),
            false => described.with("parts", Value::Null),
        }
    }

    fn parts(&self, before: Option<ToolDefinition>, after: Option<ToolDefinition>) -> Vec<Value> {
        let part = |name: &str, before: Option<String>, after: Option<String>| {
            let value = |text: Option<String>| text.map_or(Value::Null, |text| Value::from(laid_out(&text)));
            Value::from(
                Object::new().with("part", name).with("before", value(before)).with("after", value(after)),
            )
        };
        let mut parts = Vec::new();
        if let Some(from) = &self.change.renamed_from {
            parts.push(part("name", Some(from.clone()), Some(self.name.to_owned())));
        }
        if let Some((before, after)) = before.zip(after) {
            let found = side_by_side(&before, &after);
            parts.extend(found.into_iter().map(|found| part(found.part.field(), found.before, found.after)));
        }
        if parts.is_empty() {
            let before = self.pin.map(|pin| pin.definition.clone());
            parts.push(part("definition", before, Some(self.change.definition.clone())));
        }
        parts
    }
}

/// JSON over several lines, other text as it is.
fn laid_out(text: &str) -> String {
    let limits = Limits { bytes_max: text.len(), ..Limits::message() };
    match parse(text.as_bytes(), &limits) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => pretty(&value),
        _ => text.to_owned(),
    }
}

fn read(definition: &str) -> Option<ToolDefinition> {
    ToolDefinition::from_value(&value(definition)?).ok()
}

fn value(definition: &str) -> Option<Value> {
    let limits = Limits { bytes_max: definition.len(), ..Limits::message() };
    parse(definition.as_bytes(), &limits).ok()
}

/// The pin moves to what the administrator has looked at.
pub(super) fn accept(
    administration: &mut Administration<'_>,
    arguments: &Arguments<'_>,
) -> Result<Value, String> {
    let server = arguments.text("name")?;
    let (log, now) = (administration.log, administration.now);
    let all = arguments.is_set("all");
    let tool = arguments.optional_text("tool");
    let accepted = administration.pins.change(server, |open| -> Result<_, Failed> {
        let tools = match (tool, all) {
            (Some(tool), false) => vec![tool.to_owned()],
            (None, true) => open.changes()?.into_keys().collect(),
            _ => return Err(Failed("name one tool, or say `--all`".to_owned())),
        };
        for tool in &tools {
            let change = open.accept(tool, now)?;
            let detail = hex(&change.fingerprint);
            let event = Event {
                by: Some(BY),
                server: Some(server),
                tool: Some(tool),
                detail: Some(&detail),
                ..Event::new(Action::ToolAccepted)
            };
            super::record(log, &event, now).map_err(Failed)?;
        }
        Ok(tools)
    });
    let accepted = accepted.map_err(|Failed(message)| message)?;
    let accepted: Vec<Value> = accepted.iter().map(|tool| tool.as_str().into()).collect();
    Ok(Object::new().with("server", server).with("accepted", accepted).into())
}

struct Failed(String);

impl From<StateFault> for Failed {
    fn from(fault: StateFault) -> Failed {
        Failed(fault.to_string())
    }
}

/// The tools of a server as they are pinned, with those that are withheld.
pub(super) fn shown_tools(
    administration: &Administration<'_>,
    server: &str,
    overrides: &BTreeMap<String, Class>,
) -> Result<Vec<Value>, String> {
    let kept = administration
        .pins
        .change(server, |open| -> Result<_, StateFault> { Ok((open.pins()?, open.changes()?)) });
    let (pins, changes) = kept.map_err(text)?;
    let only_changed = changes.iter().filter(|(name, _)| !pins.contains_key(*name));
    let definitions = pins.values().map(|pin| &pin.definition);
    let definitions = definitions.chain(only_changed.map(|(_, change)| &change.definition));
    let definitions: Vec<Value> = definitions.filter_map(|definition| value(definition)).collect();
    let standing = |tool: Value| {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let withheld = changes.contains_key(&name);
        let pinned = time(pins.get(&name).map(|pin| pin.pinned));
        let Value::Object(tool) = tool else { return tool };
        let standing = if withheld { "changed" } else { "pinned" };
        tool.with("standing", standing).with("pinned", pinned).into()
    };
    Ok(tools::described(server, overrides, &definitions).into_iter().map(standing).collect())
}
