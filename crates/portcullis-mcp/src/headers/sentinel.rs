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
    match text.strip_prefix(OPEN) {
        Some(rest) => {
            let encoded = rest.strip_suffix(CLOSE)?;
            String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
        }
        None => is_plain(text).then(|| text.to_owned()),
    }
}

/// Visible ASCII and blanks, no outer blanks, nothing that looks encoded.
fn is_plain(value: &str) -> bool {
    let visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    visible && value.trim_matches(' ') == value && !value.starts_with(OPEN)
}
