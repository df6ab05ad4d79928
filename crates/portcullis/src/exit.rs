//! The exit codes, in one place; `--help` prints the table.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything is as it should be.
    Good,
    /// The command worked, and the answer is no.
    No,
    /// The command could not do its work.
    Failed,
}

/// For `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  done, and all is well
  1  done, and the answer is no: a policy test fails, `check --strict` has warnings,
     `fmt --check` would change something, `import --strict` could not carry something over,
     `log verify` finds the log changed, `scan` finds what `--fail-on` or `--baseline` forbids
  2  not done: a file cannot be read, a policy or a configuration is invalid, the gateway cannot
     start, it or a server cannot be reached, the command line is wrong";

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> std::process::ExitCode {
        std::process::ExitCode::from(match code {
            Code::Good => 0,
            Code::No => 1,
            Code::Failed => 2,
        })
    }
}
