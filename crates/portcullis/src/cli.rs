//! The command line: which commands there are.

use std::io;

use clap::{Parser, Subcommand};

use crate::catalogue::CatalogueCommand;
use crate::demo::Demo;
use crate::exit::{self, Code};
use crate::grant::GrantCommand;
use crate::log::LogCommand;
use crate::output::Output;
use crate::policy::PolicyCommand;
use crate::protect::Protect;
use crate::reference::ConfigCommand;
use crate::scan::Scan;
use crate::serve::Serve;
use crate::server::ServerCommand;
use crate::stack::Stack;
use crate::up::Up;
use crate::wrap::Wrap;

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
    /// Start a gateway with a playground behind it, ready to be tried.
    #[command(after_long_help = exit::TABLE)]
    Up(Up),
    /// Run the gateway as a configuration file says.
    #[command(after_long_help = exit::TABLE)]
    Serve(Serve),
    /// Put one server behind its policy, for a client that starts it: no running gateway is needed.
    #[command(after_long_help = exit::TABLE)]
    Wrap(Box<Wrap>),
    /// Watch an agent meet the gateway, in the terminal.
    Demo(Demo),
    /// Put the servers of your agents' configurations behind a policy, or take them back out.
    ///
    /// Looks at the files of Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Codex and Gemini CLI, shows
    /// what would change, keeps a backup, and lets each client start `portcullis wrap` in front of its servers.
    #[command(after_long_help = exit::TABLE)]
    Protect(Protect),
    /// Everything that the agents on this machine can call, and what is dangerous together.
    #[command(after_long_help = exit::TABLE)]
    Stack(Stack),
    /// Say what a server's tools can do, how risky that is, and which policy to use.
    #[command(after_long_help = exit::TABLE)]
    Scan(Box<Scan>),
    /// Add, list, show, check and remove servers.
    #[command(subcommand, arg_required_else_help = true)]
    Server(ServerCommand),
    /// Create, list, rotate and revoke grants.
    #[command(subcommand, arg_required_else_help = true)]
    Grant(GrantCommand),
    /// Check, explain, test, format and import policies; keep versions of them.
    #[command(subcommand, arg_required_else_help = true)]
    Policy(PolicyCommand),
    /// Read, search, verify and export the decision log.
    #[command(subcommand, arg_required_else_help = true)]
    Log(LogCommand),
    /// What is known about servers and their tools: search, show, import, compare, export.
    #[command(subcommand, arg_required_else_help = true)]
    Catalogue(CatalogueCommand),
    /// About the configuration file.
    #[command(subcommand, arg_required_else_help = true)]
    Config(ConfigCommand),
}

impl Cli {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self.command {
            Command::Up(command) => command.run(output),
            Command::Serve(command) => command.run(output),
            Command::Wrap(command) => command.run(output),
            Command::Demo(command) => command.run(output),
            Command::Protect(command) => command.run(output),
            Command::Stack(command) => command.run(output),
            Command::Scan(command) => command.run(output),
            Command::Server(command) => command.run(output),
            Command::Grant(command) => command.run(output),
            Command::Policy(command) => command.run(output),
            Command::Log(command) => command.run(output),
            Command::Catalogue(command) => command.run(output),
            Command::Config(command) => command.run(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT: secrets do not print.
    #[test]
    fn what_is_sent_along_is_not_in_the_debug_text() {
        let commands: [&[&str]; 4] = [
            &["server", "add", "x", "--url", "http://h", "--header", "A=hunter2"],
            &["server", "add", "x", "--env", "A=hunter2", "--", "program", "--key=hunter2"],
            &["scan", "--url", "http://h", "--header", "A=hunter2"],
            &["wrap", "--url", "http://h", "--header", "A=hunter2"],
        ];
        for words in commands {
            let cli = Cli::try_parse_from(std::iter::once(&"portcullis").chain(words)).unwrap();
            assert!(!format!("{cli:?}").contains("hunter2"), "{words:?}");
        }
    }
}
