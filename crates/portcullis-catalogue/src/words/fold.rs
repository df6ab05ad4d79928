//! Folding an inflected word to the verb it comes from.

use super::lexicon::{Verb, verb};

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

/// Longest word that is looked up; no verb is longer.
const WORD_BYTES_MAX: usize = 32;

/// The verb behind a lower-case word, with the form it stands in.
pub(crate) fn fold(word: &str) -> Option<(&'static Verb, Form)> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    if let Some(found) = verb(word) {
        return Some((found, Form::Base));
    }
    [("s", Form::Third), ("ing", Form::Ing), ("ed", Form::Past)]
        .into_iter()
        .find_map(|(ending, form)| {
            let stem = word.strip_suffix(ending)?;
            base_of(stem, form).map(|found| (found, form))
        })
        .or_else(|| british(word))
}

fn base_of(stem: &str, form: Form) -> Option<&'static Verb> {
    if stem.len() < 2 {
        return None;
    }
    if let Some(found) = verb(stem) {
        return Some(found);
    }
    if form == Form::Third {
        let ies = stem.strip_suffix("ie").and_then(|short| verb(&format!("{short}y")));
        return ies.or_else(|| stem.strip_suffix('e').and_then(verb));
    }
    verb(&format!("{stem}e"))
        .or_else(|| undoubled(stem).and_then(verb))
        .or_else(|| stem.strip_suffix('i').and_then(|short| verb(&format!("{short}y"))))
}

fn undoubled(stem: &str) -> Option<&str> {
    let mut from_end = stem.chars().rev();
    let last = from_end.next()?;
    (from_end.next() == Some(last)).then(|| stem.strip_suffix(last)).flatten()
}

/// `initialise` is `initialize`, `analyses` is `analyzes`.
fn british(word: &str) -> Option<(&'static Verb, Form)> {
    let american = if word.contains("lys") {
        word.replace("lys", "lyz")
    } else if word.contains("is") {
        let at = word.rfind("is")?;
        format!("{}iz{}", word.get(..at)?, word.get(at + 2..)?)
    } else {
        return None;
    };
    (american != word).then(|| fold_american(&american)).flatten()
}

fn fold_american(word: &str) -> Option<(&'static Verb, Form)> {
    if let Some(found) = verb(word) {
        return Some((found, Form::Base));
    }
    [("s", Form::Third), ("ing", Form::Ing), ("ed", Form::Past)]
        .into_iter()
        .find_map(|(ending, form)| base_of(word.strip_suffix(ending)?, form).map(|found| (found, form)))
}

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
