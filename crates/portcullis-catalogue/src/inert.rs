//! Making text of strangers harmless to show.
//!
//! Control characters, terminal escapes, bidirectional and invisible characters become visible marks.
//! Every renderer sends foreign text through here first and then escapes for its own format.

use std::fmt::Write as _;

/// The text with everything that could act, hide or reorder made visible as `\u{…}`. Newlines and tabs become
/// spaces, so the result is one line.
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => out.push(' '),
            _ if is_hidden(character) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out
}

/// JSON text with the same characters written as JSON escapes: it stays the same JSON.
pub fn inert_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// The same, cut to so many characters with a mark where it was cut.
pub fn inert_short(text: &str, characters_max: usize) -> String {
    let mut cut: String = text.chars().take(characters_max).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    inert(&cut)
}

/// Whether a character is invisible, acts on the terminal or changes the order of others.
pub fn is_hidden(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t')
        || matches!(character,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_becomes_visible() {
        assert_eq!(inert("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(inert("x\u{202e}y\u{200b}z"), "x\\u{202e}y\\u{200b}z");
        assert_eq!(inert("one\ntwo"), "one two");
        assert_eq!(inert("grüße 文"), "grüße 文");
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(inert_short("abcdef", 3), "abc…");
        assert_eq!(inert_short("abc", 3), "abc");
    }
}
