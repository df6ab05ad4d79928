//! Characters that people do not see, and names that look like others.

use portcullis_json::Pointer;

use super::{Finding, FindingKind, finding};
use crate::Level;
use crate::inert::{inert_short, is_hidden};

/// One finding per text: the first hidden character, and how many there are.
pub(super) fn hidden(place: &Pointer, text: &str, found: &mut Vec<Finding>) {
    let mut first = None;
    let mut count = 0_usize;
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        if is_hidden(character) && !is_joined_emoji(previous, character) {
            first.get_or_insert((at, character));
            count += 1;
        }
        previous = character;
    }
    let Some((at, character)) = first else { return };
    let end = at + character.len_utf8();
    if character == '\u{1b}' || character == '\u{9b}' {
        let says = format!("a terminal escape, {}", in_all(count));
        found.push(finding(FindingKind::ActiveMarkup, Level::High, place, at, end, says));
    } else {
        let says = format!("U+{:04X}, {}", u32::from(character), in_all(count));
        found.push(finding(FindingKind::HiddenCharacters, Level::High, place, at, end, says));
    }
}

/// Emoji are joined and styled with invisible characters; behind one of them they hide nothing.
fn is_joined_emoji(previous: char, character: char) -> bool {
    let joins = matches!(character, '\u{fe0f}' | '\u{fe0e}' | '\u{200d}');
    let pictures = matches!(u32::from(previous), 0x2190..=0x2bff | 0x1f000..=0x1faff | 0x23..=0x39 | 0xa9 | 0xae | 0xfe0f | 0x3030);
    joins && pictures
}

/// A name outside of letters, digits and the usual separators, or one that mixes scripts.
pub(super) fn odd_name(name: &str, found: &mut Vec<Finding>) {
    let usual = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let odd = name.char_indices().find(|(_, c)| !usual(*c));
    let place = Pointer::root().key("name");
    if let Some((at, character)) = odd {
        let says = format!("the name holds `{}`", inert_short(&character.to_string(), 1));
        let end = at + character.len_utf8();
        found.push(finding(FindingKind::OddName, Level::Low, &place, at, end, says));
    }
    let latin = name.chars().any(|c| c.is_ascii_alphabetic());
    let look_alike = name.char_indices().find(|(_, c)| super::across::latin_twin(*c).is_some());
    if let (true, Some((at, character))) = (latin, look_alike) {
        let says = format!("`{character}` is not the Latin letter it looks like");
        let end = at + character.len_utf8();
        found.push(finding(FindingKind::OddName, Level::High, &place, at, end, says));
    }
}

fn in_all(count: usize) -> String {
    format!("{count} hidden character{} in all", if count == 1 { "" } else { "s" })
}
