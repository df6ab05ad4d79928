//! What the tools work on: notes, messages to nobody, and play money. Bounded, in memory.

use std::collections::{BTreeMap, VecDeque};

/// Notes that are kept.
pub(crate) const NOTES_MAX: usize = 100;
/// Messages that are remembered.
const MESSAGES_MAX: usize = 100;
/// Play money at the start.
const CREDITS: i64 = 1_000;

/// Everything the playground knows.
pub(crate) struct World {
    notes: BTreeMap<String, String>,
    messages: VecDeque<(String, String)>,
    credits: i64,
}

impl World {
    pub(crate) fn new() -> World {
        let notes = [
            ("welcome", "This is the playground. Everything here is in memory and harmless."),
            ("shopping", "Bread, cheese, two lemons."),
            ("ideas", "Ask before deleting. Pay only what was agreed."),
        ];
        let notes = notes.map(|(title, text)| (title.to_owned(), text.to_owned()));
        World { notes: notes.into(), messages: VecDeque::new(), credits: CREDITS }
    }

    pub(crate) fn titles(&self) -> Vec<&str> {
        self.notes.keys().map(String::as_str).collect()
    }

    pub(crate) fn note(&self, title: &str) -> Result<&str, String> {
        self.notes.get(title).map(String::as_str).ok_or_else(|| no_note(title))
    }

    pub(crate) fn titles_with(&self, text: &str) -> Vec<&str> {
        let wanted = text.to_lowercase();
        let holds = |title: &str, text: &str| format!("{title}\n{text}").to_lowercase().contains(&wanted);
        let found = self.notes.iter().filter(|(title, text)| holds(title, text));
        found.map(|(title, _)| title.as_str()).collect()
    }

    pub(crate) fn write(&mut self, title: &str, text: &str) -> Result<(), String> {
        if self.notes.len() >= NOTES_MAX && !self.notes.contains_key(title) {
            return Err(format!("there are {NOTES_MAX} notes already; delete one first"));
        }
        self.notes.insert(title.to_owned(), text.to_owned());
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        if self.notes.contains_key(to) {
            return Err(format!("there is a note `{to}` already"));
        }
        let text = self.notes.remove(from).ok_or_else(|| no_note(from))?;
        self.notes.insert(to.to_owned(), text);
        Ok(())
    }

    pub(crate) fn delete(&mut self, title: &str) -> Result<(), String> {
        self.notes.remove(title).map(|_| ()).ok_or_else(|| no_note(title))
    }

    pub(crate) fn wipe(&mut self) -> usize {
        std::mem::take(&mut self.notes).len()
    }

    pub(crate) fn send(&mut self, to: &str, text: &str) -> usize {
        if self.messages.len() >= MESSAGES_MAX {
            self.messages.pop_front();
        }
        self.messages.push_back((to.to_owned(), text.to_owned()));
        self.messages.len()
    }

    pub(crate) fn pay(&mut self, amount: i64) -> Result<i64, String> {
        if amount > self.credits {
            return Err(format!("only {} credits of play money are left", self.credits));
        }
        self.credits -= amount;
        Ok(self.credits)
    }
}

fn no_note(title: &str) -> String {
    format!("there is no note `{title}`")
}
