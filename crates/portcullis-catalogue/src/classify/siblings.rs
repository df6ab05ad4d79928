//! Rules B1 and B2: what the other tools of a server say about one tool.
//!
//! Computed once per server; the classifier then looks at one tool at a time.

use super::name::read_name;
use crate::Class;
use crate::definition::ToolDefinition;
use crate::words::{Kind, Nouns, Token, WordList, split_name, verb};

/// Tools that are looked at to learn what the server is for.
pub const SIBLINGS_MAX: usize = 2000;
/// A word in front of this share of the names, and at least of three, is the server's prefix.
const PREFIX_SHARE: f64 = 0.6;
/// Of a server about money, at least this share of the names hold a money noun.
const MONEY_SHARE: f64 = 0.15;
/// Words of the server's own name that open a tool's name and say nothing: at most so many are skipped.
const PREFIX_WORDS_MAX: usize = 2;

/// What a server's tools have in common.
#[derive(Clone, Debug, Default)]
pub struct Siblings {
    server_words: Vec<String>,
    prefix: Option<String>,
    /// The names of tools that run code given by the caller.
    runs_code: Vec<String>,
    /// Whether the server is about money.
    pub(crate) money: bool,
    /// How many names were read as Read, and how many as something else.
    read: usize,
    other: usize,
}

impl Siblings {
    /// No other tools are known.
    pub fn none() -> Siblings {
        Siblings::default()
    }

    /// Looks at all tools of a server.
    pub fn of(server: &str, tools: &[ToolDefinition]) -> Siblings {
        Siblings::of_names(server, tools.iter().map(|tool| tool.name.as_str()))
    }

    /// The same, where only the names are known.
    pub fn of_names<'a>(server: &str, names: impl Iterator<Item = &'a str>) -> Siblings {
        let names: Vec<(&str, Vec<Token>)> =
            names.take(SIBLINGS_MAX).map(|name| (name, split_name(name))).collect();
        let mut siblings = Siblings {
            server_words: split_name(server).into_iter().map(|word| word.text).collect(),
            prefix: common_prefix(&names),
            ..Siblings::default()
        };
        let mut about_money = 0;
        for (name, tokens) in &names {
            siblings.count(name, tokens);
            about_money += usize::from(tokens.iter().any(|word| Nouns::money().has(&word.text)));
        }
        let named = siblings.server_words.iter().any(|word| Nouns::money_context().has(word));
        let share = about_money as f64 / names.len().max(1) as f64;
        siblings.money = named || (about_money >= 2 && share >= MONEY_SHARE);
        siblings
    }

    fn count(&mut self, name: &str, tokens: &[Token]) {
        let Some(reading) = read_name(tokens, self.skip(tokens)) else {
            return;
        };
        if reading.class == Class::Read {
            self.read += 1;
        } else {
            self.other += 1;
        }
        let evaluates = matches!(reading.base(), "eval" | "exec" | "execute" | "evaluate");
        let runs = matches!(reading.base(), "run" | "execute" | "evaluate")
            && tokens.iter().any(|word| Nouns::code().has(&word.text));
        if reading.class == Class::Execute && (evaluates || runs) && self.runs_code.len() < 8 {
            self.runs_code.push(name.to_owned());
        }
    }

    /// How many words at the front of a name are the server's own.
    pub(crate) fn skip(&self, tokens: &[Token]) -> usize {
        let own = |word: &&Token| {
            let text = word.text.as_str();
            let found = verb(text);
            let strict = found.is_some_and(|verb| verb.kind == Kind::Strict);
            // A word of the server's name that is a verb of change may be meant as one here: `clear_history`.
            let acts = found.is_some_and(|verb| verb.class != Class::Read);
            let is_servers = || self.server_words.iter().any(|known| known == text);
            !strict && (self.prefix.as_deref() == Some(text) || !acts && is_servers())
        };
        let count = tokens.iter().take(PREFIX_WORDS_MAX).take_while(own).count();
        if count < tokens.len() { count } else { 0 }
    }

    /// Whether a word of the server's name is one of these.
    pub(crate) fn server_speaks(&self, words: &WordList) -> bool {
        self.server_words.iter().any(|word| words.has(word))
    }

    /// Another tool of the server that runs code.
    pub(crate) fn code_runner(&self, not: &str) -> Option<&str> {
        self.runs_code.iter().map(String::as_str).find(|name| *name != not)
    }

    /// Whether every name that could be read is Read, and there are some.
    pub(crate) fn all_read(&self) -> bool {
        self.other == 0 && self.read >= 2
    }
}

fn common_prefix(names: &[(&str, Vec<Token>)]) -> Option<String> {
    let mut counts: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for (_, tokens) in names {
        if let Some(first) = tokens.first().filter(|_| tokens.len() > 1) {
            *counts.entry(first.text.as_str()).or_default() += 1;
        }
    }
    let (word, count) = counts.into_iter().max_by_key(|(word, count)| (*count, *word))?;
    let common = count >= 3 && count as f64 >= names.len() as f64 * PREFIX_SHARE;
    let is_verb = verb(word).is_some_and(|verb| verb.kind == Kind::Strict || verb.class == Class::Read);
    (common && !is_verb).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_prefix_is_skipped_and_verbs_are_not() {
        let names = ["shell_list", "shell_run", "shell_get"];
        let siblings = Siblings::of_names("box", names.into_iter());
        assert_eq!(siblings.skip(&split_name("shell_list")), 1);
        let lists = Siblings::of_names("box", ["list_a", "list_b", "list_c"].into_iter());
        assert_eq!(lists.skip(&split_name("list_a")), 0);
    }

    #[test]
    fn a_verb_of_change_in_the_servers_name_is_no_prefix() {
        let siblings = Siblings::of_names("clear", ["clear_history", "get_history"].into_iter());
        assert_eq!(siblings.skip(&split_name("clear_history")), 0);
        let doors = Siblings::of_names("door", ["door_list", "get_key"].into_iter());
        assert_eq!(doors.skip(&split_name("door_list")), 1);
    }

    #[test]
    fn servers_about_money_are_known_by_their_tools() {
        let names = ["create_invoice", "list_refunds", "get_customer"];
        assert!(Siblings::of_names("acme", names.into_iter()).money);
        assert!(!Siblings::of_names("acme", ["get_door", "list_refunds"].into_iter()).money);
    }
}
