//! `portcullis grant …`: one file for each command.

mod create;
mod list;
mod revoke;
mod rotate;

use std::io;

use clap::Subcommand;

use crate::exit::Code;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum GrantCommand {
    /// Make a grant and print its token, once.
    Create(create::Create),
    /// List all grants.
    List(list::List),
    /// Give a grant a new token.
    Rotate(rotate::Rotate),
    /// End a grant at once, also where it is in use.
    Revoke(revoke::Revoke),
}

impl GrantCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            GrantCommand::Create(command) => command.run(output),
            GrantCommand::List(command) => command.run(output),
            GrantCommand::Rotate(command) => command.run(output),
            GrantCommand::Revoke(command) => command.run(output),
        }
    }
}
