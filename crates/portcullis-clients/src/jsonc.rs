//! JSON with comments and trailing commas, changed by replacing ranges of its text.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use portcullis_json::compact;

use crate::document::{DocumentFault, Replacement};
use crate::entry::{Field, Fields, PROGRAM_KEYS, REMOTE_KEYS, URL_KEYS};
use crate::redirect::Address;

/// The text of a file that is known to parse.
pub(crate) struct Jsonc {
    text: String,
}

/// Where a server is, what it is called, and its fields.
pub(crate) type FoundEntry = (Vec<String>, String, Fields);

impl Jsonc {
    pub(crate) fn parse(text: &str) -> Result<Jsonc, DocumentFault> {
        tree(text)?;
        Ok(Jsonc { text: text.to_owned() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn entries(&self, sections: &[&[&str]]) -> Vec<FoundEntry> {
        let Ok(Some(Value::Object(root))) = tree(&self.text) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for section in sections {
            walk(&root, section, Vec::new(), &mut found);
        }
        found
    }

    /// Writes what is to be started instead, in the place of what is started or reached now.
    pub(crate) fn replace(
        &mut self,
        section: &[String],
        name: &str,
        with: &Replacement,
    ) -> Result<(), DocumentFault> {
        let edits = self.in_entry(section, name, |writer| writer.edits(with))?;
        self.apply(edits)
    }

    /// Writes an address, in the place of what is started or reached now.
    pub(crate) fn redirect(
        &mut self,
        section: &[String],
        name: &str,
        to: &Address<'_>,
    ) -> Result<(), DocumentFault> {
        let edits = self.in_entry(section, name, |writer| writer.address_edits(to))?;
        self.apply(edits)
    }

    pub(crate) fn restore(
        &mut self,
        section: &[String],
        name: &str,
        original: &Jsonc,
    ) -> Result<(), DocumentFault> {
        let before = {
            let root = tree(&original.text)?;
            let value = find(root.as_ref(), section, name).ok_or_else(|| vanished(name))?;
            slice(&original.text, span(value)).to_owned()
        };
        let place = {
            let root = tree(&self.text)?;
            span(find(root.as_ref(), section, name).ok_or_else(|| vanished(name))?)
        };
        self.apply(vec![(place, before)])
    }

    fn in_entry(
        &self,
        section: &[String],
        name: &str,
        edits: impl FnOnce(&Writer<'_>) -> Edits,
    ) -> Result<Edits, DocumentFault> {
        let root = tree(&self.text)?;
        let object = find(root.as_ref(), section, name).and_then(Value::as_object);
        let object = object.ok_or_else(|| vanished(name))?;
        Ok(edits(&Writer { text: &self.text, object }))
    }

    /// Ranges do not overlap; the last one first, so that the others stay where they are.
    fn apply(&mut self, mut edits: Edits) -> Result<(), DocumentFault> {
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.clone();
        for (range, with) in edits {
            text.replace_range(range, &with);
        }
        tree(&text)?;
        self.text = text;
        Ok(())
    }
}

fn vanished(name: &str) -> DocumentFault {
    DocumentFault::Syntax(format!("server `{name}` is no longer there"))
}

fn tree(text: &str) -> Result<Option<Value<'_>>, DocumentFault> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &collect, &options);
    // The parser's message names line and column, and none of the values.
    parsed.map(|parsed| parsed.value).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        DocumentFault::Syntax(format!("line {line}, column {column}: {}", error.kind()))
    })
}

fn walk(object: &Object<'_>, section: &[&str], above: Vec<String>, found: &mut Vec<FoundEntry>) {
    let Some((key, below)) = section.split_first() else {
        for property in &object.properties {
            if let Value::Object(entry) = &property.value {
                found.push((above.clone(), property.name.as_str().to_owned(), fields(entry)));
            }
        }
        return;
    };
    for property in &object.properties {
        let name = property.name.as_str();
        if let (true, Value::Object(inner)) = (*key == "*" || *key == name, &property.value) {
            walk(inner, below, above.iter().cloned().chain([name.to_owned()]).collect(), found);
        }
    }
}

fn find<'a, 't>(root: Option<&'a Value<'t>>, section: &[String], name: &str) -> Option<&'a Value<'t>> {
    let mut value = root?;
    for key in section.iter().map(String::as_str).chain([name]) {
        value = &value.as_object()?.get(key)?.value;
    }
    Some(value)
}

fn fields(entry: &Object<'_>) -> Fields {
    entry
        .properties
        .iter()
        .map(|property| (property.name.as_str().to_owned(), field(&property.value)))
        .collect()
}

fn field(value: &Value<'_>) -> Field {
    let text = |value: &Value<'_>| value.as_string_lit().map(|text| text.value.to_string());
    match value {
        Value::StringLit(text) => Field::Text(text.value.to_string()),
        Value::BooleanLit(flag) => Field::Flag(flag.value),
        Value::Array(list) => {
            list.elements.iter().map(text).collect::<Option<_>>().map_or(Field::Other, Field::Texts)
        }
        Value::Object(map) => {
            let pairs = map.properties.iter().map(|property| {
                text(&property.value).map(|value| (property.name.as_str().to_owned(), value))
            });
            pairs.collect::<Option<_>>().map_or(Field::Other, Field::Map)
        }
        Value::NumberLit(_) | Value::NullKeyword(_) => Field::Other,
    }
}

fn span(node: &impl jsonc_parser::common::Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// Makes the edits of one server.
struct Writer<'a> {
    text: &'a str,
    object: &'a Object<'a>,
}

type Edits = Vec<(Range<usize>, String)>;

impl Writer<'_> {
    fn edits(&self, with: &Replacement) -> Edits {
        let command = quote(&with.command);
        let arguments = quote_all(&with.arguments);
        let mut edits = Edits::new();
        if let Some(property) = self.object.get("command") {
            edits.push((span(&property.value), command));
            match self.object.get("args") {
                Some(present) => edits.push((span(&present.value), arguments)),
                None => edits.push(self.after(property, &format!("\"args\": {arguments}"))),
            }
        } else if let Some(property) = self.address() {
            let both = format!("\"command\": {command}{}\"args\": {arguments}", self.separator());
            edits.push((span(property), both));
        }
        if let Some(kind) = self.object.get("type") {
            edits.push((span(&kind.value), quote("stdio")));
        }
        self.environment(with, &mut edits);
        edits
    }

    /// What an address alone has goes; the first of its headers' fields becomes the environment.
    fn environment(&self, with: &Replacement, edits: &mut Edits) {
        let added: Vec<String> =
            with.environment.iter().map(|(key, value)| pair(key, value.reveal())).collect();
        let mut left = (!added.is_empty()).then(|| added.join(", "));
        if let Some(Value::Object(present)) = self.object.get("env").map(|property| &property.value)
            && let Some(added) = left.take()
        {
            let at = span(present).start + 1;
            let comma = if present.properties.is_empty() { "" } else { ", " };
            edits.push((at..at, format!("{added}{comma}")));
        }
        let address = self.address().map(|property| property.name.as_str());
        let of_address = |name: &str| REMOTE_KEYS.contains(&name) && Some(name) != address;
        let mut kept = None;
        if let Some(added) = left
            && let Some(property) = self.object.properties.iter().find(|p| of_address(p.name.as_str()))
        {
            edits.push((span(property), format!("\"env\": {{{added}}}")));
            kept = Some(property.name.as_str());
        }
        self.remove(|name| of_address(name) && Some(name) != kept, edits);
    }

    /// The address takes the place of the command, or of the address that was there.
    fn address_edits(&self, to: &Address<'_>) -> Edits {
        let mut edits = Edits::new();
        let headers: Vec<String> = to.headers.iter().map(|(name, value)| pair(name, value)).collect();
        let headers = format!("{}: {{{}}}", quote(to.headers_key), headers.join(", "));
        let mut fields = vec![pair(to.url_key, to.url), headers];
        match (self.object.get("type"), to.kind) {
            (Some(kind), _) => edits.push((span(&kind.value), quote("http"))),
            (None, Some(kind)) => fields.insert(0, pair("type", kind)),
            (None, None) => {}
        }
        let place = self.object.get("command").or_else(|| self.address());
        let kept = place.map(|property| property.name.as_str());
        if let Some(place) = place {
            edits.push((span(place), fields.join(&self.separator())));
        }
        let goes = |name: &str| REMOTE_KEYS.contains(&name) || PROGRAM_KEYS.contains(&name);
        self.remove(|name| goes(name) && Some(name) != kept, &mut edits);
        edits
    }

    fn address(&self) -> Option<&ObjectProp<'_>> {
        URL_KEYS.iter().find_map(|key| self.object.get(key))
    }

    fn after(&self, property: &ObjectProp<'_>, text: &str) -> (Range<usize>, String) {
        let end = span(property).end;
        (end..end, format!("{}{text}", self.separator()))
    }

    /// Between two fields: as it is before the first one.
    fn separator(&self) -> String {
        let start = span(self.object).start + 1;
        let first = self.object.properties.first().map_or(start, |property| span(property).start);
        let before = slice(self.text, start..first);
        match before.rfind('\n') {
            Some(line) => {
                let line_end = if before.contains("\r\n") { "\r\n" } else { "\n" };
                let indent: String =
                    slice(before, line + 1..before.len()).chars().filter(|c| c.is_whitespace()).collect();
                format!(",{line_end}{indent}")
            }
            None => ", ".to_owned(),
        }
    }

    /// Takes fields out: each run of neighbours together with the comma behind it, or, at the end, with the one
    /// before.
    fn remove(&self, goes: impl Fn(&str) -> bool, edits: &mut Edits) {
        let fields: Vec<(Range<usize>, bool)> =
            self.object.properties.iter().map(|p| (span(p), goes(p.name.as_str()))).collect();
        let mut before: Option<usize> = None;
        let mut run: Option<usize> = None;
        for (range, goes) in &fields {
            match (*goes, run) {
                (true, None) => run = Some(range.start),
                (true, Some(_)) => {}
                (false, started) => {
                    edits.extend(started.map(|start| (start..range.start, String::new())));
                    (run, before) = (None, Some(range.end));
                }
            }
        }
        if let (Some(start), Some((last, _))) = (run, fields.last()) {
            edits.push((before.unwrap_or(start)..last.end, String::new()));
        }
    }
}

fn quote(text: &str) -> String {
    compact(&text.into())
}

fn quote_all(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}

fn pair(key: &str, value: &str) -> String {
    format!("{}: {}", quote(key), quote(value))
}
