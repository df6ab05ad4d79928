//! Fingerprints of definitions: pin what was seen first, notice what changed.
//!
//! Pure functions. Whoever keeps the pins decides what to do about a change; a pin never moves by itself.

use std::collections::BTreeMap;

use portcullis_json::{Digest, Object, Value, digest};

use crate::definition::ToolDefinition;

/// A part of a definition whose change matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// `title`
    Title,
    /// `description`
    Description,
    /// `inputSchema`
    InputSchema,
    /// `outputSchema`
    OutputSchema,
    /// `annotations`
    Annotations,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 5] =
        [Part::Title, Part::Description, Part::InputSchema, Part::OutputSchema, Part::Annotations];

    /// The field.
    pub fn field(self) -> &'static str {
        match self {
            Part::Title => "title",
            Part::Description => "description",
            Part::InputSchema => "inputSchema",
            Part::OutputSchema => "outputSchema",
            Part::Annotations => "annotations",
        }
    }
}

/// The digests of a definition: one per part, and one of all with the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Name and all parts together.
    pub whole: Digest,
    /// The parts, in the order of [`Part::ALL`].
    pub parts: [Digest; 5],
}

impl Fingerprint {
    /// The fingerprint of a definition. Equal JSON values give equal fingerprints, however they are spelled.
    pub fn of(tool: &ToolDefinition) -> Fingerprint {
        let parts = Part::ALL.map(|part| digest(&part_value(tool, part)));
        let mut whole = Object::new().with("name", tool.name.as_str());
        for (part, digest) in Part::ALL.iter().zip(parts) {
            whole.insert(part.field(), Value::from(hex(&digest)));
        }
        Fingerprint { whole: digest(&Value::Object(whole)), parts }
    }

    /// The parts in which two differ.
    pub fn changed(&self, other: &Fingerprint) -> Vec<Part> {
        let pairs = self.parts.iter().zip(other.parts.iter());
        Part::ALL.into_iter().zip(pairs).filter(|(_, (a, b))| a != b).map(|(part, _)| part).collect()
    }

    /// Whether both describe and take the same, whatever their names.
    pub fn same_but_name(&self, other: &Fingerprint) -> bool {
        self.parts == other.parts
    }

    /// As text: the digest of the whole.
    pub fn to_hex(&self) -> String {
        hex(&self.whole)
    }
}

fn part_value(tool: &ToolDefinition, part: Part) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let value = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
    match part {
        Part::Title => text(&tool.title),
        Part::Description => text(&tool.description),
        Part::InputSchema => value(&tool.input_schema),
        Part::OutputSchema => value(&tool.output_schema),
        Part::Annotations => value(&tool.annotations),
    }
}

/// Members of a definition that may change without anybody being asked: pictures, and what the protocol
/// keeps for programs.
pub const NOT_PINNED: [&str; 2] = ["icons", "_meta"];

/// The fingerprint of a whole definition, members that are not known here included, without [`NOT_PINNED`].
/// A member that is `null` counts as absent.
pub fn of_definition(definition: &Object) -> Digest {
    let counts = |key: &str, value: &Value| !NOT_PINNED.contains(&key) && !matches!(value, Value::Null);
    let members = definition.iter().filter(|member| counts(&member.key, &member.value));
    let pinned = members.fold(Object::new(), |all, member| all.with(&member.key, member.value.clone()));
    digest(&Value::Object(pinned))
}

/// A digest as lower-case hexadecimal.
pub fn hex(digest: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of what [`hex`] wrote.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = nibbles?;
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(),
        _ => None,
    };
    pairs.chunks(2).map(byte).collect()
}

/// What happened to a tool between the pinned list and the one that is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Never seen before.
    Added {
        /// The tool.
        tool: String,
    },
    /// No longer listed.
    Removed {
        /// The tool.
        tool: String,
    },
    /// The same definition under another name.
    Renamed {
        /// The pinned name.
        from: String,
        /// The name now.
        to: String,
    },
    /// Another definition under the same name.
    Changed {
        /// The tool.
        tool: String,
        /// What changed.
        parts: Vec<Part>,
    },
}

/// Compares pins with a list. The order is by name: changed and renamed ones, then added, then removed.
pub fn drift(pinned: &BTreeMap<String, Fingerprint>, seen: &BTreeMap<String, Fingerprint>) -> Vec<Drift> {
    let mut gone: Vec<&String> = pinned.keys().filter(|name| !seen.contains_key(*name)).collect();
    let (mut changed, mut added) = (Vec::new(), Vec::new());
    for (name, fingerprint) in seen {
        match pinned.get(name) {
            Some(pin) if pin == fingerprint => {}
            Some(pin) => {
                let parts = pin.changed(fingerprint);
                changed.push(Drift::Changed { tool: name.clone(), parts });
            }
            None => {
                let twin = gone.iter().position(|old| {
                    pinned.get(*old).is_some_and(|pin| pin.same_but_name(fingerprint) && !is_blank(pin))
                });
                match twin {
                    Some(at) => {
                        let from = gone.remove(at).clone();
                        changed.push(Drift::Renamed { from, to: name.clone() });
                    }
                    None => added.push(Drift::Added { tool: name.clone() }),
                }
            }
        }
    }
    changed.extend(added);
    changed.extend(gone.into_iter().map(|tool| Drift::Removed { tool: tool.clone() }));
    changed
}

/// A definition without description and schema has twins everywhere.
fn is_blank(pin: &Fingerprint) -> bool {
    Fingerprint::of(&ToolDefinition::named("")).parts == pin.parts
}

/// The pins of a list.
pub fn pins(tools: &[ToolDefinition]) -> BTreeMap<String, Fingerprint> {
    tools.iter().map(|tool| (tool.name.clone(), Fingerprint::of(tool))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition::named(name).described(description)
    }

    #[test]
    fn each_part_is_noticed() {
        let before = pins(&[tool("a", "one"), tool("b", "two"), tool("c", "three")]);
        let annotated = tool("b", "two").annotated(Value::Object(Object::new().with("readOnlyHint", true)));
        let after = pins(&[tool("a", "other"), annotated, tool("d", "three"), tool("e", "new")]);
        assert_eq!(
            drift(&before, &after),
            [
                Drift::Changed { tool: "a".into(), parts: vec![Part::Description] },
                Drift::Changed { tool: "b".into(), parts: vec![Part::Annotations] },
                Drift::Renamed { from: "c".into(), to: "d".into() },
                Drift::Added { tool: "e".into() },
            ]
        );
    }

    #[test]
    fn another_spelling_of_the_same_schema_is_no_change() {
        let limits = portcullis_json::Limits::document();
        let read = |text: &str| portcullis_json::parse(text.as_bytes(), &limits).unwrap();
        let one = tool("a", "x").with_schema(read(r#"{"type":"object","maxProperties":7}"#));
        let two = tool("a", "x").with_schema(read(r#"{"maxProperties":7.0,"type":"object"}"#));
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&two));
    }

    #[test]
    fn everything_in_a_definition_counts_except_pictures_and_meta() {
        let tool = || Object::new().with("name", "a").with("description", "x");
        let same = [
            tool().with("icons", "new"),
            tool().with("_meta", Object::new()),
            tool().with("title", Value::Null),
            Object::new().with("description", "x").with("name", "a"),
        ];
        for other in same {
            assert_eq!(of_definition(&tool()), of_definition(&other), "{other:?}");
        }
        let different = [
            tool().with("name", "b"),
            tool().with("description", "y"),
            tool().with("annotations", Object::new()),
            tool().with("execution", Object::new().with("taskSupport", "required")),
        ];
        for other in different {
            assert_ne!(of_definition(&tool()), of_definition(&other), "{other:?}");
        }
    }

    #[test]
    fn a_removed_tool_is_noticed() {
        let before = pins(&[tool("a", "one")]);
        assert_eq!(drift(&before, &BTreeMap::new()), [Drift::Removed { tool: "a".into() }]);
        assert_eq!(drift(&before, &before), []);
    }
}
