//! Findings beside the class: what is odd, hidden or contradictory in a definition.
//!
//! A finding never changes a class. All searches are linear in bounded text.

mod across;
mod instructions;
mod schema;
mod unicode;

use portcullis_json::Pointer;

pub use across::{AcrossFinding, Listed, SERVERS_MAX, across, looks_like, skeleton, squats};

use crate::Level;
use crate::classify::{Classification, short_place};
use crate::definition::ToolDefinition;

/// Bytes of one text that are searched; a longer one gets a finding of its own.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Findings that are kept for one tool.
pub const FINDINGS_MAX: usize = 64;
/// A description above this is remarkable by itself.
const LONG_DESCRIPTION_BYTES: usize = 16 * 1024;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// Invisible, control or reordering characters.
    HiddenCharacters,
    /// A name that mixes scripts or holds odd characters.
    OddName,
    /// Words that give orders to the model.
    Instructions,
    /// Tools of other servers are named.
    OtherTools,
    /// A tool of another server has the same name.
    NameCollision,
    /// A tool of another server has a name that is easily mistaken for this one.
    LookAlikeTool,
    /// The server's name is easily mistaken for another's.
    LookAlikeServer,
    /// A place that holds secrets is named.
    SecretPlace,
    /// The schema refers to something outside of itself.
    RemoteReference,
    /// The schema refers to itself, or is nested deeper than is looked at.
    RecursiveSchema,
    /// More parameters, choices or bytes than are looked at.
    TooLarge,
    /// A default or constant in the schema that carries a text to pass on.
    LoadedDefault,
    /// The vendor's hints contradict the definition.
    AnnotationMismatch,
    /// Markup or terminal escapes in text that is shown to people.
    ActiveMarkup,
}

impl FindingKind {
    /// All of them.
    pub const ALL: [FindingKind; 14] = [
        FindingKind::HiddenCharacters,
        FindingKind::OddName,
        FindingKind::Instructions,
        FindingKind::OtherTools,
        FindingKind::NameCollision,
        FindingKind::LookAlikeTool,
        FindingKind::LookAlikeServer,
        FindingKind::SecretPlace,
        FindingKind::RemoteReference,
        FindingKind::RecursiveSchema,
        FindingKind::TooLarge,
        FindingKind::LoadedDefault,
        FindingKind::AnnotationMismatch,
        FindingKind::ActiveMarkup,
    ];

    /// The word for it, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::HiddenCharacters => "hidden-characters",
            FindingKind::OddName => "odd-name",
            FindingKind::Instructions => "instructions-to-the-model",
            FindingKind::OtherTools => "names-other-tools",
            FindingKind::NameCollision => "name-collision",
            FindingKind::LookAlikeTool => "look-alike-tool",
            FindingKind::LookAlikeServer => "look-alike-server",
            FindingKind::SecretPlace => "names-a-secret-place",
            FindingKind::RemoteReference => "remote-reference",
            FindingKind::RecursiveSchema => "recursive-schema",
            FindingKind::TooLarge => "too-large",
            FindingKind::LoadedDefault => "loaded-default",
            FindingKind::AnnotationMismatch => "annotation-mismatch",
            FindingKind::ActiveMarkup => "active-markup",
        }
    }

    /// What it means, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            FindingKind::HiddenCharacters => "the text holds characters that people do not see and models do",
            FindingKind::OddName => "the name can be mistaken for another",
            FindingKind::Instructions => "the text gives orders to the model instead of describing the tool",
            FindingKind::OtherTools => "the text speaks of tools that belong to other servers",
            FindingKind::NameCollision => {
                "another server has a tool of the same name, and an agent may call either"
            }
            FindingKind::LookAlikeTool => "another server has a tool that is easily mistaken for this one",
            FindingKind::LookAlikeServer => "the name of the server is easily mistaken for another's",
            FindingKind::SecretPlace => "the text names a place where secrets are kept",
            FindingKind::RemoteReference => "the schema can change without the definition changing",
            FindingKind::RecursiveSchema => "the schema cannot be read to its end",
            FindingKind::TooLarge => "only a part of the definition was read",
            FindingKind::LoadedDefault => "a default value carries a text of its own to the tool",
            FindingKind::AnnotationMismatch => "what the vendor states and what the definition says differ",
            FindingKind::ActiveMarkup => "the text holds markup or terminal escapes",
        }
    }
}

/// Where a finding stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The place in the definition.
    pub place: Pointer,
    /// First byte of the text there.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Spot {
    /// The place as it is shown.
    pub fn label(&self) -> String {
        short_place(&self.place)
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// How grave.
    pub level: Level,
    /// Where.
    pub spot: Spot,
    /// What it is, in our words; text of the definition only inside backticks and made inert.
    pub says: String,
}

/// Everything that is odd about one definition.
pub fn findings(tool: &ToolDefinition, class: &Classification) -> Vec<Finding> {
    let mut found = Vec::new();
    unicode::odd_name(&tool.name, &mut found);
    for (place, text) in texts(tool) {
        look_at_text(&place, text, &mut found);
    }
    schema::look(tool, &mut found);
    if class.hint_contradicts {
        found.push(mismatch(class));
    }
    found.truncate(FINDINGS_MAX);
    found
}

fn look_at_text(place: &Pointer, text: &str, found: &mut Vec<Finding>) {
    let is_description = place.as_str() == "/description";
    if text.len() > TEXT_BYTES_MAX || (is_description && text.len() > LONG_DESCRIPTION_BYTES) {
        let says = format!("a text of {} bytes", text.len());
        found.push(finding(FindingKind::TooLarge, Level::Medium, place, 0, text.len(), says));
    }
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end).unwrap_or_default();
    unicode::hidden(place, text, found);
    instructions::look(place, text, found);
}

pub(crate) fn finding(
    kind: FindingKind,
    level: Level,
    place: &Pointer,
    start: usize,
    end: usize,
    says: String,
) -> Finding {
    let spot = Spot { place: place.clone(), start, end };
    Finding { kind, level, spot, says }
}

fn mismatch(class: &Classification) -> Finding {
    let place = Pointer::root().key("annotations").key("readOnlyHint");
    let says = format!("`readOnlyHint` is true on a tool of class {}", class.class.name());
    finding(FindingKind::AnnotationMismatch, class.level(), &place, 0, 0, says)
}

/// The texts that a model reads, with their places; bounded by the number of parameters.
fn texts(tool: &ToolDefinition) -> Vec<(Pointer, &str)> {
    let root = Pointer::root();
    let mut texts = vec![(root.key("name"), tool.name.as_str())];
    texts.extend(tool.title.as_deref().map(|title| (root.key("title"), title)));
    texts.extend(tool.description.as_deref().map(|text| (root.key("description"), text)));
    for parameter in tool.parameters() {
        texts.push((parameter.place.clone(), parameter.name));
        if let Some(text) = parameter.description {
            texts.push((parameter.place.key("description"), text));
        }
    }
    texts
}
