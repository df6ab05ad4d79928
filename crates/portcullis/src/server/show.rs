//! `portcullis server show`.

use std::io;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, field};

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The server's name.
    name: String,
    #[command(flatten)]
    reached: Reached,
}

impl Show {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = Object::new().with("name", self.name.as_str());
        self.reached.run(output, Missing::Refuse, "server show", arguments, shown)
    }
}

fn shown(answer: &Value) -> Vec<String> {
    let Some(server) = answer.get("server") else {
        return Vec::new();
    };
    let mut lines: Vec<String> = ["name", "url", "kept_in", "created"]
        .iter()
        .map(|key| format!("{key}: {}", field(server, key)))
        .collect();
    for key in ["headers", "classes"] {
        lines.push(format!("{key}:"));
        let members = server.get(key).and_then(Value::as_object).into_iter().flatten();
        lines.extend(
            members.map(|member| format!("  {}: {}", member.key, member.value.as_str().unwrap_or("-"))),
        );
    }
    lines
}
