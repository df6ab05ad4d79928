//! Starting the real binary.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, Command, Stdio},
};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_pharo-interop-mcp");

/// A server on HTTP, killed when dropped.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) url: String,
    stderr: BufReader<ChildStderr>,
}

/// The binary, with nothing of this process's environment that it would read.
pub(crate) fn command(flags: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(flags).env_clear().envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl HttpServer {
    pub(crate) fn start(flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let flags = [&["--http", "127.0.0.1:0"], flags].concat();
        let mut child = command(&flags, environment).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let url = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "the server ended");
            if let Some(url) = line.trim().strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        Self { child, url, stderr }
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches("/mcp")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end: the exit code, and what was written to standard error after the start.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}
