//! The command line: which commands there are.

use std::io;

use clap::{Parser, Subcommand};

use crate::exit::{self, Code};
use crate::output::Output;
use crate::policy::PolicyCommand;

/// The open, self-hosted policy gateway for MCP.
///
/// Portcullis sits between AI agents and the MCP servers they use: nothing reaches a server without
/// passing the owner's rules.
#[derive(Debug, Parser)]
#[command(name = "portcullis", version, after_long_help = exit::TABLE, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check, explain, test, format and import policies.
    #[command(subcommand, arg_required_else_help = true)]
    Policy(PolicyCommand),
}

impl Cli {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self.command {
            Command::Policy(command) => command.run(output),
        }
    }
}
