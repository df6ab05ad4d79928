//! An official SDK client in a process of its own, driven by JSON lines (see `tests/peers/driver.*`).

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::install;

/// Whose client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    TypeScript,
    Python,
}

/// How it is told to talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Sessions, up to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// A connected client; ended when dropped.
pub(crate) struct Client {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What it knows of the server after connecting.
    pub(crate) hello: Value,
}

/// What came of something that a client was told to do.
pub(crate) struct Reply(pub(crate) Value);

impl Era {
    fn word(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

impl Client {
    /// Connects to `way`: a `url` with `headers`, or a `command` with `env` and `cwd`. `elicit` in it is what
    /// the client answers when the server asks its user.
    pub(crate) fn connect(sdk: Sdk, era: Era, way: &Value) -> Client {
        let (mut client, reply) = Client::attempt(sdk, era, way);
        client.hello = reply.result().clone();
        client
    }

    /// What comes of connecting to `way`.
    pub(crate) fn try_connect(sdk: Sdk, era: Era, way: &Value) -> Reply {
        Client::attempt(sdk, era, way).1
    }

    fn attempt(sdk: Sdk, era: Era, way: &Value) -> (Client, Reply) {
        let mut process = start(sdk);
        let requests = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut client = Client { process, requests, answers, hello: Value::Null };
        let mut wanted = way.clone();
        wanted["do"] = json!("connect");
        wanted["era"] = json!(era.word());
        let reply = client.ask(wanted);
        (client, reply)
    }

    /// One line to the driver, and the one it answers with.
    pub(crate) fn ask(&mut self, wanted: Value) -> Reply {
        writeln!(self.requests, "{wanted}").unwrap();
        let mut line = String::new();
        let count = self.answers.read_line(&mut line).unwrap();
        assert!(count > 0, "the client ended at {wanted}");
        Reply(serde_json::from_str(&line).unwrap())
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.ask(json!({"do": "call", "name": tool, "arguments": arguments}))
    }

    /// A call that reports its progress, as a client that wants to see it makes it.
    pub(crate) fn call_with_progress(&mut self, tool: &str, arguments: Value) -> Reply {
        self.ask(json!({"do": "call", "name": tool, "arguments": arguments, "progress": true}))
    }

    /// A call that is given up when it first reports progress.
    pub(crate) fn call_and_cancel(&mut self, tool: &str, arguments: Value) {
        let reply = self.ask(json!({"do": "call", "name": tool, "arguments": arguments, "cancel": true}));
        assert_eq!(reply.0["cancelled"], true, "{reply}");
        assert_eq!(reply.0["beats"].as_array().unwrap().len(), 1, "{reply}");
    }

    /// The tools as they are listed.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.list("tools", "tools")
    }

    /// What is listed when this is asked for.
    pub(crate) fn list(&mut self, what: &str, key: &str) -> Vec<Value> {
        self.ask(json!({"do": what})).result()[key].as_array().unwrap().clone()
    }

    pub(crate) fn read(&mut self, uri: &str) -> Reply {
        self.ask(json!({"do": "read", "uri": uri}))
    }

    pub(crate) fn prompt(&mut self, name: &str, arguments: Value) -> Reply {
        self.ask(json!({"do": "prompt", "name": name, "arguments": arguments}))
    }

    /// Waits until the server has said or asked this by itself; its parameters.
    pub(crate) fn hear(&mut self, method: &str) -> Value {
        self.ask(json!({"do": "hear", "method": method})).result().clone()
    }

    /// Says goodbye as a client does, and waits for its end.
    pub(crate) fn close(mut self) {
        let reply = self.ask(json!({"do": "close", "end": true}));
        assert_eq!(reply.result(), "closed");
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_waited = self.process.wait();
    }
}

impl Reply {
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        self.0.get("result").unwrap_or_else(|| panic!("no result: {self}"))
    }

    /// The first text of a call that succeeded.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        let result = self.result();
        assert_ne!(result["isError"], true, "{self}");
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {self}"))
    }

    /// The content of a call, as the server meant it: what SDKs add of their own is left out.
    #[track_caller]
    pub(crate) fn whole(&self) -> (Value, Value, bool) {
        let result = self.result();
        (result["content"].clone(), result["structuredContent"].clone(), result["isError"] == true)
    }

    pub(crate) fn beats(&self) -> &Vec<Value> {
        self.0["beats"].as_array().unwrap()
    }

    /// The gateway's decision on a call that it refused with this rule and this message.
    #[track_caller]
    pub(crate) fn denied(&self, rule: &str, message: &str) -> &Value {
        let result = self.result();
        assert_eq!(result["isError"], true, "{self}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("[POLICY DENIED] ") && text.contains(message), "{self}");
        let decision = &result["_meta"]["portcullis/decision"];
        assert_eq!(decision["outcome"], "denied", "{self}");
        assert_eq!(decision["rule"], rule, "{self}");
        decision
    }

    /// The error that the peer answered with.
    #[track_caller]
    pub(crate) fn error(&self) -> &Value {
        self.0.get("error").unwrap_or_else(|| panic!("no error: {self}"))
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

fn start(sdk: Sdk) -> Child {
    let mut command = match sdk {
        Sdk::TypeScript => {
            let mut command = Command::new("node");
            command.arg(install::script("driver.mjs")).arg(install::node());
            command
        }
        Sdk::Python => {
            let mut command = Command::new(install::python());
            command.args(["-W", "ignore"]).arg(install::script("driver.py"));
            command
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}
