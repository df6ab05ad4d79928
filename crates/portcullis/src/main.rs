//! The `portcullis` command: reads the command line, runs one command, exits with its code.

mod cli;
mod exit;
mod files;
mod output;
mod policy;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    match cli.run(&mut output::Output::standard()) {
        Ok(code) => code.into(),
        // The reader of our output has gone (`| head`): nothing is left to be said to it.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit::Code::Good.into(),
        Err(_) => exit::Code::Failed.into(),
    }
}
