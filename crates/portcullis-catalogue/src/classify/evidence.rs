//! What a classification rests on: each piece points at the exact words or schema place.

use portcullis_json::Pointer;

use super::rules::RuleId;
use crate::Class;

/// Longest quoted text; what is longer is cut at a character.
pub const QUOTE_BYTES_MAX: usize = 120;

/// Where a piece of evidence stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The tool's name.
    Name,
    /// The description.
    Description,
    /// A place in the input schema.
    Schema(Pointer),
    /// A stated hint.
    Annotation(&'static str),
    /// Other tools of the same server.
    Siblings,
    /// Nothing in the definition: what is missing is the evidence.
    Absent,
}

impl Place {
    /// In a word, for tables.
    pub fn label(&self) -> String {
        match self {
            Place::Name => "name".to_owned(),
            Place::Description => "description".to_owned(),
            Place::Schema(pointer) => pointer.to_string(),
            Place::Annotation(hint) => format!("annotations.{hint}"),
            Place::Siblings => "other tools".to_owned(),
            Place::Absent => "definition".to_owned(),
        }
    }
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The rule that found it.
    pub rule: RuleId,
    /// Where.
    pub place: Place,
    /// First byte, in the text at `place`.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// The words themselves, as published and perhaps cut. Not to be shown before it was made inert.
    pub quote: String,
    /// The class it speaks for; `None` for a signal.
    pub votes: Option<Class>,
    /// What it says, in our words.
    pub says: String,
}

/// The part of `text` between two bytes, cut to [`QUOTE_BYTES_MAX`].
pub(crate) fn quote(text: &str, start: usize, end: usize) -> String {
    let mut stop = end.min(start + QUOTE_BYTES_MAX);
    while stop > start && !text.is_char_boundary(stop) {
        stop -= 1;
    }
    text.get(start..stop).unwrap_or_default().to_owned()
}

/// Something about the tool that matters to a rule or an attack pattern, beside its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// Takes code, SQL, a shell command or an expression (S1).
    FreeFormCode,
    /// Takes a file path (S3).
    Path,
    /// Takes a URL or host (S4).
    Url,
    /// Takes HTML or a template (S5).
    HtmlTemplate,
    /// Has twelve parameters or more (S6).
    ManyParameters,
    /// Takes a recipient (S7).
    Recipient,
    /// Takes an amount or a currency (S8).
    Amount,
    /// Has a force or recursive flag (S9).
    Force,
    /// Takes or returns secrets (S10).
    Secret,
    /// The vendor says that it may overwrite (A1).
    Overwrites,
    /// Text from strangers may come back.
    UntrustedText,
    /// Something is written beside what the class says, such as a screenshot file.
    SideFile,
    /// The description claims that nothing is changed (D3).
    ClaimsReadOnly,
    /// Money is spoken of.
    Money,
    /// Something is removed for good.
    Removal,
}

impl Signal {
    /// All of them, in the order of their codes.
    pub const ALL: [Signal; 15] = [
        Signal::FreeFormCode,
        Signal::Path,
        Signal::Url,
        Signal::HtmlTemplate,
        Signal::ManyParameters,
        Signal::Recipient,
        Signal::Amount,
        Signal::Force,
        Signal::Secret,
        Signal::Overwrites,
        Signal::UntrustedText,
        Signal::SideFile,
        Signal::ClaimsReadOnly,
        Signal::Money,
        Signal::Removal,
    ];

    /// The signal with this name.
    pub fn from_name(name: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Signal::FreeFormCode => "free-form-code",
            Signal::Path => "path",
            Signal::Url => "url",
            Signal::HtmlTemplate => "html-template",
            Signal::ManyParameters => "many-parameters",
            Signal::Recipient => "recipient",
            Signal::Amount => "amount",
            Signal::Force => "force",
            Signal::Secret => "secret",
            Signal::Overwrites => "overwrites",
            Signal::UntrustedText => "untrusted-text",
            Signal::SideFile => "side-file",
            Signal::ClaimsReadOnly => "claims-read-only",
            Signal::Money => "money",
            Signal::Removal => "removal",
        }
    }
}
