//! `portcullis server add`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::introspect::Spoken;
use crate::output::Output;
use crate::reached::{Reached, fail, pair};

#[derive(Args)]
pub(crate) struct Add {
    /// What to call it; the gateway answers for it at `/mcp/NAME`.
    name: String,
    /// Where it is: `http` or `https`, or `builtin:playground`.
    #[arg(long, required_unless_present = "command", conflicts_with_all = ["command", "env", "cwd"])]
    url: Option<String>,
    /// What is spoken at the address: streamable HTTP, or the older HTTP with server-sent events.
    #[arg(long, value_enum, default_value_t = Spoken::Http, requires = "url")]
    transport: Spoken,
    /// What to send along: `NAME=env:VARIABLE`, `NAME=file:PATH`, or a value, which is kept
    /// sealed; others on this machine may see it on the command line, so prefer the first two.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair)]
    headers: Vec<(String, String)>,
    /// The class of a tool, over what the catalogue's rules say: `delete_note=Destructive`.
    #[arg(long = "class", value_name = "TOOL=CLASS", value_parser = pair)]
    classes: Vec<(String, String)>,
    /// What a program gets in its environment: `NAME=env:VARIABLE`, `NAME=file:PATH`, `NAME=plain:VALUE` for
    /// what is no secret, or a value, which is kept sealed and taken out of answers. It gets nothing else.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// Also give the program `PATH`, `HOME` and the like as the gateway has them.
    #[arg(long, requires = "command")]
    inherit_env: bool,
    /// Where the program runs.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Let all sessions and grants share one process of the program.
    #[arg(long, requires = "command")]
    shared_process: bool,
    /// The name in the URL may lead to a private or loopback address.
    #[arg(long)]
    allow_private: bool,
    #[command(flatten)]
    reached: Reached,
    /// Instead of an address: a program on this machine, and its arguments. No shell reads it.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// INVARIANT: secrets do not print. Headers, variables, arguments and addresses may hold some.
impl std::fmt::Debug for Add {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Add").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Add {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let (headers, env) = match (values(&self.headers), values(&self.env)) {
            (Ok(headers), Ok(env)) => (headers, env),
            (Err(message), _) | (_, Err(message)) => return fail(output, &message),
        };
        let classes =
            self.classes.iter().fold(Object::new(), |all, (tool, class)| all.with(tool, class.as_str()));
        let words: Vec<Value> = self.command.iter().map(|word| word.as_str().into()).collect();
        let arguments = Object::new()
            .with("name", self.name.as_str())
            .with("headers", headers)
            .with("env", env)
            .with("command", words)
            .with("inherit_env", self.inherit_env)
            .with("shared", self.shared_process)
            .with("classes", classes)
            .with("allow_private", self.allow_private);
        let spoken = self.transport.word();
        let arguments = self
            .url
            .iter()
            .fold(arguments, |all, url| all.with("url", url.as_str()).with("transport", spoken));
        let cwd = self.cwd.as_ref().and_then(|path| std::path::absolute(path).ok());
        let cwd = cwd.map(|path| path.display().to_string());
        let arguments = cwd.iter().fold(arguments, |all, cwd| all.with("cwd", cwd.as_str()));
        let next = format!(
            "server `{0}` is added; next: `portcullis policy add NAME --server {0} FILE --activate`",
            self.name
        );
        self.reached.run(output, Missing::Create, "server add", arguments, |_| vec![next])
    }
}

fn values(pairs: &[(String, String)]) -> Result<Object, String> {
    pairs.iter().try_fold(Object::new(), |all, (name, value)| Ok(all.with(name, absolute(value)?)))
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
