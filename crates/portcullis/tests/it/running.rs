//! A gateway in a process of its own, started and stopped by tests.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use portcullis_json::{Limits, Value, parse};

/// A running gateway; killed when the test ends.
pub(crate) struct Running {
    process: Child,
    /// What `up --json` printed.
    pub(crate) printed: Value,
}

/// How long something may take that takes no time at all on an idle machine.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

impl Running {
    /// `portcullis up` on a free port, with its state in `data` below `directory`.
    pub(crate) fn up(directory: &Path) -> Running {
        let arguments = ["up", "--json", "--listen", "127.0.0.1:0", "--data-dir", "data"];
        let mut process = spawn(directory, &arguments, &[]);
        let mut text = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        while !text.ends_with("}\n") {
            assert!(out.read_line(&mut text).unwrap() > 0, "`up` ended: {}", errors(directory));
        }
        let printed = parse(text.as_bytes(), &Limits::document()).unwrap();
        Running { process, printed }
    }

    /// `portcullis serve` with the file `portcullis.toml`, which says `port`.
    pub(crate) fn serve(directory: &Path, port: u16, environment: &[(&str, &str)]) -> Running {
        Running::serve_with(directory, port, &[], environment)
    }

    /// The same with more arguments.
    pub(crate) fn serve_with(
        directory: &Path,
        port: u16,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> Running {
        let process = spawn(directory, &[&["serve"], more].concat(), environment);
        let running = Running { process, printed: Value::Null };
        let ready = || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
                && directory.join("data/portcullis.sock").exists()
        };
        eventually("the gateway answers", ready);
        running
    }

    /// A line of `up --json`.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.printed.get(key).and_then(Value::as_str).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Asks it to stop, and waits; its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.process.wait().unwrap().code()
    }

    /// Ends it without warning.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let errors = File::options().create(true).append(true).open(directory.join("errors.txt")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(arguments)
        .current_dir(directory)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap()
}

/// What the gateways of this directory have reported.
pub(crate) fn errors(directory: &Path) -> String {
    let mut text = String::new();
    File::open(directory.join("errors.txt")).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Runs a line as a person would paste it into a shell; what it prints.
pub(crate) fn paste(directory: &Path, line: &str) -> String {
    let ran = Command::new("sh").args(["-c", line]).current_dir(directory).output().unwrap();
    assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// Waits until it is so; a test that waits in vain fails.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A port that nobody has at the moment.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
