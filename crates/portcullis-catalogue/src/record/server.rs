//! The record of a server: its tools, counts, grade, cost and the three policies.

use super::grade::{Grade, Graded, Posture, grade};
use super::questions::{Question, questions};
use super::tool::{Provenance, ToolRecord};
use crate::Class;
use crate::attacks::applicable;
use crate::classify::Siblings;
use crate::definition::ToolDefinition;
use crate::findings::{AcrossFinding, FINDINGS_MAX, Finding, FindingKind};
use crate::level::severity;
use crate::recommend::{Profile, Recommendation, server_policy};

/// Tools named as the most dangerous.
pub const DANGEROUS_MAX: usize = 5;
/// Siblings named on a tool's page.
pub const RELATED_MAX: usize = 8;

/// What is known of a server beside its tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// Its version, if known.
    pub version: Option<String>,
    /// Where its source is, if known.
    pub repository: Option<String>,
    /// How it is reached and kept.
    pub posture: Posture,
}

/// Everything about one server.
#[derive(Clone, Debug)]
pub struct ServerRecord {
    /// What is known beside the tools.
    pub facts: ServerFacts,
    /// The tools, in the order of the list.
    pub tools: Vec<ToolRecord>,
    /// What is odd about the server itself.
    pub findings: Vec<Finding>,
    /// The grade.
    pub grade: Grade,
}

impl ServerRecord {
    /// Judges all tools of a server.
    pub fn of(facts: ServerFacts, tools: Vec<ToolDefinition>, provenance: Provenance) -> ServerRecord {
        let siblings = Siblings::of(&facts.name, &tools);
        let tools: Vec<ToolRecord> =
            tools.into_iter().map(|tool| ToolRecord::of(tool, &siblings, provenance, None)).collect();
        ServerRecord::of_records(facts, tools)
    }

    /// Puts records of tools together.
    pub fn of_records(facts: ServerFacts, tools: Vec<ToolRecord>) -> ServerRecord {
        let graded: Vec<Graded> = tools.iter().map(graded).collect();
        ServerRecord { grade: grade(&graded, facts.posture), facts, tools, findings: Vec::new() }
    }

    /// Adds what a comparison with other servers found.
    pub fn add_across(&mut self, found: &[AcrossFinding]) {
        for (tool, finding) in found.iter().filter_map(|found| found.about(&self.facts.name)) {
            let Some(name) = tool else {
                self.findings.push(finding);
                continue;
            };
            let tool = self.tools.iter_mut().find(|tool| tool.name() == name);
            if let Some(tool) = tool.filter(|tool| tool.findings.len() < FINDINGS_MAX) {
                tool.findings.push(finding);
                tool.attacks = applicable(&tool.computed, &tool.findings);
            }
        }
        self.findings.truncate(FINDINGS_MAX);
    }

    /// Every finding with its tool; those without one are about the server itself.
    pub fn all_findings(&self) -> Vec<(Option<&ToolRecord>, &Finding)> {
        let of_tools =
            self.tools.iter().flat_map(|tool| tool.findings.iter().map(move |finding| (Some(tool), finding)));
        self.findings.iter().map(|finding| (None, finding)).chain(of_tools).collect()
    }

    /// How many tools of a class there are.
    pub fn count(&self, class: Class) -> usize {
        self.tools.iter().filter(|tool| tool.class() == class).count()
    }

    /// How many tools change something.
    pub fn mutating(&self) -> usize {
        self.tools.len() - self.count(Class::Read)
    }

    /// How many tools came from where; only those that occur.
    pub fn by_provenance(&self) -> Vec<(Provenance, usize)> {
        let count = |wanted| self.tools.iter().filter(|tool| tool.provenance == wanted).count();
        Provenance::ALL.into_iter().map(|from| (from, count(from))).filter(|(_, count)| *count > 0).collect()
    }

    /// The gravest tools, the surest first among equals; no Read ones.
    pub fn most_dangerous(&self) -> Vec<&ToolRecord> {
        let mut tools: Vec<&ToolRecord> =
            self.tools.iter().filter(|tool| tool.class() != Class::Read).collect();
        tools.sort_by(|a, b| {
            let grave = severity(b.class()).cmp(&severity(a.class()));
            grave.then(b.computed.confidence.total_cmp(&a.computed.confidence)).then(a.name().cmp(b.name()))
        });
        tools.truncate(DANGEROUS_MAX);
        tools
    }

    /// Estimated tokens of all definitions.
    pub fn tokens(&self) -> usize {
        self.tools.iter().map(|tool| tool.tokens).sum()
    }

    /// Tokens saved when only the `count` cheapest tools are granted.
    pub fn saved_with(&self, count: usize) -> usize {
        let mut costs: Vec<usize> = self.tools.iter().map(|tool| tool.tokens).collect();
        costs.sort_unstable();
        costs.iter().skip(count).sum()
    }

    /// The policy of a profile.
    pub fn policy(&self, profile: Profile) -> Recommendation {
        server_policy(self.tools.iter().map(|tool| (&tool.definition, tool.class())), profile)
    }

    /// The six questions about one of its tools.
    pub fn questions(&self, tool: &ToolRecord) -> Vec<Question> {
        questions(tool, &self.facts.name, self.facts.repository.as_deref())
    }

    /// Other tools of the server that say most about one: those of the same class first.
    pub fn related(&self, tool: &ToolRecord) -> Vec<&ToolRecord> {
        let mut others: Vec<&ToolRecord> =
            self.tools.iter().filter(|other| other.name() != tool.name()).collect();
        others.sort_by_key(|other| (other.class() != tool.class(), other.name().to_owned()));
        others.truncate(RELATED_MAX);
        others
    }
}

fn graded(tool: &ToolRecord) -> Graded {
    let injection = tool.findings.iter().any(|finding| {
        matches!(
            finding.kind,
            FindingKind::HiddenCharacters | FindingKind::Instructions | FindingKind::SecretPlace
        ) && finding.level >= crate::Level::High
    });
    Graded {
        class: tool.class(),
        mismatch: tool.computed.hint_contradicts,
        injection,
        live: tool.provenance == Provenance::Live,
    }
}
