//! The official Python SDK client, in a virtual environment that the tests make themselves.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Mutex,
};

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Map, Value, json};

use crate::server::{BINARY, HttpServer};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk_client");

/// The two transports in the two protocol eras.
pub(crate) const WAYS: [Way; 4] = [
    Way { transport: Transport::Stdio, mode: "legacy", version: "2025-11-25" },
    Way { transport: Transport::Stdio, mode: "auto", version: "2026-07-28" },
    Way { transport: Transport::Http, mode: "legacy", version: "2025-11-25" },
    Way { transport: Transport::Http, mode: "auto", version: "2026-07-28" },
];

/// How the client talks to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) transport: Transport,
    pub(crate) mode: &'static str,
    pub(crate) version: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A connected client; for HTTP with its server.
pub(crate) struct Client {
    driver: Option<Driver>,
    pub(crate) hello: Value,
    _server: Option<HttpServer>,
}

/// The interpreter takes long to start, so it is used for one connection after the other.
struct Driver {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

static IDLE: Mutex<Vec<Driver>> = Mutex::new(Vec::new());

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Outcome(pub(crate) Value);

impl Client {
    /// Connects to a fresh server for this image.
    pub(crate) fn connect(way: Way, image: &StandIn) -> Self {
        Self::connect_with(way, &[], &[("PHARO_SIS_URL", &image.url())])
    }

    pub(crate) fn connect_with(way: Way, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        match way.transport {
            Transport::Stdio => {
                let environment: Map<String, Value> =
                    environment.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
                let connection =
                    json!({"command": BINARY, "args": flags, "env": environment, "mode": way.mode});
                Self::start(&connection, None)
            }
            Transport::Http => {
                let server = HttpServer::start(flags, environment);
                let connection = json!({"url": server.url, "mode": way.mode});
                Self::start(&connection, Some(server))
            }
        }
    }

    pub(crate) fn start(connection: &Value, server: Option<HttpServer>) -> Self {
        let idle = IDLE.lock().unwrap().pop();
        let mut driver = idle.unwrap_or_else(Driver::start);
        let hello = driver.exchange(connection);
        Self { driver: Some(driver), hello, _server: server }
    }

    fn exchange(&mut self, request: &Value) -> Value {
        self.driver.as_mut().unwrap().exchange(request)
    }

    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.exchange(&json!({}))["tools"].as_array().unwrap().clone()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Outcome {
        self.call_with(json!({"tool": tool, "arguments": arguments}))
    }

    /// With `progress` or `cancel_after` beside `tool` and `arguments`.
    pub(crate) fn call_with(&mut self, request: Value) -> Outcome {
        Outcome(self.exchange(&request))
    }

    /// All at once. The outcomes, and the order in which they came.
    pub(crate) fn calls(&mut self, requests: Vec<Value>) -> (Vec<Outcome>, Vec<u64>) {
        let answer = self.exchange(&json!({"calls": requests}));
        let outcomes = answer["outcomes"].as_array().unwrap().iter().cloned().map(Outcome).collect();
        let order = answer["order"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect();
        (outcomes, order)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut driver = self.driver.take().unwrap();
        // After a failed test it may be in the middle of anything.
        if !std::thread::panicking() {
            driver.exchange(&json!({"close": true}));
            IDLE.lock().unwrap().push(driver);
        }
    }
}

impl Driver {
    fn start() -> Self {
        let mut child = Command::new(python())
            .arg(Path::new(FOLDER).join("driver.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, requests, answers }
    }

    fn exchange(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").unwrap();
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).unwrap();
        assert!(count > 0, "the SDK client ended at {request}");
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

impl Outcome {
    /// The structured content of a call that succeeded.
    #[track_caller]
    pub(crate) fn success(&self) -> &Value {
        assert_eq!(self.0["isError"], json!(false), "{}", self.0);
        assert_eq!(self.0["structuredContent"]["success"], json!(true), "{}", self.0);
        let json: Value = serde_json::from_str(self.text(0)).unwrap();
        assert_eq!(json, self.0["structuredContent"], "the text is the same JSON");
        &self.0["structuredContent"]
    }

    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        &self.success()["result"]
    }

    /// The structured content of a call that failed, which must be of this kind.
    #[track_caller]
    pub(crate) fn failure(&self, kind: &str) -> &Value {
        assert_eq!(self.0["isError"], json!(true), "{}", self.0);
        let structured = &self.0["structuredContent"];
        assert_eq!(structured["success"], json!(false), "{}", self.0);
        assert_eq!(structured["failure"]["kind"], json!(kind), "{}", self.0);
        let (what, next) = (&structured["failure"]["what"], &structured["failure"]["next"]);
        for sentence in [what, next] {
            let sentence = sentence.as_str().unwrap();
            assert!(!sentence.is_empty() && self.text(0).contains(sentence), "{}", self.0);
        }
        structured
    }

    pub(crate) fn text(&self, position: usize) -> &str {
        self.0["content"][position]["text"].as_str().unwrap_or_default()
    }

    pub(crate) fn beats(&self) -> &Vec<Value> {
        self.0["beats"].as_array().unwrap()
    }
}

/// The interpreter of the virtual environment, which is made anew when the requirements change.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk-client");
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let requirements = Path::new(FOLDER).join("requirements.txt");
    let installed = folder.join("installed.txt");
    let python = folder.join("venv/bin/python");
    if fs::read(&installed).ok() != Some(fs::read(&requirements).unwrap()) {
        let _was_not_there = fs::remove_dir_all(folder.join("venv"));
        run("python3", &["-m", "venv", &folder.join("venv").to_string_lossy()]);
        run(
            &python.to_string_lossy(),
            &[
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                &requirements.to_string_lossy(),
            ],
        );
        fs::copy(&requirements, &installed).unwrap();
    }
    python
}

/// A failed installation fails the test, with the line to run by hand.
fn run(program: &str, arguments: &[&str]) {
    let line = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|fault| panic!("cannot run `{line}`: {fault}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the SDK client cannot be installed; try `{line}`\n{said}");
}
