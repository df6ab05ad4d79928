//! TOML, changed through a document that keeps its formatting.

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value};

use crate::document::{DocumentFault, Replacement};
use crate::entry::{Field, Fields, PROGRAM_KEYS, REMOTE_KEYS};
use crate::jsonc::FoundEntry;
use crate::redirect::Address;

/// A TOML file.
pub(crate) struct Table {
    document: DocumentMut,
}

impl Table {
    pub(crate) fn parse(text: &str) -> Result<Table, DocumentFault> {
        let parsed: Result<DocumentMut, toml_edit::TomlError> = text.parse();
        let document = parsed.map_err(|error| {
            let place = error.span().map(|span| line_of(text, span.start));
            let place = place.map(|line| format!("line {line}: ")).unwrap_or_default();
            // The parser's message alone: its long form quotes the line, and with it perhaps a secret.
            DocumentFault::Syntax(format!("{place}{}", error.message()))
        })?;
        Ok(Table { document })
    }

    pub(crate) fn text(&self) -> String {
        self.document.to_string()
    }

    pub(crate) fn entries(&self, sections: &[&[&str]]) -> Vec<FoundEntry> {
        let mut found = Vec::new();
        for section in sections {
            let mut table: Option<&dyn TableLike> = Some(self.document.as_table());
            for key in *section {
                table = table.and_then(|table| table.get(key)).and_then(Item::as_table_like);
            }
            let above: Vec<String> = section.iter().map(|key| (*key).to_owned()).collect();
            for (name, item) in table.into_iter().flat_map(TableLike::iter) {
                if let Some(entry) = item.as_table_like() {
                    found.push((above.clone(), name.to_owned(), fields(entry)));
                }
            }
        }
        found
    }

    pub(crate) fn replace(
        &mut self,
        section: &[String],
        name: &str,
        with: &Replacement,
    ) -> Result<(), DocumentFault> {
        let entry = self.entry(section, name)?;
        for key in REMOTE_KEYS {
            entry.remove(key);
        }
        set(entry, "command", with.command.as_str().into());
        set(entry, "args", Value::Array(with.arguments.iter().map(String::as_str).collect()));
        if !with.environment.is_empty() {
            let environment =
                entry.entry("env").or_insert_with(|| Item::Value(Value::InlineTable(Default::default())));
            if let Some(environment) = environment.as_table_like_mut() {
                for (key, value) in &with.environment {
                    set(environment, key, value.reveal().into());
                }
            }
        }
        if !with.variables.is_empty() {
            let variables =
                entry.entry("env_vars").or_insert_with(|| Item::Value(Value::Array(Array::new())));
            if let Some(list) = variables.as_array_mut() {
                list.extend(with.variables.iter().map(String::as_str));
            }
        }
        Ok(())
    }

    pub(crate) fn redirect(
        &mut self,
        section: &[String],
        name: &str,
        to: &Address<'_>,
    ) -> Result<(), DocumentFault> {
        let entry = self.entry(section, name)?;
        for key in REMOTE_KEYS.iter().chain(&PROGRAM_KEYS).filter(|key| **key != to.url_key) {
            entry.remove(key);
        }
        set(entry, to.url_key, to.url.into());
        let headers: InlineTable =
            to.headers.iter().map(|(name, value)| (*name, Value::from(value.as_str()))).collect();
        set(entry, to.headers_key, Value::InlineTable(headers));
        Ok(())
    }

    pub(crate) fn restore(
        &mut self,
        section: &[String],
        name: &str,
        original: &Table,
    ) -> Result<(), DocumentFault> {
        let mut before = Some(original.document.as_item());
        for key in section.iter().map(String::as_str).chain([name]) {
            before = before.and_then(|item| item.get(key));
        }
        let before = before.cloned().ok_or_else(|| vanished(name))?;
        let mut now = Some(self.document.as_item_mut());
        for key in section.iter().map(String::as_str).chain([name]) {
            now = now.and_then(|item| item.get_mut(key));
        }
        *now.ok_or_else(|| vanished(name))? = before;
        Ok(())
    }

    fn entry(&mut self, section: &[String], name: &str) -> Result<&mut dyn TableLike, DocumentFault> {
        let mut item = Some(self.document.as_item_mut());
        for key in section.iter().map(String::as_str).chain([name]) {
            item = item.and_then(|item| item.get_mut(key));
        }
        item.and_then(Item::as_table_like_mut).ok_or_else(|| vanished(name))
    }
}

/// Keeps the blanks and the comment around a value that was there.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(present) => {
            *value.decor_mut() = present.decor().clone();
            *present = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

fn vanished(name: &str) -> DocumentFault {
    DocumentFault::Syntax(format!("server `{name}` is no longer there"))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn fields(entry: &dyn TableLike) -> Fields {
    entry.iter().map(|(name, item)| (name.to_owned(), field(item))).collect()
}

fn field(item: &Item) -> Field {
    if let Some(text) = item.as_str() {
        return Field::Text(text.to_owned());
    }
    if let Some(flag) = item.as_bool() {
        return Field::Flag(flag);
    }
    if let Some(list) = item.as_array() {
        let texts = list.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<_>>();
        return texts.map_or(Field::Other, Field::Texts);
    }
    let pairs = item.as_table_like().and_then(|table| {
        table
            .iter()
            .map(|(key, item)| item.as_str().map(|value| (key.to_owned(), value.to_owned())))
            .collect()
    });
    pairs.map_or(Field::Other, Field::Map)
}
