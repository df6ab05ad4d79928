//! A text in which matches are being replaced.

use std::ops::Range;

use regex::{Captures, Regex};

/// The text so far, and how many matches were replaced in it.
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) count: usize,
}

/// A match that is looked at before it is replaced.
pub(super) struct Candidate<'t> {
    /// The part that would be replaced.
    pub(super) text: &'t str,
    /// What follows it.
    pub(super) after: &'t str,
}

impl Replaced {
    pub(super) fn new(text: &str) -> Replaced {
        Replaced { text: text.to_owned(), count: 0 }
    }

    /// Replaces each match, or of each match the group `secret` if there is one, that `is_meant`.
    pub(super) fn replace(&mut self, regex: &Regex, marker: &str, is_meant: impl Fn(&Candidate<'_>) -> bool) {
        self.replace_found(regex, marker, |text, captures| {
            let found = captures.name("secret").or_else(|| captures.get(0))?;
            let candidate = Candidate { text: found.as_str(), after: text.get(found.end()..)? };
            is_meant(&candidate).then(|| found.range())
        });
    }

    /// Replaces what `find` finds in each match.
    pub(super) fn replace_found(
        &mut self,
        regex: &Regex,
        marker: &str,
        find: impl Fn(&str, &Captures<'_>) -> Option<Range<usize>>,
    ) {
        let text = self.text.as_str();
        let matches = regex.captures_iter(text);
        let spans: Vec<_> = matches.filter_map(|one| find(text, &one)).collect();
        self.replace_spans(&spans, marker);
    }

    /// Replaces these parts of the text; they are in order and do not overlap.
    pub(super) fn replace_spans(&mut self, spans: &[Range<usize>], marker: &str) {
        if spans.is_empty() {
            return;
        }
        let mut result = String::with_capacity(self.text.len());
        let mut from = 0;
        for span in spans {
            result.push_str(self.text.get(from..span.start).unwrap_or_default());
            result.push_str(marker);
            from = span.end;
        }
        result.push_str(self.text.get(from..).unwrap_or_default());
        self.text = result;
        self.count += spans.len();
    }
}

/// A pattern of this crate, compiled.
pub(super) fn compiled(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants, and every one is compiled in a test")]
    Regex::new(pattern).expect("a constant pattern compiles")
}
