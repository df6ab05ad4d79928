//! `portcullis policy …`: one file for each command.

mod activate;
mod add;
mod check;
mod explain;
mod fmt;
mod import;
mod list;
mod report;
mod rollback;
mod schema;
mod show;
mod test;

use std::io;

use clap::Subcommand;

use crate::exit::{self, Code};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say everything that is wrong with policies, or probably not meant.
    #[command(after_long_help = exit::TABLE)]
    Check(check::Check),
    /// Show how a policy decides one call, and every rule that was looked at.
    #[command(after_long_help = exit::TABLE)]
    Explain(Box<explain::Explain>),
    /// Run policy test files.
    #[command(after_long_help = exit::TABLE)]
    Test(test::Test),
    /// Print the JSON Schema of the policy language, for editors.
    Schema(schema::Schema),
    /// Lay policies out in the usual way.
    #[command(after_long_help = exit::TABLE)]
    Fmt(fmt::Fmt),
    /// Turn the rules of PolicyLayer's Intercept into a policy.
    #[command(after_long_help = exit::TABLE)]
    Import(import::Import),
    /// Keep a version of a policy in the store.
    Add(add::Add),
    /// List the policies in the store.
    List(list::List),
    /// Print a policy of the store.
    Show(show::Show),
    /// Put a version in force.
    Activate(activate::Activate),
    /// Put the version in force that was so before.
    Rollback(rollback::Rollback),
}

impl PolicyCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            PolicyCommand::Check(command) => command.run(output),
            PolicyCommand::Explain(command) => command.run(output),
            PolicyCommand::Test(command) => command.run(output),
            PolicyCommand::Schema(command) => command.run(output),
            PolicyCommand::Fmt(command) => command.run(output),
            PolicyCommand::Import(command) => command.run(output),
            PolicyCommand::Add(command) => command.run(output),
            PolicyCommand::List(command) => command.run(output),
            PolicyCommand::Show(command) => command.run(output),
            PolicyCommand::Activate(command) => command.run(output),
            PolicyCommand::Rollback(command) => command.run(output),
        }
    }
}
