//! From a listing to rows: everything that takes time and no store, so that it can run beside the writer.

use std::collections::{BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::codes::{hints_code, signals_code};
use super::fault::Skipped;
use super::import::Listing;
use crate::classify::{Classification, Place, Siblings, classify_briefly};
use crate::definition::ToolDefinition;
use crate::fingerprint::Fingerprint;
use crate::inert::inert_short;
use crate::record::{NOT_LIVE_CAP, Provenance, definition_tokens};
use crate::words::{split_name, split_text};
use crate::{Class, severity};
use portcullis_json::Value;

/// Words of one tool that can be searched by.
const WORDS_MAX: usize = 48;
/// Bytes of a description that are read for words.
const WORDS_BYTES_MAX: usize = 1200;
/// Shorter words are noise.
pub(super) const WORD_BYTES_MIN: usize = 2;
/// Longer words are noise.
const WORD_BYTES_MAX: usize = 40;
/// Pieces of evidence that are kept.
const EVIDENCE_MAX: usize = 4;
/// Bytes of one place in a schema that are kept.
const PLACE_BYTES_MAX: usize = 120;
/// Bytes of parameter names that are kept.
const PARAMETERS_BYTES_MAX: usize = 400;
/// Words that are in every description and are not searched by.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= 5
        && matches!(
            word,
            "a" | "an"
                | "and"
                | "are"
                | "as"
                | "at"
                | "be"
                | "by"
                | "can"
                | "for"
                | "from"
                | "has"
                | "if"
                | "in"
                | "into"
                | "is"
                | "it"
                | "its"
                | "of"
                | "on"
                | "or"
                | "that"
                | "the"
                | "this"
                | "to"
                | "tool"
                | "use"
                | "used"
                | "using"
                | "when"
                | "which"
                | "will"
                | "with"
                | "you"
                | "your"
                | "all"
                | "any"
                | "not"
                | "one"
        )
}

/// One tool, ready to be stored.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) confidence: i64,
    pub(super) tokens: i64,
    pub(super) parameters: String,
    pub(super) evidence: String,
    pub(super) signals: i64,
    pub(super) hints: i64,
    pub(super) prints: Vec<u8>,
    pub(super) words: String,
}

/// A server, ready to be stored.
pub(super) struct Prepared {
    pub(super) listing: Listing,
    pub(super) rows: Vec<Row>,
    pub(super) skipped: Vec<Skipped>,
}

/// Classifies a listing.
pub(super) fn prepare(mut listing: Listing) -> Prepared {
    let tools = std::mem::take(&mut listing.tools);
    let siblings = Siblings::of(&listing.server.name, &tools);
    let mut seen = BTreeSet::new();
    let mut skipped = Vec::new();
    let mut rows = Vec::with_capacity(tools.len());
    for tool in &tools {
        if seen.insert(tool.name.as_str()) {
            rows.push(row(tool, &siblings, &listing));
        } else {
            let place =
                format!("{}/{}", inert_short(&listing.server.name, 100), inert_short(&tool.name, 100));
            skipped.push(Skipped::new(place, "the server lists this name twice; the first is kept"));
        }
    }
    Prepared { listing, rows, skipped }
}

fn row(tool: &ToolDefinition, siblings: &Siblings, listing: &Listing) -> Row {
    let found = classify_briefly(tool, siblings);
    let cap = if listing.provenance == Provenance::Live { 1.0 } else { NOT_LIVE_CAP };
    Row {
        name: tool.name.clone(),
        class: found.class,
        confidence: (found.confidence.min(cap) * 100.0).round() as i64,
        tokens: i64::try_from(definition_tokens(tool)).unwrap_or(i64::MAX),
        parameters: parameters(tool),
        evidence: evidence(&found),
        signals: signals_code(&found.signals),
        hints: hints_code(tool.hints),
        prints: prints(tool),
        words: words(tool, found.class, &listing.server.name),
    }
}

/// The shape of the parameters at the top, with blanks between: `name:type`, and `!` where one must be given.
fn parameters(tool: &ToolDefinition) -> String {
    let schema = tool.input_schema.as_ref();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let required = schema.and_then(|schema| schema.get("required")?.as_array()).unwrap_or_default();
    let mut out = String::new();
    for member in properties.into_iter().flatten() {
        let kind = member.value.get("type").and_then(Value::as_str).unwrap_or("any");
        if out.len() + member.key.len() + kind.len() + 2 >= PARAMETERS_BYTES_MAX {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(member.key.chars().map(|c| if c.is_whitespace() { '_' } else { c }));
        out.push(':');
        out.push_str(kind_word(kind));
        if required.iter().any(|name| name.as_str() == Some(member.key.as_str())) {
            out.push('!');
        }
    }
    out
}

/// The types of JSON Schema; whatever else stands there is not kept.
fn kind_word(kind: &str) -> &'static str {
    match kind {
        "string" => "string",
        "integer" => "integer",
        "number" => "number",
        "boolean" => "boolean",
        "array" => "array",
        "object" => "object",
        "null" => "null",
        _ => "any",
    }
}

/// Rule, place and offsets of the first pieces; the words themselves are not kept.
fn evidence(found: &Classification) -> String {
    let pieces = found.evidence.iter().take(EVIDENCE_MAX).map(|evidence| {
        let place = match &evidence.place {
            Place::Name => "n".to_owned(),
            Place::Description => "d".to_owned(),
            Place::Schema(pointer) => format!("s{}", place_word(pointer.as_str())),
            Place::Annotation(hint) => format!("a{hint}"),
            Place::Siblings => "b".to_owned(),
            Place::Absent => "-".to_owned(),
        };
        format!("{}:{place}:{}-{}", evidence.rule.code(), evidence.start, evidence.end)
    });
    pieces.collect::<Vec<_>>().join(" ")
}

/// A place as one short word.
fn place_word(pointer: &str) -> String {
    let word = crate::classify::front(pointer, PLACE_BYTES_MAX);
    word.replace(char::is_whitespace, "_")
}

/// Bytes of each part's digest that are kept: enough to notice a change, not to prove one.
const PRINT_BYTES: usize = 8;

/// The digest of the whole, then the first bytes of each part's.
fn prints(tool: &ToolDefinition) -> Vec<u8> {
    let fingerprint = Fingerprint::of(tool);
    let mut bytes = fingerprint.whole.to_vec();
    for part in fingerprint.parts {
        bytes.extend(part.iter().take(PRINT_BYTES));
    }
    bytes
}

/// Which parts differ between two stored prints.
pub(super) fn changed_parts(before: &[u8], after: &[u8]) -> Vec<&'static str> {
    let part = |bytes: &[u8], index: usize| {
        let from = 32 + index * PRINT_BYTES;
        bytes.get(from..from + PRINT_BYTES).map(<[u8]>::to_vec)
    };
    crate::fingerprint::Part::ALL
        .into_iter()
        .enumerate()
        .filter(|(index, _)| part(before, *index) != part(after, *index))
        .map(|(_, part)| part.field())
        .collect()
}

/// Whether two stored prints differ in the name at most, and say something.
pub(super) fn same_but_name(before: &[u8], after: &[u8]) -> bool {
    let blank = prints(&ToolDefinition::named(""));
    before.get(32..) == after.get(32..) && before.get(32..) != blank.get(32..)
}

/// The words to search by: the name whole and in parts, the server, the class and the level, the description.
pub(super) fn words(tool: &ToolDefinition, class: Class, server: &str) -> String {
    let name = tool.name.to_lowercase();
    let text = tool.description.as_deref().unwrap_or_default();
    let text = split_text(crate::classify::front(text, WORDS_BYTES_MAX), 4 * WORDS_MAX);
    let (of_name, of_server) = (split_name(&tool.name), split_name(server));
    let tokens = of_name.iter().chain(&of_server).chain(&text).map(|word| word.text.as_str());
    let mut seen = HashSet::<&str, FixedState>::default();
    let mut out = format!("{} {}", class_word(class), level_word(class));
    for word in std::iter::once(name.as_str()).chain(tokens) {
        let fits = (WORD_BYTES_MIN..=WORD_BYTES_MAX).contains(&word.len()) && seen.len() < WORDS_MAX;
        if fits && !is_stop_word(word) && seen.insert(word) {
            out.push(' ');
            out.push_str(word);
        }
    }
    out
}

/// The word under which tools of a class are found.
pub(super) fn class_word(class: Class) -> String {
    format!("class_{}", severity(class))
}

/// The word under which tools of a level are found.
pub(super) fn level_word(class: Class) -> String {
    format!("level_{}", crate::Level::of(class) as u8)
}
