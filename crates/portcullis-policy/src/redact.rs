//! Detectors that blank out parts of results.
//!
//! They look at whole strings. A match that is spread over two strings is not seen, so whoever forwards a
//! stream must gather what belongs together first: give a complete message, never a chunk of it.
//!
//! Every detector is compiled once and takes time in proportion to the text. None of them proves anything:
//! they catch well-known shapes, and a value that is encoded in some way passes.

mod cards;
mod emails;
mod matches;
mod private_keys;
mod secrets;

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use portcullis_json::{Key, Member, Object, Value};

use self::matches::Replaced;

/// Blanking out one match can uncover another beside it; more rounds than this are not made.
const ROUNDS_MAX: usize = 4;

/// Which detectors apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Detectors {
    bits: u8,
}

/// One detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detector {
    /// Keys, tokens and passwords of well-known shapes.
    Secrets,
    /// E-mail addresses.
    Emails,
    /// Payment card numbers.
    Cards,
    /// PEM private keys.
    PrivateKeys,
}

impl Detector {
    /// All of them.
    pub const ALL: [Detector; 4] =
        [Detector::Secrets, Detector::Emails, Detector::Cards, Detector::PrivateKeys];

    /// The name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Secrets => "secrets",
            Detector::Emails => "emails",
            Detector::Cards => "cards",
            Detector::PrivateKeys => "private_keys",
        }
    }

    /// What stands in place of a match.
    fn marker(self) -> &'static str {
        match self {
            Detector::Secrets => "[REDACTED secrets]",
            Detector::Emails => "[REDACTED emails]",
            Detector::Cards => "[REDACTED cards]",
            Detector::PrivateKeys => "[REDACTED private_keys]",
        }
    }

    fn replace(self, replaced: &mut Replaced) {
        match self {
            Detector::Secrets => secrets::replace(replaced, self.marker()),
            Detector::Emails => emails::replace(replaced, self.marker()),
            Detector::Cards => cards::replace(replaced, self.marker()),
            Detector::PrivateKeys => private_keys::replace(replaced, self.marker()),
        }
    }

    fn bit(self) -> u8 {
        match self {
            Detector::Secrets => 1,
            Detector::Emails => 2,
            Detector::Cards => 4,
            Detector::PrivateKeys => 8,
        }
    }
}

impl Detectors {
    /// Those with these names; unknown names are left out.
    pub fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Detectors {
        let bits = names
            .filter_map(|name| Detector::ALL.into_iter().find(|detector| detector.name() == name))
            .fold(0, |bits, detector| bits | detector.bit());
        Detectors { bits }
    }

    /// Those of either.
    #[must_use]
    pub fn union(self, other: Detectors) -> Detectors {
        Detectors { bits: self.bits | other.bits }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Detector> {
        Detector::ALL.into_iter().filter(move |detector| self.bits & detector.bit() != 0)
    }

    /// The text with every match replaced by `[REDACTED …]`; `None` when nothing matched.
    ///
    /// The text must be whole: see the head of this module.
    pub fn redact_text(self, text: &str) -> Option<String> {
        let replaced = self.replace(text);
        (replaced.count > 0).then_some(replaced.text)
    }

    /// Replaces every match in every string of the value, keys included, and says how many there were.
    ///
    /// A string under a key that names a secret, such as `password`, is a match as a whole.
    pub fn redact_value(self, value: &mut Value) -> usize {
        if self.is_empty() {
            return 0;
        }
        match value {
            Value::String(text) => self.redact_in_place(text),
            Value::Array(elements) => elements.iter_mut().map(|element| self.redact_value(element)).sum(),
            Value::Object(object) => self.redact_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// A string, or a key.
    fn redact_in_place<T: Deref<Target = str> + From<String>>(self, text: &mut T) -> usize {
        let replaced = self.replace(text);
        if replaced.count > 0 {
            *text = replaced.text.into();
        }
        replaced.count
    }

    fn redact_object(self, object: &mut Object) -> usize {
        let mut count = 0;
        let mut members: Vec<Member> = std::mem::take(object).into_iter().collect();
        for member in &mut members {
            count += self.redact_named(member);
            count += self.redact_value(&mut member.value);
        }
        let in_keys: usize = members.iter_mut().map(|member| self.redact_in_place(&mut member.key)).sum();
        if in_keys > 0 {
            make_keys_distinct(&mut members);
        }
        // They are distinct; if they were not, showing nothing would be the safe side.
        *object = Object::from_members(members).unwrap_or_default();
        count + in_keys
    }

    /// The text form of the same object would show the name beside the secret.
    fn redact_named(self, member: &mut Member) -> usize {
        let marker = Detector::Secrets.marker();
        match &mut member.value {
            Value::String(text)
                if self.iter().any(|one| one == Detector::Secrets)
                    && text != marker
                    && secrets::is_named_secret(&member.key, text) =>
            {
                *text = marker.to_owned();
                1
            }
            _ => 0,
        }
    }

    /// Private keys come first: they hold what looks like other matches.
    fn replace(self, text: &str) -> Replaced {
        let mut replaced = Replaced::new(text);
        for _ in 0..ROUNDS_MAX {
            let before = replaced.count;
            for detector in Detector::ALL.into_iter().rev() {
                if self.bits & detector.bit() != 0 {
                    detector.replace(&mut replaced);
                }
            }
            if replaced.count == before {
                break;
            }
        }
        replaced
    }
}

/// Two keys may have become the same; the later ones get a number.
fn make_keys_distinct(members: &mut [Member]) {
    let mut used: HashSet<Key> = HashSet::new();
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    for member in members {
        if !used.insert(member.key.clone()) {
            let number = numbers.entry(member.key.clone()).or_insert(1);
            let distinct = loop {
                *number += 1;
                let candidate = Key::from(format!("{} {number}", member.key));
                if used.insert(candidate.clone()) {
                    break candidate;
                }
            };
            member.key = distinct;
        }
    }
}

#[cfg(test)]
mod tests;
