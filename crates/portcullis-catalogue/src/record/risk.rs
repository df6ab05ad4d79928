//! What there is to look at on a server, one by one: each tool that changes something, and each finding.

use super::server::ServerRecord;
use super::tool::ToolRecord;
use crate::{Class, Level};

/// One thing to look at.
#[derive(Clone, Debug)]
pub struct Risk<'a> {
    /// The class (`class-execute`) or the kind of finding.
    pub rule: String,
    /// The tool.
    pub tool: &'a ToolRecord,
    /// How grave.
    pub level: Level,
    /// Where in the definition; empty for the class.
    pub place: &'a str,
    /// What it is. Not to be shown before it was made inert.
    pub says: &'a str,
}

/// The rule under which a class is reported.
pub(crate) fn class_rule(class: Class) -> String {
    format!("class-{}", class.name().to_lowercase())
}

impl ServerRecord {
    /// Everything there is to look at, in the order of the tools.
    pub fn risks(&self) -> Vec<Risk<'_>> {
        self.tools.iter().flat_map(risks).collect()
    }
}

fn risks(tool: &ToolRecord) -> Vec<Risk<'_>> {
    let class = (tool.class() != Class::Read).then(|| Risk {
        rule: class_rule(tool.class()),
        tool,
        level: tool.level(),
        place: "",
        says: &tool.computed.rationale,
    });
    let findings = tool.findings.iter().map(|finding| Risk {
        rule: finding.kind.name().to_owned(),
        tool,
        level: finding.level,
        place: finding.spot.place.as_str(),
        says: &finding.says,
    });
    class.into_iter().chain(findings).collect()
}
