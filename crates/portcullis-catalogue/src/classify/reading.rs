//! What one text was read to say: a class, the verb behind it and how sure the reading is.

use super::rules::RuleId;
use crate::Class;
use crate::words::{Kind, Token, Verb, WordList, words};

/// Words that are nouns elsewhere and plain verbs at the front of a name.
const OPENING: &[&str] = &[
    "list", "search", "query", "check", "view", "show", "ask", "chat", "think", "plot", "scrape", "crawl",
    "preview", "simulate", "quote", "diff", "research",
];

/// Verbs with which a look is told as often as an act: `Download the logs`, `Run a query`.
static FETCHING: WordList = words!("download export run execute exec invoke compile");

/// The reading of a name or of a description.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) class: Class,
    pub(crate) rule: RuleId,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The verb, if the class came from one.
    pub(crate) verb: Option<&'static Verb>,
    /// Whether the word stood where it can only be a verb.
    pub(crate) sure: bool,
    /// Whether the word opens a name as a verb, though it is a noun elsewhere (`drop_doors`).
    pub(crate) opens: bool,
    /// Whether several verbs stood side by side.
    pub(crate) alternatives: bool,
    /// What the object made of the verb, if anything.
    pub(crate) turned: Option<&'static str>,
    /// The words that the verb is done to.
    pub(crate) object: Vec<String>,
}

impl Reading {
    pub(crate) fn new(class: Class, rule: RuleId, token: &Token, sure: bool) -> Reading {
        Reading {
            class,
            rule,
            start: token.start,
            end: token.end,
            verb: None,
            sure,
            opens: false,
            alternatives: false,
            turned: None,
            object: Vec::new(),
        }
    }

    pub(crate) fn of_verb(verb: &'static Verb, rule: RuleId, token: &Token, sure: bool) -> Reading {
        let sure = sure && verb.kind != Kind::Vague;
        Reading { verb: Some(verb), ..Reading::new(verb.class, rule, token, sure) }
    }

    /// The object changes the class.
    pub(crate) fn turn(&mut self, class: Class, says: &'static str) {
        self.class = class;
        self.turned = Some(says);
    }

    /// A verb that can be nothing else, standing where verbs stand.
    pub(crate) fn is_firm(&self) -> bool {
        let plain = |verb: &Verb| {
            let opens = OPENING.contains(&verb.base);
            verb.kind == Kind::Strict || self.turned.is_some() || opens
        };
        self.sure && self.verb.is_none_or(plain)
    }

    /// A sentence that opens with a verb of change and nothing else: `Deletes the doors`.
    pub(crate) fn states_an_act(&self) -> bool {
        let strict = self.verb.is_some_and(|verb| verb.kind == Kind::Strict);
        let fetches = FETCHING.has(self.base());
        self.sure && strict && !fetches && self.class != Class::Read && !self.object.is_empty()
    }

    /// A verb that says nothing of its effect.
    pub(crate) fn is_vague(&self) -> bool {
        self.verb.is_some_and(|verb| verb.kind == Kind::Vague || verb.base == "write" && !self.sure)
    }

    /// The base form, or nothing.
    pub(crate) fn base(&self) -> &'static str {
        self.verb.map_or("", |verb| verb.base)
    }
}
