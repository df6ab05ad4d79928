//! Lines for the person at the terminal. Standard error only: standard output carries MCP.

use std::io::Write;

/// Writes one line to standard error; a closed standard error is no reason to stop serving.
pub fn say(line: &str) {
    let _closed = writeln!(std::io::stderr().lock(), "{line}");
}
