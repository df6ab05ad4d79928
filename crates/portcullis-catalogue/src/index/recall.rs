//! From the index back to a full record: out of kept definitions where there are any, otherwise out of the facts.
//!
//! The facts hold no word of a description, so a record made from them says less; it says that too.

use std::collections::BTreeMap;

use portcullis_json::{Digest, Object, Pointer, Value};

use super::fault::IndexFault;
use super::search::{Entry, HITS_MAX, Search};
use super::{Index, ServerRow};
use crate::attacks::applicable;
use crate::classify::{Classification, Evidence, Place, RULES, Siblings};
use crate::definition::ToolDefinition;
use crate::findings::findings;
use crate::fingerprint::{Fingerprint, Part, unhex};
use crate::recommend::tool_policy;
use crate::record::{Override, Provenance, ServerFacts, ServerRecord, ToolRecord};
use crate::{Class, Level};

/// The overrides of a server, by tool.
pub(super) type Overrides = BTreeMap<String, Override>;

impl Index {
    /// Every tool of a server.
    pub fn tools_of(&self, server: &str) -> Result<Vec<Entry>, IndexFault> {
        let mut search = Search { server: Some(server.to_owned()), most: HITS_MAX, ..Search::default() };
        let mut all = Vec::new();
        loop {
            let page = self.search(&search)?;
            let is_last = page.len() < HITS_MAX;
            search.after = page.last().map_or(0, |last| last.id);
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The record of a server as far as it is known.
    pub(super) fn record(&self, row: &ServerRow, overrides: &Overrides) -> Result<ServerRecord, IndexFault> {
        let entries = self.tools_of(&row.name)?;
        let facts = ServerFacts {
            name: row.name.clone(),
            version: row.version.clone(),
            repository: row.repository.clone(),
            ..ServerFacts::default()
        };
        let tools = match self.kept(&row.name)?.pop() {
            Some(kept) => of_definitions(&row.name, kept.tools, &entries, overrides),
            None => entries.iter().map(|entry| of_facts(entry, overrides.get(&entry.tool))).collect(),
        };
        Ok(ServerRecord::of_records(facts, tools))
    }
}

fn of_definitions(
    server: &str,
    tools: Vec<ToolDefinition>,
    entries: &[Entry],
    overrides: &Overrides,
) -> Vec<ToolRecord> {
    let siblings = Siblings::of(server, &tools);
    let seen: BTreeMap<&str, Provenance> =
        entries.iter().map(|entry| (entry.tool.as_str(), entry.provenance)).collect();
    let record = |tool: ToolDefinition| {
        let provenance = seen.get(tool.name.as_str()).copied().unwrap_or(Provenance::Imported);
        let set = overrides.get(&tool.name).cloned();
        ToolRecord::of(tool, &siblings, provenance, set)
    };
    tools.into_iter().map(record).collect()
}

fn of_facts(entry: &Entry, set: Option<&Override>) -> ToolRecord {
    let definition = definition(entry);
    let computed = classification(entry);
    let findings = findings(&definition, &computed);
    let class = set.map_or(entry.class, |set| set.class);
    ToolRecord {
        recommendation: tool_policy(&definition, class),
        attacks: applicable(&computed, &findings),
        fingerprint: fingerprint(entry),
        tokens: usize::try_from(entry.tokens).unwrap_or_default(),
        provenance: entry.provenance,
        set_by_hand: set.cloned(),
        findings,
        computed,
        definition,
    }
}

/// Only the digest of the whole is known in full.
fn fingerprint(entry: &Entry) -> Fingerprint {
    let whole: Option<Digest> = unhex(&entry.fingerprint).and_then(|bytes| bytes.try_into().ok());
    Fingerprint { whole: whole.unwrap_or_default(), parts: [Digest::default(); Part::ALL.len()] }
}

/// The shape of the definition: names and kinds of parameters, and what the vendor states.
fn definition(entry: &Entry) -> ToolDefinition {
    let (mut properties, mut required) = (Object::new(), Vec::new());
    for parameter in entry.parameters.split_whitespace() {
        let bare = parameter.trim_end_matches('!');
        let (name, kind) = bare.rsplit_once(':').unwrap_or((bare, "any"));
        let property = if kind == "any" { Object::new() } else { Object::new().with("type", kind) };
        properties.insert(name, Value::Object(property));
        if parameter.ends_with('!') {
            required.push(Value::from(name));
        }
    }
    let schema =
        Object::new().with("type", "object").with("properties", properties).with("required", required);
    let stated = entry.hints.stated();
    let tool = ToolDefinition::named(&entry.tool).with_schema(Value::Object(schema));
    if stated.is_empty() {
        return tool;
    }
    let hints = stated.into_iter().fold(Object::new(), |hints, (name, says)| hints.with(name, says));
    tool.annotated(Value::Object(hints))
}

fn classification(entry: &Entry) -> Classification {
    let evidence: Vec<Evidence> =
        entry.evidence.split_whitespace().filter_map(|piece| evidence(piece, entry)).collect();
    let rules: Vec<String> = evidence
        .iter()
        .map(|evidence| format!("{} ({})", evidence.rule.code(), evidence.place.label()))
        .collect();
    let by = if rules.is_empty() { String::new() } else { format!(" by {}", rules.join(", ")) };
    Classification {
        class: entry.class,
        confidence: entry.confidence,
        evidence,
        signals: entry.signals.clone(),
        rationale: format!(
            "{}, level {}{by}. The index keeps no descriptions: scan the server to see the words that this rests on.",
            entry.class.name(),
            Level::of(entry.class).name()
        ),
        hint_contradicts: entry.hints.read_only == Some(true) && entry.class != Class::Read,
    }
}

/// `RULE:PLACE:START-END`, as the index writes it.
fn evidence(piece: &str, entry: &Entry) -> Option<Evidence> {
    let (code, rest) = piece.split_once(':')?;
    let (place, range) = rest.rsplit_once(':')?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (start.parse().ok()?, end.parse().ok()?);
    let rule = RULES.iter().find(|rule| rule.code == code)?;
    let place = place_of(place)?;
    // The name is all that can be quoted.
    let quote = if place == Place::Name { entry.tool.get(start..end).unwrap_or_default() } else { "" };
    Some(Evidence {
        rule: rule.id,
        place,
        start,
        end,
        quote: quote.to_owned(),
        votes: None,
        says: rule.meaning.to_owned(),
    })
}

fn place_of(text: &str) -> Option<Place> {
    let hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    let (kind, rest) = text.split_at_checked(1)?;
    Some(match kind {
        "n" => Place::Name,
        "d" => Place::Description,
        "b" => Place::Siblings,
        "-" => Place::Absent,
        "s" => {
            let steps = rest.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
            Place::Schema(steps.fold(Pointer::root(), |pointer, step| pointer.key(&step)))
        }
        "a" => Place::Annotation(hints.into_iter().find(|hint| *hint == rest)?),
        _ => return None,
    })
}
