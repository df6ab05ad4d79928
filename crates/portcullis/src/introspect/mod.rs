//! Asking a server, live, which tools it has: over the standard streams of a process, over
//! streamable HTTP, or over the older HTTP with server-sent events.
//!
//! Gives the definitions as the server published them and judges nothing. It finds out the era, asks for every
//! page, and ends the session or the process whatever happens; everything is bounded. `scan`, `stack` and
//! `server check` call it. Calls of agents do not come by here: they go through the gateway.

mod conversation;
mod http;
mod lines;
mod process;
mod sse;

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use portcullis_gateway::Reach;
use portcullis_json::Value;
use portcullis_state::Secret;

use conversation::Conversation;
pub(crate) use http::{HttpClient, address, cause, client};

/// How long listing may take if nobody says otherwise; a package may have to be downloaded first.
pub(crate) const WAIT: Duration = Duration::from_secs(120);
/// Bytes of one message.
const MESSAGE_BYTES_MAX: usize = 32 << 20;
/// Objects inside one another in a message.
const MESSAGE_DEPTH_MAX: usize = 128;
/// Messages of a server that are read while one answer is waited for.
const MESSAGES_MAX: usize = 10_000;

/// Where the server is.
pub(crate) enum Target {
    /// A program that speaks over its standard streams.
    Command(LocalCommand),
    /// An address.
    Url {
        /// `http` or `https`.
        url: String,
        /// What is spoken there.
        spoken: Spoken,
        /// What to send along.
        headers: Vec<(String, Secret)>,
        /// Where its name may lead.
        reach: Reach,
    },
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spoken {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, of 2024-11-05.
    Sse,
}

impl Spoken {
    /// Its word in configurations.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Spoken::Http => "http",
            Spoken::Sse => "sse",
        }
    }
}

/// A program to start.
pub(crate) struct LocalCommand {
    /// The program and its arguments; no shell reads them.
    pub(crate) argv: Vec<String>,
    /// Set for the program.
    pub(crate) env: Vec<(String, Secret)>,
    /// Whether that is all; otherwise it comes on top of our own environment.
    pub(crate) is_env_whole: bool,
    /// Where it runs; here if nowhere else.
    pub(crate) cwd: Option<PathBuf>,
}

/// What a server told.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What it calls itself.
    pub(crate) name: Option<String>,
    /// The version it states.
    pub(crate) version: Option<String>,
    /// The revision of the protocol that was spoken.
    pub(crate) revision: String,
    /// The definitions, as published.
    pub(crate) tools: Vec<Value>,
    /// Lines on its standard output that were no messages.
    pub(crate) noise: usize,
}

/// Why there is no answer.
#[derive(Debug)]
enum Fault {
    /// Something came back, and it is not MCP as we asked for it.
    Odd(String),
    /// There is no use in going on.
    Final(String),
}

impl Fault {
    fn into_text(self) -> String {
        match self {
            Fault::Odd(text) | Fault::Final(text) => text,
        }
    }
}

/// Lists the tools of a server. `shown` is how messages call it. Not to be called from async code.
pub(crate) fn list(
    target: Target,
    shown: &str,
    wait: Duration,
    progress: &mut dyn FnMut(&str),
) -> Result<Seen, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
    runtime.block_on(async {
        tokio::select! {
            seen = list_within(target, shown, wait, progress) => seen,
            _ = tokio::signal::ctrl_c() => Err("interrupted".to_owned()),
        }
    })
}

/// The same, inside a runtime.
pub(crate) async fn list_within(
    target: Target,
    shown: &str,
    wait: Duration,
    progress: &mut dyn FnMut(&str),
) -> Result<Seen, String> {
    let mut conversation = Conversation::open(target, shown, progress)?;
    let listed = tokio::time::timeout(wait, conversation.listing(wait)).await;
    conversation.close().await;
    listed.map_err(|_| format!("{shown} did not list its tools within {} s", wait.as_secs()))?
}
