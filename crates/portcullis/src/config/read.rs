//! Values of the file with their places: each reader says what it wanted and where it did not find it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use portcullis_state::Secret;
use toml_edit::{Document as Toml, Item, TableLike};

use super::fault::ConfigFault;
use super::keys::{self, Key};
use super::secret;

/// The parsed file.
pub(crate) struct Document {
    path: PathBuf,
    toml: Toml<String>,
}

impl Document {
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Document, ConfigFault> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| ConfigFault::anywhere(format!("`{}` is not UTF-8 text", path.display())))?;
        let toml = Toml::parse(text.to_owned()).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            ConfigFault::at(path, text, offset, error.message().trim_end())
        })?;
        Ok(Document { path: path.to_owned(), toml })
    }

    pub(crate) fn root(&self) -> Section<'_> {
        Section { document: self, table: self.toml.as_table(), start: 0 }
    }
}

/// One table of the file.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    document: &'a Document,
    table: &'a dyn TableLike,
    /// Where it starts, for faults about something that is not there.
    start: usize,
}

impl<'a> Section<'a> {
    /// A fault at the value of `key`, or at the table's start where there is none.
    pub(crate) fn fault(&self, key: &str, message: impl AsRef<str>) -> ConfigFault {
        let span = self.table.get(key).and_then(Item::span);
        self.fault_at(span.map_or(self.start, |span| span.start), message.as_ref())
    }

    fn fault_at(&self, offset: usize, message: &str) -> ConfigFault {
        ConfigFault::at(&self.document.path, self.document.toml.raw(), offset, message)
    }

    /// Refuses a key that nobody knows; the message names the nearest.
    pub(crate) fn check_keys(&self, known: &[Key]) -> Result<(), ConfigFault> {
        for (name, _) in self.table.iter() {
            if !known.iter().any(|key| key.name == name) {
                let span = self.table.key(name).and_then(toml_edit::Key::span);
                let offset = span.map_or(self.start, |span| span.start);
                return Err(self.fault_at(offset, &keys::unknown(name, known)));
            }
        }
        Ok(())
    }

    /// The names in this table, with a section that has only that name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.table.iter().map(|(name, _)| name)
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigFault> {
        match self.table.get(key) {
            None => Ok(None),
            Some(item) => {
                item.as_str().map(Some).ok_or_else(|| self.fault(key, format!("`{key}` must be a text")))
            }
        }
    }

    pub(crate) fn required(&self, key: &str) -> Result<&'a str, ConfigFault> {
        self.text(key)?.ok_or_else(|| self.fault_at(self.start, &format!("`{key}` is missing here")))
    }

    pub(crate) fn parsed<T: FromStr>(&self, key: &str, wanted: &str) -> Result<Option<T>, ConfigFault> {
        match self.text(key)? {
            None => Ok(None),
            Some(text) => {
                text.parse().map(Some).map_err(|_| self.fault(key, format!("`{key}` must be {wanted}")))
            }
        }
    }

    pub(crate) fn word(&self, key: &str, words: &[&str]) -> Result<Option<&'a str>, ConfigFault> {
        match self.text(key)? {
            Some(text) if !words.contains(&text) => {
                Err(self.fault(key, format!("`{key}` must be one of `{}`", words.join("`, `"))))
            }
            found => Ok(found),
        }
    }

    pub(crate) fn whole(&self, key: &str, from: u64) -> Result<Option<u64>, ConfigFault> {
        let Some(item) = self.table.get(key) else {
            return Ok(None);
        };
        let number = item.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = number.filter(|number| *number >= from);
        let wanted = || self.fault(key, format!("`{key}` must be a whole number, at least {from}"));
        number.map(Some).ok_or_else(wanted)
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, ConfigFault> {
        match self.table.get(key) {
            None => Ok(None),
            Some(item) => item
                .as_bool()
                .map(Some)
                .ok_or_else(|| self.fault(key, format!("`{key}` must be `true` or `false`"))),
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ConfigFault> {
        let Some(item) = self.table.get(key) else {
            return Ok(None);
        };
        let wanted = || self.fault(key, format!("`{key}` must be a list of texts"));
        let array = item.as_array().ok_or_else(wanted)?;
        let texts: Option<_> = array.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        texts.map(Some).ok_or_else(wanted)
    }

    /// A path, relative to the file.
    pub(crate) fn path(&self, key: &str) -> Result<Option<PathBuf>, ConfigFault> {
        Ok(self.text(key)?.map(|path| self.beside(path)))
    }

    /// A path as the file means it.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.document.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// What `env:NAME` or `file:PATH` stands for, or the text itself.
    pub(crate) fn secret(&self, key: &str) -> Result<Secret, ConfigFault> {
        let text = self.required(key)?;
        secret::resolve(text, |path| self.beside(path)).map_err(|message| self.fault(key, message))
    }

    /// A table in this one.
    pub(crate) fn section(&self, key: &str) -> Result<Option<Section<'a>>, ConfigFault> {
        let Some(item) = self.table.get(key) else {
            return Ok(None);
        };
        let wanted = || self.fault(key, format!("`{key}` must be a table"));
        let table = item.as_table_like().ok_or_else(wanted)?;
        Ok(Some(self.inner(table, item.span())))
    }

    /// The tables under `[[key]]`.
    pub(crate) fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, ConfigFault> {
        let Some(item) = self.table.get(key) else {
            return Ok(Vec::new());
        };
        let wanted = || self.fault(key, format!("write each of them as `[[{key}]]`"));
        let tables = item.as_array_of_tables().ok_or_else(wanted)?;
        Ok(tables.iter().map(|table| self.inner(table, table.span())).collect())
    }

    fn inner(&self, table: &'a dyn TableLike, span: Option<std::ops::Range<usize>>) -> Section<'a> {
        Section { document: self.document, table, start: span.map_or(self.start, |span| span.start) }
    }
}

/// The policies and secrets that a file names, as far as it can be read at all.
pub(crate) fn files_named(path: &Path, text: &str) -> Vec<PathBuf> {
    let Ok(document) = Document::parse(path, text.as_bytes()) else {
        return Vec::new();
    };
    let root = document.root();
    let lists = ["policies", "grants", "servers"].map(|list| root.sections(list).unwrap_or_default());
    let mut named = Vec::new();
    for section in lists.into_iter().flatten() {
        named.extend(section.path("file").ok().flatten());
        let tables = ["headers", "env"].map(|table| section.section(table).ok().flatten());
        let of_tables = tables.iter().flatten().flat_map(|table| table.names().map(|name| table.text(name)));
        for text in of_tables.chain([section.text("token")]).filter_map(|text| text.ok().flatten()) {
            named.extend(text.strip_prefix("file:").map(|path| section.beside(path)));
        }
    }
    named
}
