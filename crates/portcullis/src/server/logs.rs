//! `portcullis server logs`.

use std::io;

use clap::Args;
use portcullis_catalogue::inert;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list};

#[derive(Args, Debug)]
pub(crate) struct Logs {
    /// The server's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Logs {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("name", self.name.as_str());
        self.reached.run(output, Missing::Refuse, "server logs", arguments, shown)
    }
}

/// What a stranger's program wrote must not steer the terminal.
fn shown(answer: &Value) -> Vec<String> {
    let line = |line: &Value| {
        let (at, pid) = (field(line, "at"), field(line, "pid"));
        format!("{at} [{pid}] {}", inert(&field(line, "text")))
    };
    list(answer, "lines").iter().map(line).collect()
}
