//! What somebody has accepted about a server, so that a later scan fails only on what is new.
//!
//! An entry names the rule, the tool and the place. A tool that becomes graver has another rule and is new; one
//! that only has another wording is not: pinned definitions are what notices that.

use std::collections::BTreeSet;

use portcullis_json::{Limits, Object, Value, parse, pretty};

use crate::inert::inert_json;
use crate::record::{Risk, ServerRecord};

/// Bytes of a baseline that are read.
const BASELINE_BYTES_MAX: usize = 16 << 20;
/// The format of the file.
const VERSION: &str = "1";

/// The accepted risks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    accepted: BTreeSet<[String; 3]>,
}

impl Baseline {
    /// Accepts everything there is on a server.
    pub fn of(server: &ServerRecord) -> Baseline {
        Baseline { accepted: server.risks().iter().map(key).collect() }
    }

    /// Whether nobody has accepted this.
    pub fn is_new(&self, risk: &Risk<'_>) -> bool {
        !self.accepted.contains(&key(risk))
    }

    /// Reads a baseline.
    pub fn read(bytes: &[u8]) -> Result<Baseline, String> {
        let limits = Limits { bytes_max: BASELINE_BYTES_MAX, depth_max: 16 };
        let value = parse(bytes, &limits).map_err(|fault| fault.to_string())?;
        let version = value.get("version").and_then(Value::as_str);
        let accepted = value.get("accepted").and_then(Value::as_array);
        let (Some(VERSION), Some(accepted)) = (version, accepted) else {
            return Err("not a baseline; write one with `portcullis scan --write-baseline`".to_owned());
        };
        let accepted = accepted.iter().enumerate();
        let accepted: Result<_, String> = accepted
            .map(|(index, entry)| entry_of(entry).ok_or_else(|| format!("`accepted[{index}]` is no entry")))
            .collect();
        Ok(Baseline { accepted: accepted? })
    }

    /// As a file.
    pub fn text(&self) -> String {
        let entries = self.accepted.iter().map(|[rule, tool, place]| {
            let entry = Object::new().with("rule", rule.as_str()).with("tool", tool.as_str());
            Value::Object(if place.is_empty() { entry } else { entry.with("place", place.as_str()) })
        });
        let file = Object::new().with("version", VERSION).with("accepted", entries.collect::<Vec<_>>());
        inert_json(&pretty(&Value::Object(file)))
    }
}

fn key(risk: &Risk<'_>) -> [String; 3] {
    [risk.rule.clone(), risk.tool_name().to_owned(), risk.place.to_owned()]
}

fn entry_of(entry: &Value) -> Option<[String; 3]> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    Some([text("rule")?, text("tool")?, text("place").unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolDefinition;
    use crate::record::{Provenance, ServerFacts};

    fn server(tools: &[(&str, &str)]) -> ServerRecord {
        let tools = tools.iter().map(|(name, text)| ToolDefinition::named(name).described(text));
        ServerRecord::of(ServerFacts::default(), tools.collect(), Provenance::Live)
    }

    fn new_tools(baseline: &Baseline, server: &ServerRecord) -> Vec<String> {
        let risks = server.risks();
        risks.iter().filter(|risk| baseline.is_new(risk)).map(|risk| risk.tool_name().to_owned()).collect()
    }

    #[test]
    fn only_what_is_new_or_graver_is_new() {
        let accepted =
            server(&[("get_door", "Gets a door"), ("set_door", "Sets a door"), ("door", "Sets a door")]);
        let baseline = Baseline::read(Baseline::of(&accepted).text().as_bytes()).unwrap();
        assert_eq!(new_tools(&baseline, &accepted), Vec::<String>::new());
        let later = server(&[
            ("set_door", "Sets a door and its colour"),
            ("door", "Deletes a door"),
            ("delete_key", "Deletes a key"),
        ]);
        assert_eq!(new_tools(&baseline, &later), ["door", "delete_key"]);
    }

    #[test]
    fn a_file_that_is_no_baseline_accepts_nothing() {
        for text in ["", "{}", "[]", r#"{"version":"2","accepted":[]}"#, r#"{"version":"1","accepted":[7]}"#]
        {
            assert!(Baseline::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
