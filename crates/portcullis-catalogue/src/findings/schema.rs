//! Oddities of the input schema.

use portcullis_json::{Pointer, Value};

use super::{Finding, FindingKind, finding};
use crate::Level;
use crate::definition::{PARAMETERS_MAX, ToolDefinition};
use crate::inert::inert_short;

/// Values of a schema that are looked at.
const NODES_MAX: usize = 20_000;
/// Depth that is looked at.
const DEPTH_MAX: usize = 64;
/// A default longer than this carries a text of its own.
const DEFAULT_BYTES_MAX: usize = 300;

/// Looks at references, size and defaults.
pub(super) fn look(tool: &ToolDefinition, found: &mut Vec<Finding>) {
    let Some(schema) = &tool.input_schema else {
        return;
    };
    let mut walk = Walk { nodes: 0, found };
    walk.visit(schema, &Pointer::root().key("inputSchema"), 0);
    let nodes = walk.nodes;
    let place = Pointer::root().key("inputSchema");
    let parameters = schema.get("properties").and_then(Value::as_object).map_or(0, |object| object.len());
    if nodes >= NODES_MAX || parameters > PARAMETERS_MAX {
        let says = format!("{parameters} parameters, of which {PARAMETERS_MAX} are looked at");
        found.push(finding(FindingKind::TooLarge, Level::Medium, &place, 0, 0, says));
    }
}

struct Walk<'a> {
    nodes: usize,
    found: &'a mut Vec<Finding>,
}

impl Walk<'_> {
    fn visit(&mut self, value: &Value, place: &Pointer, depth: usize) {
        self.nodes += 1;
        if self.nodes >= NODES_MAX || self.found.len() >= super::FINDINGS_MAX {
            return;
        }
        if depth >= DEPTH_MAX {
            let says = format!("nested deeper than {DEPTH_MAX}");
            self.add(FindingKind::RecursiveSchema, Level::Medium, place, says);
            return;
        }
        match value {
            Value::Object(object) => {
                for member in object {
                    let place = place.key(&member.key);
                    self.keyword(&member.key, &member.value, &place);
                    self.visit(&member.value, &place, depth + 1);
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.visit(element, &place.index(index), depth + 1);
                }
            }
            _ => {}
        }
    }

    fn keyword(&mut self, key: &str, value: &Value, place: &Pointer) {
        let Some(text) = value.as_str() else { return };
        match key {
            "$ref" | "$dynamicRef" if text == "#" => {
                self.add(FindingKind::RecursiveSchema, Level::Low, place, "refers to itself".to_owned());
            }
            "$ref" | "$dynamicRef" if !text.starts_with('#') => {
                let says = format!("refers to `{}`, which is not followed", inert_short(text, 80));
                self.add(FindingKind::RemoteReference, Level::High, place, says);
            }
            "default" | "const" if text.len() > DEFAULT_BYTES_MAX => {
                let says = format!("a `{key}` of {} bytes", text.len());
                self.add(FindingKind::LoadedDefault, Level::Medium, place, says);
            }
            _ => {}
        }
    }

    fn add(&mut self, kind: FindingKind, level: Level, place: &Pointer, says: String) {
        self.found.push(finding(kind, level, place, 0, 0, says));
    }
}
