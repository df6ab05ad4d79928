//! `portcullis log …`: one file for each command. All of them read the files of the log directly.

mod export;
mod line;
mod query;
mod tail;
mod verify;

use std::io;

use clap::Subcommand;

use crate::exit::{self, Code};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Show the newest records, and new ones as they come.
    Tail(tail::Tail),
    /// Search the log.
    Query(Box<query::Query>),
    /// Prove that nothing in the log was changed, removed or inserted.
    #[command(after_long_help = exit::TABLE)]
    Verify(verify::Verify),
    /// Write the log out for other tools.
    Export(export::Export),
}

impl LogCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            LogCommand::Tail(command) => command.run(output),
            LogCommand::Query(command) => command.run(output),
            LogCommand::Verify(command) => command.run(output),
            LogCommand::Export(command) => command.run(output),
        }
    }
}
