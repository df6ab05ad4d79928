//! YAML 1.2 (core schema) to the same values that the JSON reader gives.
//!
//! The same strictness: one document, no key twice, no key that is not a string, exact numbers, bounded
//! size and depth. What would let a small text become a large value, or mean something that JSON cannot
//! say (aliases, merge keys, other tags, infinities), is refused. Policy tests and the import read through
//! here; policies themselves are JSON.

mod scalar;

use std::fmt;

use portcullis_json::{Limits, Member, Object, Place, Pointer, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

/// Text that is not YAML as it is read here, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlFault {
    /// What is wrong, and what to do.
    pub message: String,
    /// Where it shows.
    pub place: Place,
}

impl fmt::Display for YamlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{} (line {line}, column {column})", self.message)
    }
}

impl std::error::Error for YamlFault {}

/// Reads one YAML document of at most 1 MiB, at most 64 deep.
pub fn yaml_to_value(source: &[u8]) -> Result<Value, YamlFault> {
    read(source).map(|(value, _)| value)
}

/// Where the parts of a document stand, in the shape of the document.
#[derive(Debug)]
pub(crate) struct Places {
    /// Of the key, where there is one.
    place: Place,
    /// A scalar without quotes, as it was written.
    plain: Option<String>,
    children: Vec<Places>,
}

impl Places {
    /// The place that `pointer` leads to, or the deepest one on its way.
    pub(crate) fn find(&self, document: &Value, pointer: &Pointer) -> Place {
        let (mut places, mut value) = (self, document);
        for step in pointer.steps() {
            match child(value, &step).and_then(|(index, next)| Some((places.children.get(index)?, next))) {
                Some(deeper) => (places, value) = deeper,
                None => break,
            }
        }
        places.place
    }

    /// The part that `pointer` leads to, if it is there.
    pub(crate) fn below(&self, document: &Value, pointer: &Pointer) -> Option<&Places> {
        let mut found = (self, document);
        for step in pointer.steps() {
            let (index, value) = child(found.1, &step)?;
            found = (found.0.children.get(index)?, value);
        }
        Some(found.0)
    }

    /// The first scalar without quotes here or below that is `odd`.
    pub(crate) fn find_plain(&self, odd: fn(&str) -> bool) -> Option<(&str, Place)> {
        match &self.plain {
            Some(plain) if odd(plain) => Some((plain, self.place)),
            _ => self.children.iter().find_map(|child| child.find_plain(odd)),
        }
    }
}

fn child<'v>(value: &'v Value, step: &str) -> Option<(usize, &'v Value)> {
    match value {
        Value::Object(object) => object
            .iter()
            .enumerate()
            .find(|(_, member)| member.key == step)
            .map(|(index, member)| (index, &member.value)),
        Value::Array(elements) => {
            let index = step.parse().ok()?;
            Some((index, elements.get(index)?))
        }
        _ => None,
    }
}

/// Reads a document, and where everything in it stands.
pub(crate) fn read(source: &[u8]) -> Result<(Value, Places), YamlFault> {
    let text = readable(source)?;
    let mut reader = Reader { parser: Parser::new_from_str(text), depth: 0 };
    reader.document()
}

/// The text, if it is one that YAML may consist of.
fn readable(source: &[u8]) -> Result<&str, YamlFault> {
    let at = |offset: usize, message: &str| YamlFault {
        message: message.to_owned(),
        place: Place::of(source, offset),
    };
    let bytes_max = Limits::document().bytes_max;
    if source.len() > bytes_max {
        return Err(at(bytes_max, &format!("larger than {bytes_max} bytes")));
    }
    let text = std::str::from_utf8(source)
        .map_err(|error| at(error.valid_up_to(), "not valid UTF-8; save it as UTF-8"))?;
    if text.starts_with('\u{feff}') {
        let message = "starts with a byte order mark; save it as UTF-8 without one";
        return Err(at(0, message));
    }
    // The parser takes a NUL for the end of the input: what follows would be passed over in silence.
    let control = |byte: &u8| *byte < 0x20 && !b"\t\n\r".contains(byte);
    match source.iter().position(control) {
        Some(offset) => Err(at(offset, "a control character must be escaped")),
        None => Ok(text),
    }
}

/// A value, and where its parts stand.
type Read = Result<(Value, Places), YamlFault>;

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlFault> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(scan_fault(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Read {
        let (mut event, mut span) = self.next()?;
        while matches!(event, Event::StreamStart | Event::DocumentStart(_)) {
            (event, span) = self.next()?;
        }
        if event == Event::StreamEnd {
            return Err(fault(&span, "there is no YAML value here, the input is empty"));
        }
        let read = self.node(event, &span)?;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(read),
                (Event::DocumentEnd, _) => {}
                (_, span) => {
                    let message = "a second document starts here; keep one to a file";
                    return Err(fault(&span, message));
                }
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Read {
        match event {
            Event::Scalar(text, style, _, tag) => {
                let value = scalar(&text, style, tag.as_deref(), span)?;
                let mut places = places(span, Vec::new());
                places.plain = (style == ScalarStyle::Plain).then(|| text.into_owned());
                Ok((value, places))
            }
            Event::SequenceStart(_, tag) => {
                expect_tag(tag.as_deref(), "seq", span)?;
                self.nested(span, Self::sequence)
            }
            Event::MappingStart(_, tag) => {
                expect_tag(tag.as_deref(), "map", span)?;
                self.nested(span, Self::mapping)
            }
            Event::Alias(_) => {
                let message = "aliases (`*name`) are not read; write the value out here";
                Err(fault(span, message))
            }
            _ => Err(fault(span, "a value is missing here")),
        }
    }

    fn nested(&mut self, span: &Span, inner: fn(&mut Self, &Span) -> Read) -> Read {
        let depth_max = Limits::document().depth_max;
        if self.depth == depth_max {
            return Err(fault(span, format!("nested deeper than {depth_max}")));
        }
        self.depth += 1;
        let read = inner(self, span)?;
        self.depth -= 1;
        Ok(read)
    }

    fn sequence(&mut self, start: &Span) -> Read {
        let (mut elements, mut children) = (Vec::new(), Vec::new());
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => {
                    return Ok((Value::Array(elements), places(start, children)));
                }
                (event, span) => {
                    let (value, place) = self.node(event, &span)?;
                    elements.push(value);
                    children.push(place);
                }
            }
        }
    }

    fn mapping(&mut self, start: &Span) -> Read {
        let (mut members, mut children) = (Vec::new(), Vec::new());
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = key(event, &span)?;
            let (event, value_span) = self.next()?;
            let (value, below) = self.node(event, &value_span)?;
            members.push(Member { key: key.into(), value });
            children.push(Places { place: place(&span.start), ..below });
        }
        match Object::from_members(members) {
            Ok(object) => Ok((Value::Object(object), places(start, children))),
            Err((index, key)) => Err(YamlFault {
                message: format!("duplicate key `{}`", key.escape_debug()),
                place: children.get(index).map_or_else(|| place(&start.start), |child| child.place),
            }),
        }
    }
}

fn key(event: Event<'_>, span: &Span) -> Result<String, YamlFault> {
    let (text, style, tag) = match event {
        Event::Scalar(text, style, _, tag) => (text, style, tag),
        Event::Alias(_) => {
            let message = "aliases (`*name`) are not read; a key that starts with `*` needs quotes";
            return Err(fault(span, message));
        }
        _ => {
            return Err(fault(span, "a key must be a string, not a list or a mapping"));
        }
    };
    if style == ScalarStyle::Plain && text == "<<" {
        let message = "merge keys (`<<`) are no part of YAML 1.2; write the fields out";
        return Err(fault(span, message));
    }
    match scalar(&text, style, tag.as_deref(), span)? {
        Value::String(key) => Ok(key),
        other => Err(fault(
            span,
            format!(
                "a key must be a string, and `{text}` is {}; put it in quotes",
                other.kind().with_article()
            ),
        )),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Result<Value, YamlFault> {
    let read = match tag.map(core_tag) {
        None if style == ScalarStyle::Plain => scalar::plain(text),
        None => Ok(Value::from(text)),
        Some(Some(name)) => scalar::tagged(text, &name),
        Some(None) => return Err(unknown_tag(tag, span)),
    };
    read.map_err(|message| fault(span, message))
}

/// The name of a tag that the core schema has.
fn core_tag(tag: &Tag) -> Option<String> {
    let whole = format!("{}{}", tag.handle, tag.suffix);
    whole.strip_prefix("tag:yaml.org,2002:").map(str::to_owned)
}

fn expect_tag(tag: Option<&Tag>, wanted: &str, span: &Span) -> Result<(), YamlFault> {
    match tag {
        Some(known) if core_tag(known).as_deref() != Some(wanted) => Err(unknown_tag(tag, span)),
        _ => Ok(()),
    }
}

fn unknown_tag(tag: Option<&Tag>, span: &Span) -> YamlFault {
    let shown = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
    let shown = shown.unwrap_or_default();
    fault(span, format!("the tag `{}` does not belong here; leave it out", shown.escape_debug()))
}

fn places(span: &Span, children: Vec<Places>) -> Places {
    Places { place: place(&span.start), plain: None, children }
}

/// The parser counts lines from 1 and columns from 0.
fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

fn fault(span: &Span, message: impl Into<String>) -> YamlFault {
    YamlFault { message: message.into(), place: place(&span.start) }
}

fn scan_fault(error: &ScanError) -> YamlFault {
    YamlFault { message: format!("not YAML: {}", error.info()), place: place(error.marker()) }
}

#[cfg(test)]
mod tests;
