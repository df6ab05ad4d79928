//! `portcullis config reference`: every key of the configuration file.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use portcullis_json::{Object, pretty};

use crate::config::{self, Config};
use crate::exit::{self, Code};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read a configuration file and everything it names, and say what is wrong with it.
    #[command(after_long_help = exit::TABLE)]
    Check(Check),
    /// Print the reference of the configuration file (Markdown).
    Reference,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The file.
    #[arg(value_name = "FILE", default_value = "portcullis.toml")]
    file: PathBuf,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl ConfigCommand {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        match self {
            ConfigCommand::Check(command) => command.run(output),
            ConfigCommand::Reference => output.text(&config::reference()).map(|()| Code::Good),
        }
    }
}

impl Check {
    fn run(self, output: &mut Output) -> io::Result<Code> {
        let fault = Config::load(&self.file).err().map(|fault| fault.to_string());
        if self.json {
            let answer = Object::new().with("valid", fault.is_none());
            let answer = match &fault {
                Some(message) => answer.with("error", message.as_str()),
                None => answer,
            };
            output.line(&pretty(&answer.into()))?;
        } else if let Some(message) = &fault {
            output.error(message)?;
        } else {
            output.line(&format!("`{}` is fine", self.file.display()))?;
        }
        Ok(if fault.is_none() { Code::Good } else { Code::Failed })
    }
}
