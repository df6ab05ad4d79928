//! One sentence of a description, and the verbs in the places where sentences state what is done.

use std::cell::OnceCell;

use super::object::{is_preposition, turn};
use super::reading::Reading;
use super::rules::RuleId;
use crate::Class;
use crate::level::severity;
use crate::words::{Form, Kind, Nouns, Token, Verb, WordList, fold, phrasal, split_text, words};

/// Words of one sentence that are looked at.
const WORDS_MAX: usize = 48;
/// Words that may stand before the verb without saying anything.
static OPENERS: WordList = words!(
    "\
    this the tool tools function command endpoint method api action operation will can is are \
    used to be you your users user agents agent lets let allows allow allowing helps for a an \
    simple quickly easily efficiently safely automatically please that which should must it \
    ability recursively batch bulk asynchronously interactively simply mcp utility designed also \
    provides provide able useful powerful fully programmatically atomically capability way \
    instantly intelligently securely directly manually optionally i we helper primary main and"
);
/// Words after which a noun phrase, or the end of the list of verbs, begins.
static DETERMINERS: WordList = words!(
    "\
    a an the all your its it them their this these new existing any one multiple specific each \
    every some several up single current detailed list both"
);
/// Strict verbs that are nouns as often behind `and`.
static NOUNS_TOO: WordList = words!(
    "\
    update change import export download upload copy move install launch run start stop set fix patch mark put \
    click tap follow claim purchase sell buy edit restart reply invite register upgrade downgrade login logout \
    complete correct replay install publish"
);
/// Where what was found is kept.
static STORES: WordList = words!(
    "\
    file files folder folders directory directories database databases disk knowledge memory index collection table \
    vault storage bucket spreadsheet vectorstore repository workspace"
);
/// Verbs of looking whose result may be put somewhere, `to` or `into` it.
static GATHERING: WordList =
    words!("extract collect crawl scrape capture dump screenshot snapshot aggregate");
/// Those with which only `into` says so.
static FETCHING: WordList = words!("gather fetch read get retrieve");
/// What `this` means where a sentence speaks of the tool itself.
static ITSELF: WordList =
    words!("tool tools function command method endpoint action operation first before after when if only");
/// Words that deny the verb behind them.
static DENYING: WordList = words!("not never without cannot doesn't don't can't won't no nor");
/// Words that turn `to VERB` into something considered, wished for or explained.
static CONSIDERED: WordList = words!(
    "\
    whether how when where what if want wants need needs before wish due try about asks asked \
    ready attempt which who required according related similar"
);

/// `Run a query`: a question, as long as no rule finds a language in which it could change something.
fn is_asking(verb: &str, object: &[&str]) -> bool {
    let asks = object.last().is_some_and(|head| Nouns::question().has(head));
    matches!(verb, "run" | "execute" | "perform") && asks
}

/// `Digitally signs a file`: an adverb says nothing by itself.
fn is_adverb(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ly") && fold(word).is_none()
}

/// Verbs of looking that open a sentence as verbs, unless a preposition makes them nouns (`List of doors`).
static LOOKING: WordList = words!("list show view search");

/// One sentence with its words.
pub(crate) struct Clause<'a> {
    text: &'a str,
    words: Vec<Token>,
    /// The verb behind each word; worked out once, and only where the clause is read.
    verbs: OnceCell<Vec<Option<(&'static Verb, Form)>>>,
}

/// The sentences of a text, in order; bullets and lines end one too.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = Clause<'_>> {
    let mut start = 0;
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        let stops = matches!(character, '\n' | '。' | '！' | '；')
            || (character.is_whitespace() && matches!(previous, '.' | '!' | '?'));
        if stops {
            ends.push((start, at));
            start = at + character.len_utf8();
        }
        previous = character;
    }
    ends.push((start, text.len()));
    ends.into_iter().filter_map(move |(from, to)| Clause::of(text, from, to))
}

impl<'a> Clause<'a> {
    fn of(text: &'a str, from: usize, to: usize) -> Option<Clause<'a>> {
        let part = text.get(from..to)?;
        let tag = part.trim_start().starts_with('[').then(|| part.find(']')).flatten();
        let (from, part) = match tag.and_then(|at| part.get(at + 1..).map(|rest| (from + at + 1, rest))) {
            Some(rest) if rest.1.trim().len() > 3 => rest,
            _ => (from, part),
        };
        let mut words = split_text(part, WORDS_MAX);
        for word in &mut words {
            word.start += from;
            word.end += from;
        }
        (!words.is_empty()).then_some(Clause { text, words, verbs: OnceCell::new() })
    }

    /// The verb behind the word at `at`.
    fn fold(&self, at: usize) -> Option<(&'static Verb, Form)> {
        let verbs = self.verbs.get_or_init(|| (0..self.words.len()).map(|at| self.verb_at(at)).collect());
        verbs.get(at).copied().flatten()
    }

    fn verb_at(&self, at: usize) -> Option<(&'static Verb, Form)> {
        let (verb, form) = fold(self.word(at))?;
        Some((phrasal(verb.base, self.word(at + 1)).unwrap_or(verb), form))
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map(|word| word.text.as_str()).unwrap_or_default()
    }

    /// The text between two neighbouring words.
    fn gap(&self, at: usize) -> &str {
        let from = self.words.get(at).map(|word| word.end);
        let to = self.words.get(at + 1).map(|word| word.start);
        from.zip(to).and_then(|(from, to)| self.text.get(from..to)).unwrap_or_default()
    }

    /// The verb with which the sentence opens, alternatives taken into account.
    pub(crate) fn leading_verb(&self) -> Option<Reading> {
        let at = self.opening();
        let (verb, form) = self.fold(at)?;
        let after_opener = at > 0;
        let stands = match form {
            Form::Base | Form::Third => true,
            Form::Ing => after_opener || verb.kind == Kind::Strict,
            Form::Past => false,
        };
        if !stands || self.is_label(at) || self.is_advice(at) {
            return None;
        }
        let next = self.word(at + 1);
        let looks = LOOKING.has(verb.base) && !next.is_empty() && !is_preposition(next);
        let sure = verb.kind == Kind::Strict || form != Form::Base || DETERMINERS.has(next) || looks;
        let mut reading = self.reading(verb, at, sure);
        self.take_alternatives(at, form, &mut reading);
        Some(reading)
    }

    /// `Do not use this tool for …`, `Call this tool first` and `Start here` say nothing of what it does, and behind the first
    /// sentence `Accepts a string` speaks of arguments.
    fn is_advice(&self, at: usize) -> bool {
        let (word, next) = (self.word(at), self.word(at + 1));
        let denies = matches!(word, "do" | "does") && matches!(next, "not" | "nothing");
        let about_itself = next == "this" && ITSELF.has(self.word(at + 2));
        let guides = next == "here" || matches!(word, "start" | "begin") && matches!(next, "with" | "by");
        let is_later = self.words.first().is_some_and(|first| first.start > 0);
        denies || about_itself || guides || word == "accepts" && is_later
    }

    /// `Name: …` and `Search API` are headings, not verbs.
    fn is_label(&self, at: usize) -> bool {
        self.gap(at).starts_with(':') && at == 0
    }

    /// How many words stand before the one that should be the verb.
    fn opening(&self) -> usize {
        let mut at = 0;
        while at < self.words.len() {
            let word = self.word(at);
            let next = self.word(at + 1);
            let opens = match word {
                "use" | "using" => matches!(next, "this" | "the" | "to" | "when" | "it" | "for"),
                "enables" | "enable" | "enabling" => {
                    matches!(next, "you" | "users" | "agents" | "the" | "to" | "llms" | "ai" | "clients")
                        && matches!(self.word(at + 2), "to" | "user" | "agent" | "ai")
                        || matches!(fold(next), Some((_, Form::Ing)))
                }
                "help" => matches!(next, "you" | "users" | "to"),
                "with" => at > 0,
                _ => OPENERS.has(word) || is_adverb(word),
            };
            if !opens {
                break;
            }
            at += 1;
        }
        if at < self.words.len() { at } else { 0 }
    }

    fn reading(&self, verb: &'static Verb, at: usize, sure: bool) -> Reading {
        let token = self.words.get(at).cloned().unwrap_or(Token { text: String::new(), start: 0, end: 0 });
        let mut reading = Reading::of_verb(verb, RuleId::D1, &token, sure);
        let object = self.object(at);
        if let Some(turned) = turn(verb.base, &object) {
            reading.turn(turned.class, turned.says);
            reading.sure = true;
        } else if is_asking(verb.base, &object) {
            reading.turn(Class::Read, "asks a question");
            reading.sure = false;
        } else if verb.class == Class::Read && self.puts_into_store(verb, at) {
            reading.turn(Class::Write, "keeps what it found");
        } else if verb.base == "drop" && self.puts_down(at) {
            reading.turn(Class::Write, "puts something down somewhere");
            reading.sure = true;
        }
        reading.object = object.iter().map(|word| (*word).to_owned()).collect();
        reading
    }

    /// `Collect all doors into a file`, `Extract a door to a file`; not `Get the path to a file`.
    fn puts_into_store(&self, verb: &Verb, at: usize) -> bool {
        let gathers = GATHERING.has(verb.base);
        if !gathers && !FETCHING.has(verb.base) {
            return false;
        }
        (at + 1..self.words.len()).any(|index| {
            let leads = match self.word(index) {
                "into" => true,
                "to" => gathers,
                _ => false,
            };
            leads && (index + 1..index + 6).any(|behind| STORES.has(self.word(behind)))
        })
    }

    /// `Drop files onto an element`: nothing is lost.
    fn puts_down(&self, at: usize) -> bool {
        (at + 1..self.words.len()).any(|index| matches!(self.word(index), "onto" | "into"))
    }

    /// What the verb at `at` is done to: up to a preposition, a joiner or punctuation.
    fn object(&self, at: usize) -> Vec<&str> {
        let mut object = Vec::new();
        for index in at + 1..self.words.len().min(at + 9) {
            let gap = self.gap(index - 1);
            let word = self.word(index);
            let broken = gap.contains([',', ';', ':', '(', ')', '/', '.', '—']);
            // `A list of doors` is about doors.
            if word == "of" && self.word(index - 1) == "list" {
                continue;
            }
            if broken || is_preposition(word) || matches!(word, "and" | "or" | "then") {
                break;
            }
            if !DETERMINERS.has(word) || word == "all" {
                object.push(word);
            }
        }
        object
    }

    /// Rule D2: verbs beside the leading one.
    fn take_alternatives(&self, at: usize, form: Form, reading: &mut Reading) {
        let looks = reading.class == Class::Read;
        let mut direct = self.direct_neighbours(at, form);
        // Beside a verb of looking, `group` and `log` are nouns as often as verbs.
        direct.retain(|index| !looks || self.fold(*index).is_some_and(|(verb, _)| verb.kind != Kind::Either));
        let joined = self.joined_later(at, form);
        let listed = self.listed_after_colon(at, reading);
        for index in direct.into_iter().chain(joined).chain(listed) {
            let Some((verb, _)) = self.fold(index) else {
                continue;
            };
            let other = self.reading(verb, index, true);
            if severity(other.class) > severity(reading.class) {
                let object = std::mem::take(&mut reading.object);
                *reading = other;
                reading.object.extend(object);
            }
            reading.rule = RuleId::D2;
            reading.alternatives = true;
        }
    }

    /// `Create, patch, or delete`, `Read/create/update`, `Pause / resume`.
    fn direct_neighbours(&self, at: usize, form: Form) -> Vec<usize> {
        let mut found = Vec::new();
        let mut index = at + 1;
        while index < self.words.len() {
            let joiner = matches!(self.word(index), "and" | "or" | "then");
            let gap = self.gap(index - 1);
            let listed = gap.contains([',', '/', '(']);
            if joiner {
                index += 1;
                continue;
            }
            let previous_joins = matches!(self.word(index - 1), "and" | "or" | "then");
            let same = self.fold(index).is_some_and(|(_, found)| found == form);
            if !same || !(listed || previous_joins) {
                break;
            }
            found.push(index);
            index += 1;
        }
        found
    }

    /// `Create a new or update an existing door`: a strict verb in the same form, then a noun phrase.
    fn joined_later(&self, at: usize, form: Form) -> Vec<usize> {
        (at + 2..self.words.len())
            .filter(|index| {
                let joins = matches!(self.word(index - 1), "and" | "or" | "then");
                let strict =
                    self.fold(*index).is_some_and(|(verb, found)| verb.kind == Kind::Strict && found == form);
                joins && strict && self.takes_object(*index) && !self.is_considered(*index)
            })
            .collect()
    }

    /// A noun phrase follows, or a verb that is no noun is followed by anything: `and delete doors`, but not `and
    /// updates` or `how to open and close doors`.
    fn takes_object(&self, at: usize) -> bool {
        let next = self.word(at + 1);
        let plain = self.fold(at).is_some_and(|(verb, _)| !NOUNS_TOO.has(verb.base));
        let glued = self.gap(at).contains(['-', '/']);
        // `DELETE query`: the verb says what kind of query.
        let names_kind = Nouns::question().has(next)
            || matches!(
                next,
                "statement" | "statements" | "request" | "requests" | "operation" | "operations"
            );
        let goes_on = !next.is_empty() && !is_preposition(next) && !glued && !names_kind;
        let in_infinitive = at >= 3
            && self.fold(at - 2).is_some()
            && matches!(self.word(at - 3), "to" | "how" | "for" | "can" | "will");
        DETERMINERS.has(next) || plain && goes_on && !in_infinitive
    }

    /// `Manage a door: open, lock, or destroy it`; only behind a verb that changes something.
    fn listed_after_colon(&self, at: usize, reading: &Reading) -> Vec<usize> {
        if reading.class == Class::Read {
            return Vec::new();
        }
        let opens = |index: &usize| {
            let gap = self.gap(*index);
            gap.contains([':', '—'])
                || matches!(self.word(*index), "including" | "supports" | "supporting" | "such")
                || self.word(index + 1) == "including"
        };
        let Some(from) = (at..self.words.len()).find(opens) else {
            return Vec::new();
        };
        (from + 1..self.words.len())
            .filter(|index| {
                let gap = self.gap(index - 1);
                let begins = gap.contains([':', ',', '/', '—'])
                    || matches!(self.word(index - 1), "and" | "or" | "including" | "supports");
                let strict = self.fold(*index).is_some_and(|(verb, form)| {
                    verb.kind == Kind::Strict && matches!(form, Form::Base | Form::Ing)
                });
                begins && strict
            })
            .collect()
    }

    fn is_considered(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).map_or("", |index| self.word(index));
        (1..=3).any(|back| CONSIDERED.has(before(back))) || (1..=4).any(|back| DENYING.has(before(back)))
    }

    /// A verb that states a purpose: `to list`, `for listing`, `that lists`, `will list`.
    pub(crate) fn purpose_verb(&self) -> Option<Reading> {
        (1..self.words.len()).find_map(|at| {
            let (verb, form) = self.fold(at)?;
            let fits = match self.word(at - 1) {
                "to" | "will" | "can" => form == Form::Base,
                "for" | "supports" => form == Form::Ing,
                "that" | "which" | "it" | "tool" => form == Form::Third,
                _ => false,
            };
            let states = fits && verb.kind != Kind::Vague && !self.is_considered(at);
            states.then(|| {
                let mut reading = self.reading(verb, at, false);
                self.take_alternatives(at, form, &mut reading);
                reading
            })
        })
    }

    /// A sentence without a verb whose subject announces a report (`Fast code search across …`).
    pub(crate) fn noun_head(&self) -> Option<Reading> {
        // `Extends an image`: a verb that is not known is no noun phrase.
        if DETERMINERS.has(self.word(1)) {
            return None;
        }
        let end = (1..self.words.len())
            .find(|at| is_preposition(self.word(*at)) || self.gap(at - 1).contains([',', ':', '(']))
            .unwrap_or(self.words.len());
        let tells = |at: usize| {
            let word = self.word(at);
            Nouns::reporting().has(word)
                || Nouns::topic().has(word)
                || fold(word).is_some_and(|(verb, _)| verb.class == Class::Read)
        };
        let head = end.checked_sub(1)?;
        let is_tool =
            matches!(self.word(head), "tool" | "api" | "service" | "engine" | "command" | "utility");
        let at = if is_tool { head.checked_sub(1)? } else { head };
        if !tells(at) {
            return None;
        }
        let token = self.words.get(at)?;
        Some(Reading::new(Class::Read, RuleId::D1, token, false))
    }

    /// The verb that opens a bullet (`- delete: …`).
    pub(crate) fn bullet_verb(&self) -> Option<Reading> {
        let first = self.words.first()?;
        let before = self.text.get(..first.start)?.trim_end_matches([' ', '`', '\'', '"', '*']);
        if !before.ends_with(['-', '•', '*', '\n']) || before.ends_with('\n') {
            return None;
        }
        let (verb, _) = fold(&first.text)?;
        let names = self.gap(0).trim_start_matches(['`', '\'', '"', '*', ' ']).starts_with([':', '-', '–']);
        (names && verb.kind == Kind::Strict).then(|| self.reading(verb, 0, true))
    }
}
