//! What there is to look at on a server, one by one: each tool that changes something, and each finding.

use super::server::ServerRecord;
use super::tool::ToolRecord;
use crate::findings::Finding;
use crate::{Class, Level};

/// One thing to look at.
#[derive(Clone, Debug)]
pub struct Risk<'a> {
    /// The class (`class-execute`) or the kind of finding.
    pub rule: String,
    /// The tool; nothing where it is about the server itself.
    pub tool: Option<&'a ToolRecord>,
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

impl Risk<'_> {
    /// The name of the tool; empty where it is about the server itself.
    pub fn tool_name(&self) -> &str {
        self.tool.map(ToolRecord::name).unwrap_or_default()
    }
}

impl ServerRecord {
    /// Everything there is to look at: of the server itself, then in the order of the tools.
    pub fn risks(&self) -> Vec<Risk<'_>> {
        let own = self.findings.iter().map(|finding| of_finding(None, finding));
        own.chain(self.tools.iter().flat_map(risks)).collect()
    }
}

fn risks(tool: &ToolRecord) -> Vec<Risk<'_>> {
    let class = (tool.class() != Class::Read).then(|| Risk {
        rule: class_rule(tool.class()),
        tool: Some(tool),
        level: tool.level(),
        place: "",
        says: &tool.computed.rationale,
    });
    let findings = tool.findings.iter().map(|finding| of_finding(Some(tool), finding));
    class.into_iter().chain(findings).collect()
}

fn of_finding<'a>(tool: Option<&'a ToolRecord>, finding: &'a Finding) -> Risk<'a> {
    Risk {
        rule: finding.kind.name().to_owned(),
        tool,
        level: finding.level,
        place: finding.spot.place.as_str(),
        says: &finding.says,
    }
}
