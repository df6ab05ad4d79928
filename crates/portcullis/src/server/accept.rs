//! `portcullis server accept`.

use std::io;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field};

#[derive(Args, Debug)]
pub(crate) struct Accept {
    /// The server's name.
    name: String,
    /// The tool whose definition changed.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    tool: Option<String>,
    /// Everything that `server changes` has shown.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    reached: Reached,
}

impl Accept {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let tool = self.tool.as_deref().map_or(Value::Null, Value::from);
        let arguments =
            Object::new().with("name", self.name.as_str()).with("tool", tool).with("all", self.all);
        self.reached.run(output, Missing::Refuse, "server accept", arguments, shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    vec![match field(answer, "accepted").as_str() {
        "-" => format!("nothing is withheld at server `{}`", field(answer, "server")),
        tools => format!("accepted at server `{}`: {tools}", field(answer, "server")),
    }]
}
