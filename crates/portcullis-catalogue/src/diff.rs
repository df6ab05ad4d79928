//! Two lists of one server side by side: what a person looks at before accepting a change.

use portcullis_json::{Value, compact};

use crate::classify::{Siblings, classify};
use crate::definition::ToolDefinition;
use crate::fingerprint::{Drift, Fingerprint, Part, drift, pins};
use crate::{Class, severity};

/// One part before and after, as text. `None` where the part was not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartChange {
    /// Which part.
    pub part: Part,
    /// As it was.
    pub before: Option<String>,
    /// As it is.
    pub after: Option<String>,
}

/// What happened to one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What happened.
    pub drift: Drift,
    /// The class before, where the tool was there.
    pub class_before: Option<Class>,
    /// The class now, where it still is.
    pub class_after: Option<Class>,
    /// The parts that changed, side by side.
    pub parts: Vec<PartChange>,
}

impl Difference {
    /// Whether the tool does graver things than before.
    pub fn is_raised(&self) -> bool {
        let before = self.class_before.map(severity);
        self.class_after.map(severity).zip(before).is_some_and(|(after, before)| after > before)
    }
}

/// Compares two lists of one server.
pub fn diff(server: &str, before: &[ToolDefinition], after: &[ToolDefinition]) -> Vec<Difference> {
    let old = Side::new(server, before);
    let new = Side::new(server, after);
    let found = drift(&pins(before), &pins(after));
    found.into_iter().map(|drift| difference(drift, &old, &new)).collect()
}

struct Side<'a> {
    tools: &'a [ToolDefinition],
    siblings: Siblings,
}

impl<'a> Side<'a> {
    fn new(server: &str, tools: &'a [ToolDefinition]) -> Side<'a> {
        Side { tools, siblings: Siblings::of(server, tools) }
    }

    fn tool(&self, name: &str) -> Option<&'a ToolDefinition> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    fn class(&self, name: &str) -> Option<Class> {
        self.tool(name).map(|tool| classify(tool, &self.siblings).class)
    }
}

fn difference(drift: Drift, old: &Side<'_>, new: &Side<'_>) -> Difference {
    let (before, after) = match &drift {
        Drift::Added { tool } => (None, Some(tool.as_str())),
        Drift::Removed { tool } => (Some(tool.as_str()), None),
        Drift::Renamed { from, to } => (Some(from.as_str()), Some(to.as_str())),
        Drift::Changed { tool, .. } => (Some(tool.as_str()), Some(tool.as_str())),
    };
    let changed = match &drift {
        Drift::Changed { parts, .. } => parts.as_slice(),
        _ => &[],
    };
    let old_tool = before.and_then(|name| old.tool(name));
    let new_tool = after.and_then(|name| new.tool(name));
    let parts = changed.iter().map(|part| part_change(*part, old_tool, new_tool));
    Difference {
        parts: parts.collect(),
        class_before: before.and_then(|name| old.class(name)),
        class_after: after.and_then(|name| new.class(name)),
        drift,
    }
}

fn part_change(part: Part, before: Option<&ToolDefinition>, after: Option<&ToolDefinition>) -> PartChange {
    PartChange {
        part,
        before: before.and_then(|tool| text_of(tool, part)),
        after: after.and_then(|tool| text_of(tool, part)),
    }
}

/// The parts in which two definitions differ, whatever their names.
pub fn side_by_side(before: &ToolDefinition, after: &ToolDefinition) -> Vec<PartChange> {
    let changed = Fingerprint::of(before).changed(&Fingerprint::of(after));
    changed.into_iter().map(|part| part_change(part, Some(before), Some(after))).collect()
}

fn text_of(tool: &ToolDefinition, part: Part) -> Option<String> {
    let json = |value: &Option<Value>| value.as_ref().map(compact);
    match part {
        Part::Title => tool.title.clone(),
        Part::Description => tool.description.clone(),
        Part::InputSchema => json(&tool.input_schema),
        Part::OutputSchema => json(&tool.output_schema),
        Part::Annotations => json(&tool.annotations),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_class_and_both_texts_are_shown() {
        let before = [ToolDefinition::named("door").described("Shows a door")];
        let after = [ToolDefinition::named("door").described("Deletes a door")];
        let found = diff("s", &before, &after);
        assert_eq!(found.len(), 1);
        assert!(found[0].is_raised());
        assert_eq!(found[0].parts[0].before.as_deref(), Some("Shows a door"));
        assert_eq!(found[0].parts[0].after.as_deref(), Some("Deletes a door"));
        assert!(diff("s", &before, &before).is_empty());
    }
}
