//! `portcullis catalogue …`: what is known about servers and their tools, here and as shipped.
//!
//! One file for each command. `place.rs` says where the index of this machine is; the one that ships is in the
//! program. Nothing here needs a running gateway.

mod diff;
mod export;
mod import;
mod list;
mod place;
mod registry;
mod search;
mod set_class;
mod show;

use std::io;

use clap::Subcommand;

use crate::exit::{self, Code};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogueCommand {
    /// Find tools by words, class, level and server.
    Search(search::Search),
    /// Show everything that is known of a server, or of one of its tools.
    #[command(after_long_help = exit::TABLE)]
    Show(show::Show),
    /// List the servers, and how many tools are known from where.
    List(list::List),
    /// Take in scans, lists of tools, `server.json` files, JSON lines, or a registry.
    #[command(after_long_help = exit::TABLE)]
    Import(import::Import),
    /// Compare two lists of a server's tools: two files, two versions, or two times.
    #[command(after_long_help = exit::TABLE)]
    Diff(diff::Diff),
    /// Write what is known as JSON lines.
    Export(export::Export),
    /// Set the class of a tool by hand; the computed one stays beside it.
    SetClass(set_class::SetClass),
}

impl CatalogueCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            CatalogueCommand::Search(command) => command.run(output),
            CatalogueCommand::Show(command) => command.run(output),
            CatalogueCommand::List(command) => command.run(output),
            CatalogueCommand::Import(command) => command.run(output),
            CatalogueCommand::Diff(command) => command.run(output),
            CatalogueCommand::Export(command) => command.run(output),
            CatalogueCommand::SetClass(command) => command.run(output),
        }
    }
}
