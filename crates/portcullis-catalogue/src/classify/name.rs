//! Rules N1 and N2: the verb of a tool's name.

use super::object::{is_preposition, turn};
use super::reading::Reading;
use super::rules::RuleId;
use crate::Class;
use crate::level::{graver, severity};
use crate::words::{Form, Kind, Nouns, Token, Verb, WordList, fold, phrasal, verb, words};

/// Verbs that close a noun-first name even if its first word is a verb (`send_that_email_analyze`).
static CLOSING: WordList = words!(
    "\
    analyze classify validate verify compare estimate explain summarize describe inspect \
    diagnose evaluate predict get fetch retrieve assess determine"
);
/// Strict verbs that are nouns after a verb of looking (`check_update`).
static ALSO_NOUNS: WordList = words!(
    "\
    update change import export download upload copy move install launch run start"
);
/// Words that are verbs at the front of a name, whatever follows (`clear_history`).
static FRONT_VERBS: WordList = words!(
    "\
    clear reset flush empty prune drop clean cleanup generate make draw refresh load share join leave init setup \
    populate prepare compose select open schedule record post watch use reserve transform extend enhance ensure"
);
/// Those of them that no description talks away (`drop_doors`, `Lists the doors`).
static HELD_VERBS: WordList = words!(
    "\
    clear reset flush prune drop clean cleanup make refresh share join leave init setup populate schedule post \
    reserve ensure"
);
/// Words that ask about an action named after them (`quote_buy`, `simulate_swap`).
static ABOUT_ACTIONS: WordList = words!(
    "\
    quote simulate preview plan estimate diff"
);
/// Words that behind another word are nearly always nouns.
static NOUNS_BEHIND: WordList = words!(
    "\
    message comment issue label tag order note post script command mail email alert tweet sms \
    report record model index cache branch release group request book share like star flag stage \
    experiment shell terminal proxy trade draft call job mint bridge block store link type lock \
    log play step end issue rate"
);
/// Pairs that are one noun, though each word could be a verb.
const COMPOUNDS: &[(&str, &str)] = &[
    ("pull", "request"),
    ("merge", "request"),
    ("change", "request"),
    ("feature", "request"),
    ("network", "request"),
    ("review", "request"),
    ("test", "case"),
    ("test", "suite"),
    ("test", "plan"),
    ("call", "graph"),
    ("call", "stack"),
    ("call", "tree"),
    ("order", "book"),
    ("check", "run"),
    ("check", "suite"),
    ("work", "item"),
    ("feature", "flag"),
    ("start", "date"),
    ("email", "template"),
];

/// One word of the name as a candidate.
struct Word<'a> {
    token: &'a Token,
    verb: Option<&'static Verb>,
}

/// Reads the name. `skip` words at the front are the server's own prefix.
pub(crate) fn read_name(tokens: &[Token], skip: usize) -> Option<Reading> {
    let words = candidates(tokens.get(skip..)?);
    let mut reading = alternatives(&words)
        .or_else(|| first_verb(&words))
        .or_else(|| inner_verb(&words))
        .or_else(|| either_verb(&words))
        .or_else(|| inflected_first(&words))
        .or_else(|| topic(&words))?;
    turn_by_object(&words, &mut reading);
    Some(reading)
}

fn candidates(tokens: &[Token]) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> =
        tokens.iter().map(|token| Word { token, verb: verb(&token.text) }).collect();
    for at in 1..words.len() {
        let first = words.get(at - 1).map(|word| word.token.text.as_str()).unwrap_or_default();
        let second = words.get(at).map(|word| word.token.text.as_str()).unwrap_or_default();
        if let Some(found) = phrasal(first, second) {
            join(&mut words, at - 1, Some(found));
            continue;
        }
        let second = second.strip_suffix('s').unwrap_or(second);
        if COMPOUNDS.contains(&(first, second)) {
            join(&mut words, at - 1, None);
        }
    }
    words
}

/// Two words are one: this verb, or none.
fn join(words: &mut [Word<'_>], at: usize, verb: Option<&'static Verb>) {
    for word in words.iter_mut().skip(at).take(2) {
        word.verb = None;
    }
    if let Some(first) = words.get_mut(at) {
        first.verb = verb;
    }
}

/// `create_or_update`: the graver of both.
fn alternatives(words: &[Word<'_>]) -> Option<Reading> {
    words.windows(3).find_map(|three| {
        let [first, joiner, second] = three else {
            return None;
        };
        let joins = matches!(joiner.token.text.as_str(), "or" | "and");
        if !joins || first.token.text == "drag" {
            return None;
        }
        let (one, two) = (first.verb.or_else(|| spoken_before(words, second))?, second.verb?);
        let worse = if severity(two.class) > severity(one.class) { second } else { first };
        let mut reading = reading_of(worse, RuleId::N1, true)?;
        reading.class = graver(one.class, two.class);
        reading.alternatives = true;
        Some(reading)
    })
}

/// `poll_door_and_lock`: the verb in front, where a verb that is nothing else follows the joiner.
fn spoken_before(words: &[Word<'_>], second: &Word<'_>) -> Option<&'static Verb> {
    second.verb.filter(|verb| verb.kind == Kind::Strict && !ALSO_NOUNS.has(verb.base))?;
    words.first()?.verb
}

fn first_verb(words: &[Word<'_>]) -> Option<Reading> {
    let first = words.first()?;
    let found = first.verb?;
    let last = words.last()?;
    if found.kind == Kind::Strict {
        let closes = words.len() >= 3 && CLOSING.has(last.token.text.as_str());
        if closes && found.class != Class::Read {
            return reading_of(last, RuleId::N2, false);
        }
        return reading_of(first, RuleId::N1, true);
    }
    let last_verb = last.verb.filter(|_| words.len() >= 2);
    if found.kind == Kind::Vague {
        let closer = last_verb.filter(|verb| verb.kind == Kind::Strict && words.len() >= 3);
        return match closer {
            Some(_) => reading_of(last, RuleId::N2, true),
            None => reading_of(first, RuleId::N1, false),
        };
    }
    let behind = words.iter().skip(1).filter_map(|word| word.verb);
    let mut strict_behind = behind.filter(|verb| verb.kind == Kind::Strict).peekable();
    let about = ABOUT_ACTIONS.has(found.base);
    let nouns_only = strict_behind.peek().is_some()
        && strict_behind.all(|verb| ALSO_NOUNS.has(verb.base) && !is_last(words, verb.base));
    let looks_at = found.class == Class::Read
        && words.len() == 2
        && last_verb.is_some_and(|verb| ALSO_NOUNS.has(verb.base));
    (about || nouns_only || looks_at).then(|| reading_of(first, RuleId::N1, true)).flatten()
}

fn is_last(words: &[Word<'_>], base: &str) -> bool {
    words.last().is_some_and(|word| word.token.text == base)
}

/// A strict verb behind the first word; one behind a preposition speaks of circumstances.
fn inner_verb(words: &[Word<'_>]) -> Option<Reading> {
    let strict = |word: &&Word<'_>| word.verb.is_some_and(|verb| verb.kind == Kind::Strict);
    let mut found = words.iter().take(clause_end(words)).skip(1).filter(strict);
    let first = found.next()?;
    let last = found.next_back().unwrap_or(first);
    let (one, two) = (first.verb?, last.verb?);
    let heads_list = words.last().is_some_and(|word| is_report(&word.token.text));
    if one.class == Class::Read || severity(one.class) >= severity(two.class) || heads_list {
        return reading_of(first, RuleId::N2, true);
    }
    let mut reading = reading_of(last, RuleId::N2, false)?;
    reading.class = graver(one.class, two.class);
    Some(reading)
}

/// Words that are verbs or nouns: a reporting head beats them, else the first word, else the last.
fn either_verb(words: &[Word<'_>]) -> Option<Reading> {
    let last = words.last()?;
    let reports = words.len() >= 2 && is_report(&last.token.text);
    let first_verb = words.first().and_then(|word| word.verb);
    let acts = first_verb.is_some_and(|verb| FRONT_VERBS.has(verb.base));
    if reports && !acts {
        let sure = first_verb.is_none_or(|verb| verb.class == Class::Read);
        let spoken = last.verb.filter(|verb| verb.class == Class::Read);
        return Some(match spoken {
            Some(verb) => Reading { sure: true, ..Reading::of_verb(verb, RuleId::N2, last.token, sure) },
            None => Reading::new(Class::Read, RuleId::N2, last.token, sure),
        });
    }
    if first_verb.is_some() {
        let reading = reading_of(words.first()?, RuleId::N1, true)?;
        let holds = first_verb.is_some_and(|verb| HELD_VERBS.has(verb.base));
        return Some(Reading { opens: holds && words.len() > 1, ..reading });
    }
    // Behind a preposition stand circumstances: `press_on_screen` presses.
    let spoken = |word: &&Word<'_>| word.verb.is_some_and(|verb| !NOUNS_BEHIND.has(verb.base));
    let inner = words.iter().take(clause_end(words)).rev().find(spoken)?;
    reading_of(inner, RuleId::N2, false)
}

/// Where circumstances begin.
fn clause_end(words: &[Word<'_>]) -> usize {
    words.iter().position(|word| is_preposition(&word.token.text)).unwrap_or(words.len())
}

/// `creates_page`: an inflected verb in front.
fn inflected_first(words: &[Word<'_>]) -> Option<Reading> {
    let first = words.first()?;
    let (found, form) = fold(&first.token.text)?;
    let counts = matches!(form, Form::Third | Form::Ing) && words.len() > 1 && found.kind == Kind::Strict;
    counts.then(|| Reading::of_verb(found, RuleId::N1, first.token, false))
}

fn topic(words: &[Word<'_>]) -> Option<Reading> {
    let last = words.last()?;
    let text = last.token.text.as_str();
    let tells = is_report(text) || Nouns::topic().has(text);
    tells.then(|| Reading::new(Class::Read, RuleId::N2, last.token, false))
}

fn is_report(word: &str) -> bool {
    Nouns::reporting().has(word)
}

fn reading_of(word: &Word<'_>, rule: RuleId, sure: bool) -> Option<Reading> {
    word.verb.map(|verb| Reading::of_verb(verb, rule, word.token, sure))
}

/// Rule N3 on the name: the object is what follows the verb, or for a closing verb what precedes it.
fn turn_by_object(words: &[Word<'_>], reading: &mut Reading) {
    let Some(verb) = reading.verb else { return };
    let Some(at) = words.iter().position(|word| word.token.start == reading.start) else {
        return;
    };
    let text = |word: &Word<'_>| -> String { word.token.text.clone() };
    let after: Vec<String> =
        words.iter().skip(at + 1).map(text).take_while(|word| !is_preposition(word)).collect();
    let unties = words.iter().skip(at + 1).any(|word| word.token.text == "from");
    let object = if after.is_empty() { words.iter().take(at).map(text).collect() } else { after };
    let object: Vec<&str> = object.iter().map(String::as_str).collect();
    if let Some(turned) = turn(verb.base, &object) {
        reading.turn(turned.class, turned.says);
    } else if verb.base == "remove" && unties {
        reading.turn(Class::Write, "takes something out of a group, which can be put back");
    }
    reading.object = object.iter().map(|word| (*word).to_owned()).collect();
}
