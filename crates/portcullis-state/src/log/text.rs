//! Strings on their way into a stored line: bounded, and plain ASCII.
//!
//! Whatever is not printable ASCII is written as `\uXXXX`. So a line is one line, `cat` shows nothing that
//! moves the cursor, turns the direction of text round or hides, and no reader can see a line break that
//! another does not. Reading the JSON gives the string back. Only `line.rs` calls this.

/// Writes `text` as a JSON string; what exceeds `characters_max` is replaced by an ellipsis.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str, characters_max: usize) {
    out.push(b'"');
    // Nearly every string is plain, short and needs no look at each character.
    if text.len() <= characters_max && is_all_plain(text) {
        out.extend_from_slice(text.as_bytes());
    } else {
        push_escaped(out, text, characters_max);
    }
    out.push(b'"');
}

fn push_escaped(out: &mut Vec<u8>, text: &str, characters_max: usize) {
    let mut characters = text.chars();
    for character in characters.by_ref().take(characters_max) {
        push_character(out, character);
    }
    if characters.next().is_some() {
        push_character(out, '…');
    }
}

/// To the end in any case: without a way out in between, many bytes are looked at in one step.
fn is_all_plain(text: &str) -> bool {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

fn push_character(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        ' '..='~' => out.push(character as u8),
        other => {
            let mut units = [0; 2];
            for unit in other.encode_utf16(&mut units) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_json::{Limits, Value, parse};

    fn stored(text: &str, characters_max: usize) -> String {
        let mut out = Vec::new();
        push_string(&mut out, text, characters_max);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_but_printable_ascii_is_stored_and_nothing_is_lost() {
        let nasty = "a\r\n{\"seq\":1}\u{1b}[2J\u{85}\u{202e}\u{2028}\u{200b}\u{e0041}ü\u{7f}\u{0}\\\"";
        let line = stored(nasty, 100);
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
        let read = parse(line.as_bytes(), &Limits::message()).unwrap();
        assert_eq!(read, Value::from(nasty));
    }

    #[test]
    fn too_long_is_cut_visibly() {
        assert_eq!(stored("abcdef", 3), "\"abc\\u2026\"");
        assert_eq!(stored("abc", 3), "\"abc\"");
        assert_eq!(stored("äöü", 3), "\"\\u00e4\\u00f6\\u00fc\"");
    }
}
