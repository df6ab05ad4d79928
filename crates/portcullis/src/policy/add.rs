//! `portcullis policy add`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::files;
use crate::output::Output;
use crate::reached::{Reached, fail, field};

#[derive(Args, Debug)]
pub(crate) struct Add {
    /// What to call it.
    name: String,
    /// The policy document; `-` is standard input.
    file: PathBuf,
    /// The server that it is for.
    #[arg(long)]
    server: String,
    /// Put it in force at once.
    #[arg(long)]
    activate: bool,
    #[command(flatten)]
    reached: Reached,
}

impl Add {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let source = match files::read(&self.file).map(String::from_utf8) {
            Ok(Ok(source)) => source,
            Ok(Err(_)) => return fail(output, &format!("`{}` is not UTF-8 text", self.file.display())),
            Err(message) => return fail(output, &message),
        };
        let arguments = Object::new()
            .with("name", self.name.as_str())
            .with("server", self.server.as_str())
            .with("source", source)
            .with("activate", self.activate);
        self.reached.run(output, Missing::Create, "policy add", arguments, shown)
    }
}

/// What is in force now, and what to do next.
pub(super) fn shown(answer: &Value) -> Vec<String> {
    let (name, version) = (field(answer, "name"), field(answer, "version"));
    let in_force = answer.get("in_force").and_then(Value::as_bool).unwrap_or(false);
    vec![match in_force {
        true => format!("version {version} of policy `{name}` is in force"),
        false => format!(
            "version {version} of policy `{name}` is kept; put it in force with \
             `portcullis policy activate {name} --version {version}`"
        ),
    }]
}
