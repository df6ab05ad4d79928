//! The one form that equal values share, and its digest.
//!
//! Keys are sorted by code point, numbers are spelled by exact value (so `7` and `7.0` are one), there is
//! no white space. Approvals and policy versions are bound to digests of this form.

use sha2::{Digest as _, Sha256};

use crate::Value;
use crate::write::push_string;

/// SHA-256.
pub type Digest = [u8; 32];

/// The canonical text of a value: equal values, equal text.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// SHA-256 of the canonical text.
pub fn digest(value: &Value) -> Digest {
    Sha256::digest(canonical(value).as_bytes()).into()
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.decimal().canonical()),
        Value::String(text) => push_string(text, out),
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_canonical(element, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            // UTF-8 sorts by code point.
            members.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            out.push('{');
            for (index, member) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                push_string(&member.key, out);
                out.push(':');
                write_canonical(&member.value, out);
            }
            out.push('}');
        }
    }
}
