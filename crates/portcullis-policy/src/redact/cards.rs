//! Payment card numbers: 13 to 19 digits, alone or in groups, of a known issuer and with a right check digit.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::matches::{Replaced, compiled};

/// Digits, with single spaces or dashes between them.
static RUN: LazyLock<Regex> = LazyLock::new(|| compiled("[0-9](?:[ -]?[0-9]){12,}"));

const DIGITS: std::ops::RangeInclusive<usize> = 13..=19;
/// Cards are printed in at most so many groups.
const USUAL_GROUPS_MAX: usize = 5;

pub(super) fn replace(replaced: &mut Replaced, marker: &str) {
    let text = replaced.text.as_str();
    let spans: Vec<Range<usize>> = RUN.find_iter(text).flat_map(|run| cards_in(text, run.range())).collect();
    replaced.replace_spans(&spans, marker);
}

/// The cards in a run. A group of digits belongs to a card as a whole or not at all.
fn cards_in(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let groups = groups(text, run);
    if is_spaced_card(text, &groups) {
        return span(&groups).into_iter().collect();
    }
    let mut cards = Vec::new();
    let mut rest = groups.as_slice();
    while !rest.is_empty() {
        let windows = (1..=USUAL_GROUPS_MAX).rev();
        let longest = windows
            .filter_map(|count| rest.get(..count))
            .find(|window| is_usual(window) && is_card(text, window));
        cards.extend(longest.and_then(span));
        rest = rest.get(longest.map_or(1, <[_]>::len)..).unwrap_or_default();
    }
    cards
}

/// The whole run is one card, with spaces wherever.
fn is_spaced_card(text: &str, groups: &[Range<usize>]) -> bool {
    let has_dash = |span: Range<usize>| text.get(span).is_some_and(|card| card.contains('-'));
    groups.len() <= *DIGITS.end() && !span(groups).is_some_and(has_dash) && is_card(text, groups)
}

fn groups(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let bytes = text.as_bytes();
    for at in run {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            continue;
        }
        match groups.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

fn span(groups: &[Range<usize>]) -> Option<Range<usize>> {
    Some(groups.first()?.start..groups.last()?.end)
}

fn is_card(text: &str, groups: &[Range<usize>]) -> bool {
    let count: usize = groups.iter().map(ExactSizeIterator::len).sum();
    let Some(span) = span(groups).filter(|_| DIGITS.contains(&count)) else {
        return false;
    };
    let digits: Vec<u8> = text
        .get(span.clone())
        .unwrap_or_default()
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|digit| digit - b'0')
        .collect();
    stands_alone(text, &span) && has_issuer(&digits) && has_check_digit(&digits)
}

/// Grouped as cards are printed. Other groups with dashes are the tail of some identifier.
fn is_usual(groups: &[Range<usize>]) -> bool {
    let is_four = |group: &Range<usize>| group.len() == 4;
    match groups {
        [_] => true,
        [a, b, c] if a.len() == 4 && b.len() == 6 => matches!(c.len(), 4 | 5),
        [a, b] if a.len() == 6 => b.len() == 13,
        [fours @ .., last] => last.len() <= 4 && fours.iter().all(is_four),
        [] => false,
    }
}

/// Not in a word, as in a hash, and not the fraction or the whole part of a number.
fn stands_alone(text: &str, span: &Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let is_word = |one: char| one.is_alphanumeric() || one == '_';
    let is_digit = |one: char| one.is_ascii_digit();
    let in_fraction = before.strip_suffix(['.', ',']).is_some_and(|whole| whole.ends_with(is_digit));
    let has_fraction = after.strip_prefix('.').is_some_and(|fraction| fraction.starts_with(is_digit));
    !before.ends_with(is_word) && !after.starts_with(is_word) && !in_fraction && !has_fraction
}

/// Whether the first digits and the length are those of a card scheme.
fn has_issuer(digits: &[u8]) -> bool {
    let prefix = |count: usize| {
        let first = digits.iter().take(count);
        first.fold(0_u32, |number, digit| number * 10 + u32::from(*digit))
    };
    let length = digits.len();
    match (prefix(2), prefix(3), prefix(4)) {
        // Visa.
        (40..=49, ..) => matches!(length, 13 | 16 | 18 | 19),
        // Mastercard, and Mir.
        (51..=55, ..) | (_, _, 2221..=2720 | 2200..=2204) => length == 16,
        // American Express.
        (34 | 37, ..) => length == 15,
        // Diners Club.
        (36 | 38 | 39, ..) | (_, 300..=305, _) => matches!(length, 14..=19),
        // Discover, UnionPay, JCB.
        (62 | 65, ..) | (_, 644..=649, _) | (_, _, 6011 | 3528..=3589) => length >= 16,
        // Maestro.
        (_, _, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763) => true,
        _ => false,
    }
}

/// Luhn's check: every second digit from the right counts double.
fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}
