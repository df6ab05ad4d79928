//! `portcullis server check`.

use std::io;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field, list, table};

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The server's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Check {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("name", self.name.as_str());
        self.reached.run(output, Missing::Refuse, "server check", arguments, shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let tools = list(answer, "tools");
    let (name, era) = (field(answer, "name"), field(answer, "era"));
    let mut lines = vec![format!("server `{name}` answers in revision {era} and has {} tools", tools.len())];
    let row = |tool: &Value| vec![field(tool, "name"), field(tool, "class"), field(tool, "class_source")];
    let rows: Vec<Vec<String>> = tools.iter().map(row).collect();
    lines.extend(table(&["TOOL", "CLASS", "SAYS"], &rows));
    lines
}
