//! `pharo-interop-mcp`: reads the command line and the environment, then serves until told to stop.

use std::process::ExitCode;

use clap::Parser;
use pharo_interop::{CommandLine, Settings, say, serve};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// For name look-ups and screenshot files.
const BLOCKING_THREADS_MAX: usize = 8;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let settings = match Settings::collect(command_line, |name| std::env::var(name).ok()) {
        Ok(settings) => settings,
        Err(fault) => return refuse(&fault.to_string(), ExitCode::from(2)),
    };
    match serve_on_one_thread(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => refuse(&fault, ExitCode::FAILURE),
    }
}

/// One thread is enough: the work is waiting for an image, and it keeps start-up and memory small.
fn serve_on_one_thread(settings: Settings) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()
        .map_err(|fault| format!("the runtime does not start: {fault}"))?;
    let outcome = runtime.block_on(serve(settings));
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

fn refuse(fault: &str, code: ExitCode) -> ExitCode {
    say(&format!("error: {fault}"));
    code
}
