//! `portcullis server list`.

use std::io;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list, table};

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    reached: Reached,
}

impl List {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        self.reached.run(output, Missing::Refuse, "server list", Object::new(), shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let row = |server: &Value| vec![field(server, "name"), address(server), field(server, "kept_in")];
    let rows: Vec<Vec<String>> = list(answer, "servers").iter().map(row).collect();
    table(&["NAME", "ADDRESS OR COMMAND", "KEPT IN"], &rows)
}

/// Where it is, or what is started for it.
pub(super) fn address(server: &Value) -> String {
    let words = list(server, "command");
    match words.is_empty() {
        true => field(server, "url"),
        false => words
            .iter()
            .map(|word| shown_word(word.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// A word that would not stand out as one is quoted.
fn shown_word(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@,+".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("{word:?}"),
    }
}
