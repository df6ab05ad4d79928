//! The `portcullis` command: reads the command line, runs one command, exits with its code.

mod admin;
mod agent;
mod catalogue;
mod cli;
mod config;
mod demo;
mod exit;
mod files;
mod grant;
mod instance;
mod introspect;
mod log;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod playground;
mod policy;
mod protect;
mod quick_start;
mod reached;
mod reference;
mod scan;
mod serve;
mod server;
mod stack;
mod telemetry;
mod up;
mod wrap;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    match cli.run(&mut output::Output::standard()) {
        Ok(code) => code.into(),
        // The reader of our output has gone (`| head`): nothing is left to be said to it.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit::Code::Good.into(),
        Err(_) => exit::Code::Failed.into(),
    }
}
