//! `portcullis server add`.

use std::io;

use clap::Args;
use portcullis_json::Object;

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, fail, pair};

#[derive(Args, Debug)]
pub(crate) struct Add {
    /// What to call it; the gateway answers for it at `/mcp/NAME`.
    name: String,
    /// Where it is: `http` or `https`, or `builtin:playground`.
    #[arg(long)]
    url: String,
    /// What to send along: `NAME=env:VARIABLE`, `NAME=file:PATH`, or a value, which is kept
    /// sealed; others on this machine may see it on the command line, so prefer the first two.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    headers: Vec<(String, String)>,
    /// The class of a tool, over what the catalogue's rules say: `delete_note=Destructive`.
    #[arg(long = "class", value_name = "TOOL=CLASS", value_parser = pair)]
    classes: Vec<(String, String)>,
    #[command(flatten)]
    reached: Reached,
}

impl Add {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let mut headers = Object::new();
        for (name, value) in &self.headers {
            match absolute(value) {
                Ok(value) => headers.insert(name, value.into()),
                Err(message) => return fail(output, &message),
            };
        }
        let classes =
            self.classes.iter().fold(Object::new(), |all, (tool, class)| all.with(tool, class.as_str()));
        let arguments = Object::new()
            .with("name", self.name.as_str())
            .with("url", self.url.as_str())
            .with("headers", headers)
            .with("classes", classes);
        let next = format!(
            "server `{0}` is added; next: `portcullis policy add NAME --server {0} FILE --activate`",
            self.name
        );
        self.reached.run(output, Missing::Create, "server add", arguments, |_| vec![next])
    }
}

/// The gateway runs elsewhere: a path must mean the same there.
fn absolute(value: &str) -> Result<String, String> {
    match value.strip_prefix("file:") {
        None => Ok(value.to_owned()),
        Some(path) => match std::path::absolute(path) {
            Ok(path) => Ok(format!("file:{}", path.display())),
            Err(error) => Err(format!("cannot tell where `{path}` is: {error}")),
        },
    }
}
