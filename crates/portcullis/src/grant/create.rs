//! `portcullis grant create`.

use std::io;

use clap::Args;
use jiff::{Timestamp, ToSpan as _};
use portcullis_json::{Object, Value};

use crate::admin::Missing;
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, fail, field, seconds};

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// What to call it.
    label: String,
    /// The server it may use.
    #[arg(long)]
    server: String,
    /// The policy that judges its calls.
    #[arg(long)]
    policy: String,
    /// A word for policies to look at; may be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// After how long it ends by itself: `15m`, `36h`, `7d`.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    expires_in: Option<u64>,
    #[command(flatten)]
    reached: Reached,
}

impl Create {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let tags: Vec<Value> = self.tags.iter().map(|tag| tag.as_str().into()).collect();
        let mut arguments = Object::new()
            .with("label", self.label.as_str())
            .with("server", self.server.as_str())
            .with("policy", self.policy.as_str())
            .with("tags", tags);
        if let Some(seconds) = self.expires_in {
            let span = i64::try_from(seconds).ok().and_then(|seconds| 0.seconds().try_seconds(seconds).ok());
            let expires = span.and_then(|span| Timestamp::now().checked_add(span).ok());
            match expires {
                Some(expires) => arguments.insert("expires", expires.to_string().into()),
                None => return fail(output, "`--expires-in` is longer than any calendar"),
            };
        }
        self.reached.run(output, Missing::Refuse, "grant create", arguments, shown)
    }
}

/// The token with what to do with it.
pub(super) fn shown(answer: &Value) -> Vec<String> {
    let label = answer.get("grant").map(|grant| field(grant, "label")).unwrap_or_default();
    vec![
        format!("the token of grant `{label}`, shown this once:"),
        String::new(),
        format!("  {}", field(answer, "token")),
        String::new(),
        "give it to the agent's client as `Authorization: Bearer …`".to_owned(),
    ]
}
