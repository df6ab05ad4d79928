//! Folding an inflected word to the verb it comes from.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::lexicon::{Verb, verb, verbs};

/// How a verb stood in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `create`
    Base,
    /// `creates`
    Third,
    /// `creating`
    Ing,
    /// `created`
    Past,
}

/// The verb behind a lower-case word, with the form it stands in.
pub(crate) fn fold(word: &str) -> Option<(&'static Verb, Form)> {
    match verb(word) {
        Some(found) => Some((found, Form::Base)),
        None => INFLECTED.get(word).copied(),
    }
}

type Inflected = HashMap<String, (&'static Verb, Form), FixedState>;

/// Every inflected form of every verb, so that a word costs one look. Where two verbs have a form in common, the
/// plainer way of making it counts.
static INFLECTED: LazyLock<Inflected> = LazyLock::new(|| {
    let mut all: Vec<&'static Verb> = verbs().collect();
    all.sort_unstable_by_key(|verb| verb.base);
    let mut known = Inflected::default();
    for make in [plain, without_e, doubled, with_ies] {
        for verb in all.iter().copied() {
            for (word, form) in make(verb.base) {
                add(&mut known, word, verb, form);
            }
        }
    }
    known
});

/// The word itself, and as it is written in Britain: `initialise`, `analyse`.
fn add(known: &mut Inflected, word: String, verb: &'static Verb, form: Form) {
    if let Some(british) = british(&word) {
        known.entry(british).or_insert((verb, form));
    }
    if form != Form::Base {
        known.entry(word).or_insert((verb, form));
    }
}

fn british(word: &str) -> Option<String> {
    if word.contains("lyz") {
        return Some(word.replace("lyz", "lys"));
    }
    let at = word.rfind("iz")?;
    Some(format!("{}is{}", word.get(..at)?, word.get(at + 2..)?))
}

/// `creates`, `fetches`, `fetching`, `fetched`; the base form for its British twin.
fn plain(base: &str) -> Vec<(String, Form)> {
    vec![
        (base.to_owned(), Form::Base),
        (format!("{base}s"), Form::Third),
        (format!("{base}es"), Form::Third),
        (format!("{base}ing"), Form::Ing),
        (format!("{base}ed"), Form::Past),
    ]
}

/// `creating`, `created`.
fn without_e(base: &str) -> Vec<(String, Form)> {
    let Some(stem) = base.strip_suffix('e').filter(|stem| stem.len() >= STEM_BYTES_MIN) else {
        return Vec::new();
    };
    vec![(format!("{stem}ing"), Form::Ing), (format!("{stem}ed"), Form::Past)]
}

/// `running`, `dropped`.
fn doubled(base: &str) -> Vec<(String, Form)> {
    let Some(last) = base.chars().last() else {
        return Vec::new();
    };
    vec![(format!("{base}{last}ing"), Form::Ing), (format!("{base}{last}ed"), Form::Past)]
}

/// `queries`, `modified`.
fn with_ies(base: &str) -> Vec<(String, Form)> {
    let Some(stem) = base.strip_suffix('y').filter(|stem| stem.len() >= STEM_BYTES_MIN) else {
        return Vec::new();
    };
    vec![(format!("{stem}ies"), Form::Third), (format!("{stem}ied"), Form::Past)]
}

/// Shorter stems are other words.
const STEM_BYTES_MIN: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, base: &str, form: Form) {
        let (found, found_form) = fold(word).unwrap_or_else(|| panic!("`{word}` is not known"));
        assert_eq!((found.base, found_form), (base, form), "{word}");
    }

    #[test]
    fn inflected_forms_come_back_to_their_verb() {
        check("creates", "create", Form::Third);
        check("deleting", "delete", Form::Ing);
        check("fetches", "fetch", Form::Third);
        check("queries", "query", Form::Third);
        check("running", "run", Form::Ing);
        check("modified", "modify", Form::Past);
        check("cancelling", "cancel", Form::Ing);
        check("initialises", "initialize", Form::Third);
        check("analysing", "analyze", Form::Ing);
        check("sets", "set", Form::Third);
    }

    #[test]
    fn other_words_are_no_verbs() {
        for word in ["this", "thing", "red", "s", "", "settings"] {
            assert!(fold(word).is_none(), "{word}");
        }
    }
}
