//! `portcullis server …`: one file for each command.

mod accept;
mod add;
mod changes;
mod check;
mod list;
mod remove;
mod show;

use std::io;

use clap::Subcommand;

use crate::exit::Code;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// Put a server behind the gateway.
    Add(add::Add),
    /// List all servers.
    List(list::List),
    /// Show one server.
    Show(show::Show),
    /// Ask a server who it is, as the gateway would, and list its tools.
    Check(check::Check),
    /// Show what differs from the pinned definitions of its tools, side by side.
    Changes(changes::Changes),
    /// Accept the changed definition of a tool, once it was looked at.
    Accept(accept::Accept),
    /// Take a server away.
    Remove(remove::Remove),
}

impl ServerCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            ServerCommand::Add(command) => command.run(output),
            ServerCommand::List(command) => command.run(output),
            ServerCommand::Show(command) => command.run(output),
            ServerCommand::Check(command) => command.run(output),
            ServerCommand::Changes(command) => command.run(output),
            ServerCommand::Accept(command) => command.run(output),
            ServerCommand::Remove(command) => command.run(output),
        }
    }
}
