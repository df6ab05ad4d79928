//! `portcullis wrap`: one server for one client, on standard input and output, without a running gateway.
//!
//! A client's configuration starts it in place of the server. `plan.rs` reads what is wanted, `policy.rs`
//! finds the policy, `state.rs` opens the data directory together with other wraps, `pipes.rs` is the
//! client's side. Standard output carries MCP alone; everything of ours goes to standard error.

mod environment;
mod pipes;
mod plan;
mod policy;
mod state;

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use portcullis_catalogue::recommend;
use portcullis_gateway::{Gateway, PipeClient, PipeEnd, serve_pipe};

use crate::exit::Code;
use crate::instance::Signals;
use crate::introspect::Spoken;
use crate::output::Output;
use crate::reached::pair;
use crate::telemetry::Telemetry;
use plan::Plan;
use state::SharedState;

#[derive(Args)]
pub(crate) struct Wrap {
    /// The policy, as a file; it is read once, at the start.
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    policy: Option<PathBuf>,
    /// How strict the recommended policy of the server's tools is; `recommended` without `--policy`.
    #[arg(long, value_enum)]
    profile: Option<Profile>,
    /// The server at `--url` is a gateway, which decides: everything is passed on, and recorded here too.
    #[arg(long, requires = "url", conflicts_with_all = ["policy", "profile"])]
    behind_gateway: bool,
    /// What the client is called in the log and in limits; the command's name if not given.
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Where the log, the counters and kept policies are; `portcullis` in the user's data directory if not
    /// given.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A variable for the server, beside those that `wrap` was started with; the value may be `env:NAME` or
    /// `file:PATH`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// Where the server runs.
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<PathBuf>,
    /// A server that is reached over HTTP, in place of a command.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// What is spoken at `--url`: streamable HTTP, or the older HTTP with server-sent events.
    #[arg(long, value_enum, default_value_t = Spoken::Http, requires = "url")]
    transport: Spoken,
    /// Sent along with every request to `--url`; the value may be `env:NAME`, `file:PATH`, or `bearer-env:NAME` for
    /// `Bearer` and the variable.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    headers: Vec<(String, String)>,
    /// What to report on standard error: a level, or levels by module.
    #[arg(long, default_value = "warn,server_output=debug", value_name = "FILTER")]
    log_filter: String,
    /// The server's program and its arguments.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

/// INVARIANT: secrets do not print. Variables, headers and arguments may hold some.
impl std::fmt::Debug for Wrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wrap")
            .field("label", &self.label)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// A person is asked about everything that changes something.
    Strict,
    /// Reading is open, changing is limited, destroying is hidden.
    Recommended,
    /// Few limits; a person is asked about what cannot be undone.
    Permissive,
}

impl Profile {
    fn in_catalogue(self) -> recommend::Profile {
        match self {
            Profile::Strict => recommend::Profile::Strict,
            Profile::Recommended => recommend::Profile::Recommended,
            Profile::Permissive => recommend::Profile::Permissive,
        }
    }
}

impl Wrap {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self.wrap() {
            Ok(PipeEnd::ServerGone) => {
                output.error("the server has ended; the client has to start it again")?;
                Ok(Code::Failed)
            }
            Ok(_) => Ok(Code::Good),
            Err(message) => {
                output.error(&message)?;
                Ok(Code::Failed)
            }
        }
    }

    fn wrap(self) -> Result<PipeEnd, String> {
        Telemetry::lines(&self.log_filter).start()?;
        let plan = Plan::read(self)?;
        // One client, one server: nothing is gained by handing calls from thread to thread.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
        let ended = runtime.block_on(serve(plan));
        // Standard input may still be waited for.
        runtime.shutdown_background();
        ended
    }
}

async fn serve(plan: Plan) -> Result<PipeEnd, String> {
    let (stop, _hangup) = Signals::catch()?.split();
    let (input, output) = (pipes::input()?, pipes::output()?);
    let state = SharedState::open(&plan.data_dir, &plan.label)?;
    let gateway = Arc::new(Gateway::new(plan.settings(), state.for_gateway()?, plan.snapshot(None)?));
    let mut stop = pin!(stop);
    let is_ready = tokio::select! {
        found = judged(&plan, &gateway) => found.map(|()| true),
        () = &mut stop => Ok(false),
    };
    let ended = match is_ready {
        Ok(true) => {
            let client = PipeClient { grant: plan.grant_id(), server: plan.server_name() };
            let beside = [state.keep_counters(), state.hear_of_accepted_tools(&gateway, plan.server_name())];
            let ended = serve_pipe(gateway.clone(), client, input, output, stop).await;
            for task in beside {
                task.abort();
                // It holds the gateway, which holds the log.
                let _ = task.await;
            }
            Ok(ended)
        }
        Ok(false) => Ok(PipeEnd::Stopped),
        Err(message) => Err(message),
    };
    gateway.end_processes().await;
    drop(gateway);
    state.close();
    ended
}

/// Finds the policy and puts it in force.
async fn judged(plan: &Plan, gateway: &Arc<Gateway>) -> Result<(), String> {
    let policy = policy::find(plan, gateway).await?;
    gateway.replace(plan.snapshot(Some(policy))?);
    Ok(())
}
