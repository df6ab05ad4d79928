//! The writer: one event, or a comment that keeps a connection open.

use std::fmt;

use super::Event;

/// An event whose name or id would break out of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwritableField;

impl fmt::Display for UnwritableField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name or id of an event must not contain line breaks or NUL")
    }
}

impl std::error::Error for UnwritableField {}

/// The event as text, with the blank line that ends it.
///
/// A line break inside `data` is written as a new `data` line, so that it comes back as a line feed.
pub fn write_event(event: &Event) -> Result<String, UnwritableField> {
    let mut out = String::with_capacity(event.data.len() + 32);
    for (field, value) in [("event", &event.name), ("id", &event.id)] {
        if let Some(value) = value {
            if value.contains(['\r', '\n', '\0']) {
                return Err(UnwritableField);
            }
            line(field, value, &mut out);
        }
    }
    if let Some(retry_ms) = event.retry_ms {
        line("retry", &retry_ms.to_string(), &mut out);
    }
    let data = event.data.replace("\r\n", "\n");
    for piece in data.split(['\r', '\n']) {
        line("data", piece, &mut out);
    }
    out.push('\n');
    Ok(out)
}

/// A comment: ignored by every reader, keeps the connection open.
pub fn comment() -> &'static str {
    ":\n\n"
}

fn line(field: &str, value: &str, out: &mut String) {
    out.push_str(field);
    out.push_str(": ");
    out.push_str(value);
    out.push('\n');
}
