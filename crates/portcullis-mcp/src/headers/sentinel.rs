//! `=?base64?…?=`: how a value that no header can hold is written in one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The value as it stands in a header: plain if it can be, else encoded.
pub fn encode(value: &str) -> String {
    if is_plain(value) {
        return value.to_owned();
    }
    format!("{OPEN}{}{CLOSE}", STANDARD.encode(value))
}

/// The value that a header's text stands for; none if no sender could have meant it.
pub fn decode(header: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(header).ok()?;
    match text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        // With one mark and not the other it is not encoded, and means itself.
        None => is_visible(text).then(|| text.to_owned()),
    }
}

/// Nothing that a reader could take for encoded, not even in part.
fn is_plain(value: &str) -> bool {
    is_visible(value) && !value.starts_with(OPEN)
}

/// Visible ASCII and blanks, no outer blanks.
fn is_visible(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim_matches(' ') == value
}
