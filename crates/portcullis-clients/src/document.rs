//! A client's file: read as bytes, its servers found, and written again with some of them changed.
//!
//! Byte order mark, line ends, indentation, comments and everything that is no changed server survive.

use crate::entry::{Entry, Hidden, entry};
use crate::jsonc::Jsonc;
use crate::places::{Format, Place};
use crate::redirect::Address;
use crate::table::Table;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What a client is to start instead of, or in front of, what it starts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    /// To be added to the entry's environment.
    pub(crate) environment: Vec<(String, Hidden)>,
    /// Variables of the client's own environment that it has to pass on, where it asks to be told.
    pub(crate) variables: Vec<String>,
}

/// A file of a client, understood.
pub struct Document {
    client: crate::Client,
    sections: &'static [&'static [&'static str]],
    marked: bool,
    body: Body,
}

enum Body {
    Json(Jsonc),
    Toml(Table),
}

/// Why a file was not understood.
#[derive(Debug, thiserror::Error)]
pub enum DocumentFault {
    /// Bytes that are no text.
    #[error("it is not UTF-8")]
    NotText,
    /// Text of another format.
    #[error("{0}")]
    Syntax(String),
}

impl Document {
    /// Reads the file of this place. An empty file has no servers.
    pub fn read(place: &Place, bytes: &[u8]) -> Result<Document, DocumentFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| DocumentFault::NotText)?;
        let (marked, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let body = match place.format {
            Format::Json => Body::Json(Jsonc::parse(text)?),
            Format::Toml => Body::Toml(Table::parse(text)?),
        };
        Ok(Document { client: place.client, sections: place.sections, marked, body })
    }

    /// The servers in it, in its order.
    pub fn entries(&self) -> Vec<Entry> {
        let found = match &self.body {
            Body::Json(json) => json.entries(self.sections),
            Body::Toml(table) => table.entries(self.sections),
        };
        let read =
            |(section, name, fields): (Vec<String>, String, _)| entry(self.client, section, name, &fields);
        found.into_iter().map(read).collect()
    }

    /// Puts something else in the place of what the client starts for one server.
    pub(crate) fn replace(&mut self, entry: &Entry, with: &Replacement) -> Result<(), DocumentFault> {
        match &mut self.body {
            Body::Json(json) => json.replace(&entry.section, &entry.name, with),
            Body::Toml(table) => table.replace(&entry.section, &entry.name, with),
        }
    }

    /// Puts an address in the place of what the client starts or reaches for one server.
    pub(crate) fn redirect(&mut self, entry: &Entry, to: &Address<'_>) -> Result<(), DocumentFault> {
        match &mut self.body {
            Body::Json(json) => json.redirect(&entry.section, &entry.name, to),
            Body::Toml(table) => table.redirect(&entry.section, &entry.name, to),
        }
    }

    /// Puts one server back as another reading of the file has it.
    pub(crate) fn restore(&mut self, entry: &Entry, original: &Document) -> Result<(), DocumentFault> {
        match (&mut self.body, &original.body) {
            (Body::Json(json), Body::Json(original)) => json.restore(&entry.section, &entry.name, original),
            (Body::Toml(table), Body::Toml(original)) => table.restore(&entry.section, &entry.name, original),
            _ => Err(DocumentFault::Syntax("its format changed".to_owned())),
        }
    }

    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let text = match &self.body {
            Body::Json(json) => json.text().to_owned(),
            Body::Toml(table) => table.text(),
        };
        let mark = if self.marked { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{text}").into_bytes()
    }
}
