//! Real servers over streamable HTTP, started and stopped by tests.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::install;
use crate::running::{eventually, free_port};

/// A server; killed when dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) url: String,
}

/// What the server on the Python SDK was made to do.
pub(crate) struct Journal(PathBuf);

impl Server {
    /// The reference server that has everything, of the era with sessions.
    pub(crate) fn everything() -> Server {
        Server::everything_over("streamableHttp", "mcp")
    }

    /// The same over HTTP with SSE.
    pub(crate) fn everything_over_sse() -> Server {
        Server::everything_over("sse", "sse")
    }

    fn everything_over(transport: &str, path: &str) -> Server {
        let port = free_port();
        let process = Command::new(install::node_program("mcp-server-everything"))
            .arg(transport)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { process, url: format!("http://127.0.0.1:{port}/{path}") };
        eventually("server-everything answers", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// The Pharo server on this image, on a port that it chooses.
    pub(crate) fn pharo(image: &str) -> Server {
        let mut process = Command::new(built("pharo-interop-mcp"))
            .args(["--http", "127.0.0.1:0"])
            .env("PHARO_SIS_URL", image)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Server { process, url }
    }

    /// A server of the Python SDK that speaks 2026-07-28, with its journal in `directory`.
    pub(crate) fn modern(directory: &Path) -> (Server, Journal) {
        Server::of_python_sdk(&install::python(), "modern_server.py", directory)
    }

    /// A server of the first Python SDK that speaks only HTTP with SSE, with its journal in `directory`.
    pub(crate) fn older(directory: &Path) -> (Server, Journal) {
        Server::of_python_sdk(&install::python_for_sqlite(), "sse_server.py", directory)
    }

    fn of_python_sdk(interpreter: &Path, script: &str, directory: &Path) -> (Server, Journal) {
        let journal = Journal(directory.join("journal"));
        let mut process = Command::new(interpreter)
            .arg(install::script(script))
            .arg(&journal.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "the server did not start");
        (Server { process, url: url.trim().to_owned() }, journal)
    }
}

/// A binary of another crate of the workspace, beside our own.
pub(crate) fn built(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_portcullis")).with_file_name(name);
    assert!(path.exists(), "`{name}` is not built; run `cargo build --workspace --bins`");
    path
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_waited = self.process.wait();
    }
}

impl Journal {
    pub(crate) fn at(file: &str) -> Journal {
        Journal(file.into())
    }

    /// How often this happened.
    pub(crate) fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|line| line["event"] == event).count()
    }

    fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
