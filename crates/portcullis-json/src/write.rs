//! Values back to text: compact for the wire, laid out for people.

use crate::{Object, Value};

/// A line of a laid-out document is at most this long, unless one value alone is longer.
const LINE_CHARACTERS_MAX: usize = 100;
const INDENT: usize = 2;
/// Room for an ordinary message: most are written without asking for more.
const ORDINARY_BYTES: usize = 1024;

/// The value on one line, without white space.
pub fn compact(value: &Value) -> String {
    let mut out = String::with_capacity(ORDINARY_BYTES);
    write_compact(value, ("", ""), &mut out);
    out
}

/// Writes the object behind what is there, on one line and without white space.
pub fn push_object(object: &Object, out: &mut String) {
    write_object(object, ("", ""), out);
}

/// The value over several lines, for people: what fits stays on one line, the order of keys stays.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write_pretty(value, 0, 0, &mut out);
    out.push('\n');
    out
}

/// `gaps`: what follows a colon and a comma.
fn write_compact(value: &Value, gaps: (&str, &str), out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.spelling()),
        Value::String(text) => push_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                separate(index, gaps.1, out);
                write_compact(element, gaps, out);
            }
            out.push(']');
        }
        Value::Object(object) => write_object(object, gaps, out),
    }
}

fn write_object(object: &Object, gaps: (&str, &str), out: &mut String) {
    out.push('{');
    for (index, member) in object.iter().enumerate() {
        separate(index, gaps.1, out);
        push_string(&member.key, out);
        out.push(':');
        out.push_str(gaps.0);
        write_compact(&member.value, gaps, out);
    }
    out.push('}');
}

fn separate(index: usize, gap: &str, out: &mut String) {
    if index > 0 {
        out.push(',');
        out.push_str(gap);
    }
}

/// `column` is where the value starts on its line, `level` how deep it is.
fn write_pretty(value: &Value, level: usize, column: usize, out: &mut String) {
    let mut line = String::new();
    write_compact(value, (" ", " "), &mut line);
    // The top level always takes several lines: a policy on one line is no help to anybody.
    let fits = level > 0 && column + line.chars().count() < LINE_CHARACTERS_MAX;
    match value {
        Value::Array(elements) if !fits && !elements.is_empty() => pretty_array(elements, level, out),
        Value::Object(object) if !fits && !object.is_empty() => pretty_object(object, level, out),
        _ => out.push_str(&line),
    }
}

fn pretty_array(elements: &[Value], level: usize, out: &mut String) {
    out.push('[');
    for (index, element) in elements.iter().enumerate() {
        separate(index, "", out);
        new_line(level + 1, out);
        write_pretty(element, level + 1, (level + 1) * INDENT, out);
    }
    new_line(level, out);
    out.push(']');
}

fn pretty_object(object: &Object, level: usize, out: &mut String) {
    out.push('{');
    for (index, member) in object.iter().enumerate() {
        separate(index, "", out);
        new_line(level + 1, out);
        let start = out.len();
        push_string(&member.key, out);
        out.push_str(": ");
        let column = (level + 1) * INDENT + out.get(start..).map_or(0, |key| key.chars().count());
        write_pretty(&member.value, level + 1, column, out);
    }
    new_line(level, out);
    out.push('}');
}

fn new_line(level: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', level * INDENT));
}

/// Writes a string behind what is there.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    // To the end without a way out: so, many bytes are looked at in one step, and most strings need nothing else.
    if text.bytes().fold(true, |plain, byte| plain & !is_special(byte)) {
        out.push_str(text);
    } else {
        write_escaped(text, out);
    }
    out.push('"');
}

/// Whether this must not stand in a string as it is.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

fn write_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = special.chars();
        if let Some(character) = characters.next() {
            write_escape(character, out);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
}

fn write_escape(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        other => {
            let code = u32::from(other);
            out.push_str("\\u00");
            for shift in [4, 0] {
                out.extend(char::from_digit((code >> shift) & 0xf, 16));
            }
        }
    }
}

impl std::fmt::Display for Value {
    /// Compact.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&compact(self))
    }
}
