//! A regular expression in `require` that matches a part only admits whatever surrounds the part.

use regex_syntax::hir::{Look, LookSet};

use super::{RuleList, RulePlace};
use crate::problem::Problems;

pub(super) fn warn(rules: &[RulePlace<'_>], problems: &mut Problems) {
    let admits = |rule: &&RulePlace<'_>| rule.list == RuleList::Require;
    for rule in rules.iter().filter(admits) {
        for (at, condition) in rule.conditions() {
            if condition.operator.name != "regex" {
                continue;
            }
            let pattern = condition.value.as_str().unwrap_or_default();
            if let Some((message, help)) = loose_ends(pattern) {
                problems.warn(&at.key("value"), message, help);
            }
        }
    }
}

/// What is wrong and what to do, if the pattern can match without reaching both ends of the text.
fn loose_ends(pattern: &str) -> Option<(String, &'static str)> {
    let parsed = regex_syntax::parse(pattern).ok()?;
    let (first, last) = (parsed.properties().look_set_prefix(), parsed.properties().look_set_suffix());
    let (which, admitted) = match (first.contains(Look::Start), last.contains(Look::End)) {
        (true, true) => return None,
        (false, true) => ("at its start", "anything may stand before the match"),
        (true, false) => ("at its end", "anything may follow the match"),
        (false, false) => ("", "anything may stand around the match"),
    };
    let which = if which.is_empty() { String::new() } else { format!(" {which}") };
    let message = format!("`{pattern}` is not anchored{which}: {admitted}");
    Some((message, help(first, last)))
}

fn help(first: LookSet, last: LookSet) -> &'static str {
    if first.contains_anchor_line() || last.contains_anchor_line() {
        "with the flag `m`, `^` and `$` match at every line; write `\\A(?:…)\\z`"
    } else {
        "write `^(?:…)$`; where a match anywhere is meant, `^(?s:.*)` and `(?s:.*)$` say so"
    }
}

#[cfg(test)]
mod tests {
    use super::loose_ends;

    #[test]
    fn both_ends_of_every_alternative_count() {
        for pattern in [
            "^a$",
            r"\Aa\z",
            r"^a\z",
            "(?i)^a$",
            "(?i:^a$)",
            "^(?:a|b)$",
            "^a$|^b$",
            "(^a$)",
            "^(?s:.*)a(?s:.*)$",
            "(?x) ^ a $ # a comment",
            r"^\d+(\.\d+)?$",
            "^$",
        ] {
            assert_eq!(loose_ends(pattern), None, "{pattern}");
        }
        for (pattern, expected) in [
            ("a", "anchored: "),
            ("", "anchored: "),
            ("^a", "at its end"),
            ("a$", "at its start"),
            ("^a|b$", "anchored: "),
            ("^a$|b", "anchored: "),
            ("(?m)^a$", "anchored: "),
            (r"^a\$", "at its end"),
            (r"\^a$", "at its start"),
            ("[^a]$", "at its start"),
            ("^?a$", "at its start"),
            ("^a$?", "at its end"),
        ] {
            let (message, _) = loose_ends(pattern).expect(pattern);
            assert!(message.contains(expected), "{pattern}: {message}");
        }
    }
}
