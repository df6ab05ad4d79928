//! `portcullis stack`: everything that the agents on this machine can call, over all client configurations.
//!
//! Offline unless `--live` is said: tools are looked up in the catalogue by package. What is not known there is
//! said to be unknown and counts as nothing, neither harmless nor dangerous.

mod gather;
mod show;

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_catalogue::inert_json;
use portcullis_clients::{Client, Home};
use portcullis_json::pretty;

use crate::exit::Code;
use crate::output::Output;
use crate::reached::fail;

#[derive(Args, Debug)]
pub(crate) struct Stack {
    /// Only this client; may be repeated.
    #[arg(long = "client", value_name = "NAME", value_parser = Client::parse)]
    clients: Vec<Client>,
    /// The project whose files are looked at beside your own.
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// Start or connect to each server and ask it for its tools.
    #[arg(long)]
    live: bool,
    /// Fail when an agent has a dangerous combination in its hands.
    #[arg(long)]
    fail_on_combination: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Another home directory.
    #[arg(long, value_name = "DIR", hide = true)]
    home: Option<PathBuf>,
}

impl Stack {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let Some(home) = self.home.clone().map(Home::at).or_else(Home::of_environment) else {
            return fail(output, "your home directory is not known; set `HOME`");
        };
        let project = std::path::absolute(&self.project)?;
        let found = portcullis_clients::find(&home, Some(&project), &self.clients);
        let stack = match gather::gather(found, self.live, output) {
            Ok(stack) => stack,
            Err(message) => return fail(output, &message),
        };
        if self.json {
            output.line(&inert_json(&pretty(&show::json(&stack))))?;
        } else {
            show::text(output, &stack)?;
        }
        let dangerous = stack.agents.iter().any(|agent| !agent.combinations.is_empty());
        Ok(match () {
            () if !stack.unread.is_empty() => Code::Failed,
            () if dangerous && self.fail_on_combination => Code::No,
            () => Code::Good,
        })
    }
}
