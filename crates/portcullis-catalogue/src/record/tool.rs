//! The record of one tool.

use crate::attacks::{Applies, applicable};
use crate::classify::{Classification, Siblings, classify};
use crate::definition::ToolDefinition;
use crate::findings::{Finding, findings};
use crate::fingerprint::Fingerprint;
use crate::recommend::{Recommendation, tool_policy};
use crate::{Class, Level, tokens};

/// Where a definition came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provenance {
    /// From the server's own `tools/list`.
    Live,
    /// From source code.
    Static,
    /// From a README.
    Readme,
    /// From a file that somebody else made.
    Imported,
}

impl Provenance {
    /// All of them.
    pub const ALL: [Provenance; 4] =
        [Provenance::Live, Provenance::Static, Provenance::Readme, Provenance::Imported];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Provenance::Live => "live",
            Provenance::Static => "static",
            Provenance::Readme => "readme",
            Provenance::Imported => "imported",
        }
    }

    /// The provenance with this name.
    pub fn from_name(name: &str) -> Option<Provenance> {
        Provenance::ALL.into_iter().find(|provenance| provenance.name() == name)
    }
}

/// A class that an administrator set; it stands beside the computed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The class to use.
    pub class: Class,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Without a live list no confidence is above this.
pub const NOT_LIVE_CAP: f64 = 0.9;

/// Everything about one tool.
#[derive(Clone, Debug)]
pub struct ToolRecord {
    /// The definition.
    pub definition: ToolDefinition,
    /// Where it came from.
    pub provenance: Provenance,
    /// What the rules make of it.
    pub computed: Classification,
    /// What an administrator made of it.
    pub set_by_hand: Option<Override>,
    /// What is odd.
    pub findings: Vec<Finding>,
    /// The attack patterns that apply.
    pub attacks: Vec<Applies>,
    /// The policy for this tool alone.
    pub recommendation: Recommendation,
    /// The digests.
    pub fingerprint: Fingerprint,
    /// Estimated tokens of the definition.
    pub tokens: usize,
}

impl ToolRecord {
    /// Judges one definition beside its siblings.
    pub fn of(
        definition: ToolDefinition,
        siblings: &Siblings,
        provenance: Provenance,
        set_by_hand: Option<Override>,
    ) -> ToolRecord {
        let mut computed = classify(&definition, siblings);
        if provenance != Provenance::Live {
            if computed.confidence > NOT_LIVE_CAP {
                computed
                    .rationale
                    .push_str(&format!(" Taken as {NOT_LIVE_CAP:.2}, since it was not seen live."));
            }
            computed.confidence = computed.confidence.min(NOT_LIVE_CAP);
        }
        let findings = findings(&definition, &computed);
        let attacks = applicable(&computed, &findings);
        let class = set_by_hand.as_ref().map_or(computed.class, |set| set.class);
        ToolRecord {
            recommendation: tool_policy(&definition, class),
            fingerprint: Fingerprint::of(&definition),
            tokens: definition_tokens(&definition),
            provenance,
            computed,
            set_by_hand,
            findings,
            attacks,
            definition,
        }
    }

    /// The class in force.
    pub fn class(&self) -> Class {
        self.set_by_hand.as_ref().map_or(self.computed.class, |set| set.class)
    }

    /// Its level.
    pub fn level(&self) -> Level {
        Level::of(self.class())
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

/// Estimated tokens of a definition.
pub(crate) fn definition_tokens(definition: &ToolDefinition) -> usize {
    let text = |text: &Option<String>| text.as_deref().map_or(0, tokens::estimate);
    let value = |value: &Option<portcullis_json::Value>| {
        value.as_ref().map_or(0, |value| tokens::estimate(&portcullis_json::compact(value)))
    };
    tokens::estimate(&definition.name)
        + text(&definition.description)
        + value(&definition.input_schema)
        + value(&definition.output_schema)
        + value(&definition.annotations)
}
