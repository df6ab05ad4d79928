//! Running other programs from the root of the workspace: shown and passed through, or captured.
//!
//! Every task that starts a program comes through here, so that a failure always names the command line.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A command that starts `program` in the root of the workspace.
pub(crate) fn command(program: impl Into<OsString>) -> Command {
    let mut command = Command::new(program.into());
    command.current_dir(workspace::root());
    command
}

/// The cargo that started this task, with `arguments`.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Shows the command line, runs it with this terminal, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// What a program wrote.
pub(crate) struct Captured {
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

/// Runs a command without a terminal and gives back what it wrote; fails unless it succeeds.
pub(crate) fn capture(command: &mut Command) -> Result<Captured> {
    let line = command_line(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{line}`"))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("`{line}` failed ({}): {}", output.status, stderr.trim_end());
    }
    let stdout = String::from_utf8(output.stdout)
        .with_context(|| format!("`{line}` wrote something that is not UTF-8"))?;
    Ok(Captured { stdout, stderr })
}

/// Whether `PATH` has a program of this name.
pub(crate) fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}

/// The command as a person would type it, cut where many files follow.
fn command_line(command: &Command) -> String {
    const ARGUMENTS_SHOWN_MAX: usize = 12;
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.to_string_lossy().into_owned()];
    let arguments = command.get_args();
    let left_out = arguments.len().saturating_sub(ARGUMENTS_SHOWN_MAX);
    words.extend(arguments.take(ARGUMENTS_SHOWN_MAX).map(|word| word.to_string_lossy().into_owned()));
    if left_out > 0 {
        words.push(format!("… and {left_out} more"));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_line() {
        let error = run(&mut cargo(&["no-such-subcommand"])).unwrap_err();
        assert!(error.to_string().contains("no-such-subcommand` failed"), "{error}");
    }

    #[test]
    fn a_captured_failure_carries_what_the_program_complained_of() {
        let error = capture(&mut cargo(&["no-such-subcommand"])).err().unwrap();
        assert!(error.to_string().contains("no such command"), "{error}");
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_installed() {
        assert!(is_installed("cargo"));
        assert!(!is_installed("no-such-program-anywhere"));
    }

    #[test]
    fn a_long_command_line_is_cut() {
        let mut long = command("/usr/bin/some-program");
        long.args((0..20).map(|n| n.to_string()));
        assert_eq!(command_line(&long), "some-program 0 1 2 3 4 5 6 7 8 9 10 11 … and 8 more");
    }
}
