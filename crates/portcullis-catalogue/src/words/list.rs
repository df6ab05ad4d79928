//! A list of words that is written as one text and looked up as a set.

use std::collections::HashSet;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

/// The words; nothing that comes from outside gets in, so a fast hash is safe.
pub(crate) type WordSet = HashSet<&'static str, FixedState>;

/// A set of words that is made when it is first asked.
pub(crate) struct WordList {
    words: LazyLock<WordSet>,
}

impl WordList {
    pub(crate) const fn new(make: fn() -> WordSet) -> WordList {
        WordList { words: LazyLock::new(make) }
    }

    /// Whether the word is one of them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

/// A [`WordList`] of a text with blanks between the words.
macro_rules! words {
    ($text:expr) => {
        $crate::words::WordList::new(|| $text.split_ascii_whitespace().collect())
    };
}
pub(crate) use words;
