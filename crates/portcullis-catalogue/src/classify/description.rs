//! Rules D1, D2 and D3: what the description says the tool does.
//!
//! Only the leading clause counts as a statement of effect; later sentences are advice, examples and
//! results, and keywords in them made other catalogues wrong.

use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Clause, sentences};
use super::reading::Reading;
use super::rules::RuleId;
use crate::level::severity;
use crate::words::{Token, foreign_verbs, says_manage};

/// Bytes of a description that are read for verbs and phrases.
const READ_BYTES_MAX: usize = 4000;
/// Sentences that are tried until one has a verb.
const SENTENCES_MAX: usize = 3;
/// Verbs of other languages that are looked at in one line.
const FOREIGN_VERBS_MAX: usize = 12;
/// Lines that are looked at for a list of operations.
const BULLETS_MAX: usize = 40;

/// Phrases by which a description claims to change nothing.
static CLAIMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let phrases = r"read[- ]only|(does not|doesn't) (modify|change)|does not (execute|write)|without modifying|no changes are made|dry[- ]run|never modifies|no side effects|nothing is changed|advisory";
    Regex::new(phrases).ok()
});
/// Phrases that say that there is no way back.
static FINAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let phrases =
        r"permanently|irreversibl|(cannot|can't|can not) be (undone|recovered)|unrecoverabl|not reversible";
    Regex::new(phrases).ok()
});

/// What a description says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Description {
    /// The leading clause.
    pub(crate) lead: Option<Reading>,
    /// Where it claims to change nothing.
    pub(crate) claims_read_only: Option<(usize, usize)>,
    /// Where it says that there is no way back.
    pub(crate) no_way_back: Option<(usize, usize)>,
}

/// Reads a description.
pub(crate) fn read_description(text: &str) -> Description {
    let text = front(text, READ_BYTES_MAX);
    let lower = text.to_ascii_lowercase();
    Description {
        lead: lead(text),
        claims_read_only: phrase(&lower, &CLAIMS),
        no_way_back: phrase(&lower, &FINAL).filter(|place| !is_denied(&lower, place.0)),
    }
}

/// The first bytes of a text, cut at a character.
pub(crate) fn front(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn lead(text: &str) -> Option<Reading> {
    let clauses: Vec<Clause<'_>> = sentences(text).take(SENTENCES_MAX).collect();
    let stated = clauses.iter().find_map(Clause::leading_verb);
    let stated = stated.or_else(|| clauses.first().and_then(Clause::purpose_verb));
    let stated = stated.or_else(|| clauses.iter().find_map(Clause::purpose_verb));
    stated.or_else(|| foreign(text)).or_else(|| clauses.first().and_then(Clause::noun_head))
}

/// The first verb of another language in the first line; where something is managed, the gravest.
fn foreign(text: &str) -> Option<Reading> {
    let line = front(text, 240);
    let found = foreign_verbs(line, FOREIGN_VERBS_MAX).into_iter().map(|(class, start, end)| {
        let token = Token { text: String::new(), start, end };
        Reading::new(class, RuleId::D1, &token, false)
    });
    if says_manage(line) { gravest(found) } else { gravest(found.take(1)) }
}

/// The gravest verb that opens a bullet (`- create: …`).
pub(crate) fn bullets(text: &str) -> Option<Reading> {
    let lines = sentences(front(text, READ_BYTES_MAX)).skip(1).take(BULLETS_MAX);
    gravest(lines.filter_map(|clause| clause.bullet_verb()))
}

/// The gravest of what the first sentences state.
pub(crate) fn statements(text: &str) -> Option<Reading> {
    let first = sentences(front(text, READ_BYTES_MAX)).take(SENTENCES_MAX);
    gravest(first.filter_map(|clause| clause.leading_verb().or_else(|| clause.purpose_verb())))
}

/// The gravest of them; the first where several are.
pub(crate) fn gravest(readings: impl Iterator<Item = Reading>) -> Option<Reading> {
    readings.reduce(|worst, found| if severity(found.class) > severity(worst.class) { found } else { worst })
}

fn phrase(lower: &str, phrases: &LazyLock<Option<Regex>>) -> Option<(usize, usize)> {
    let found = phrases.as_ref()?.find(lower)?;
    Some((found.start(), found.end()))
}

fn is_denied(lower: &str, at: usize) -> bool {
    let before = lower.get(..at).unwrap_or_default();
    before.split_whitespace().rev().take(3).any(|word| matches!(word, "not" | "never" | "without" | "no"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn check(text: &str, class: Class) {
        let lead = read_description(text).lead;
        assert_eq!(lead.map(|reading| reading.class), Some(class), "{text}");
    }

    #[test]
    fn leading_verbs_decide() {
        check("Lists the open doors", Class::Read);
        check("This tool will retrieve the balance from the bank.", Class::Read);
        check("Use this tool to create a door.", Class::Write);
        check("Tools for listing doors", Class::Read);
        check("Allows you to delete a door", Class::Destructive);
        check("Enables a door", Class::Write);
        check("A tool that removes doors", Class::Destructive);
        check("Generate YAML for a door", Class::Read);
        check("Web search with ranked results", Class::Read);
    }

    #[test]
    fn alternatives_take_the_gravest() {
        check("Get or update the scale of a door", Class::Write);
        check("Create, patch, or delete doors", Class::Destructive);
        check("Read/create/update/delete doors", Class::Destructive);
        check("Manage a subscription: ignore, watch, or delete it", Class::Destructive);
        check("Get a door and open the hall", Class::Read);
        check("Gets comments and updates of a door", Class::Read);
    }

    #[test]
    fn what_is_only_considered_does_not_count() {
        check("Decides whether to send the mail", Class::Read);
        check("Analyse a message before sending it", Class::Read);
    }

    #[test]
    fn other_languages_are_read() {
        check("删除一个角色", Class::Destructive);
        check("Crea una puerta nueva", Class::Write);
    }

    #[test]
    fn claims_and_finality_are_found() {
        let claim = read_description("Shows a door. This is read-only.");
        assert!(claim.claims_read_only.is_some());
        assert!(read_description("Deletes it permanently").no_way_back.is_some());
        assert!(read_description("Does not permanently delete").no_way_back.is_none());
    }
}
