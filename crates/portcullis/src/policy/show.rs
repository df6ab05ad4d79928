//! `portcullis policy show`.

use std::io;

use clap::Args;
use portcullis_json::{Number, Object, Value, pretty};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::Reached;

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The policy's name.
    name: String,
    /// Which version; the one in force by default.
    #[arg(long)]
    version: Option<u32>,
    #[command(flatten)]
    reached: Reached,
}

impl Show {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let arguments = version_of(&self.name, self.version);
        let shown = |answer: &Value| answer.get("document").map(pretty).into_iter().collect();
        self.reached.run(output, Missing::Refuse, "policy show", arguments, shown)
    }
}

/// The arguments that name a policy and perhaps a version.
pub(super) fn version_of(name: &str, version: Option<u32>) -> Object {
    let arguments = Object::new().with("name", name);
    match version {
        Some(version) => arguments.with("version", Value::Number(Number::from(i64::from(version)))),
        None => arguments,
    }
}
