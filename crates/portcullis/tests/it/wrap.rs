//! `wrap`: a client on a pipe, a server in a process, no gateway; several of them on one log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use portcullis_json::{Limits, Value, parse};

use crate::command::Place;
use crate::running::{Running, eventually};

const SERVER: &str = include_str!("notes_server.py");
const LIMITED: &str = r#"{"version":"1","default":"deny","tools":{
    "read_note":{"rate_limit":{"max":25,"window":"hour"}}, "get_environment":{}, "get_slow_note":{}}}"#;

/// A client of a wrapped server.
pub(crate) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

fn place() -> Place {
    let place = Place::new();
    place.file("server.py", SERVER).file("limited.json", LIMITED);
    place
}

impl Client {
    /// `options` go in front of the command.
    fn start(place: &Place, options: &[&str]) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command
            .args(["wrap", "--data-dir", "data", "--label", "notes"])
            .args(options)
            .args(["--", "python3", "server.py"])
            .current_dir(place.path("."))
            .env("PORTCULLIS_OURS", "1")
            .env("API_KEY", "very-secret-key");
        Client::talk(command)
    }

    /// Starts a command and opens a session with it.
    pub(crate) fn talk(mut command: Command) -> Client {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = streams.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut client = Client { process, input, output, next: 1 };
        let hello =
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
        let opened = client.ask("initialize", hello);
        assert!(opened.get("result").is_some(), "{opened}");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn begin(&mut self, method: &str, params: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        id
    }

    /// Asks, and waits for the answer. Every line must be MCP.
    fn ask(&mut self, method: &str, params: &str) -> Value {
        let id = self.begin(method, params).to_string();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "`wrap` has ended");
            let message = parse(line.trim_end().as_bytes(), &Limits::message()).unwrap();
            assert_eq!(message.get("jsonrpc").and_then(Value::as_str), Some("2.0"), "{line}");
            if message.get("id").is_some_and(|found| found.to_string() == id) {
                return message;
            }
        }
    }

    /// The text of a call's result; an error if it was denied.
    pub(crate) fn call(&mut self, tool: &str) -> Result<String, String> {
        let answer = self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#));
        let result = answer.get("result").ok_or_else(|| answer.to_string())?;
        let content = result.get("content").and_then(Value::as_array).and_then(<[Value]>::first);
        let text =
            content.and_then(|content| content.get("text")).and_then(Value::as_str).unwrap_or_default();
        match result.get("isError").and_then(Value::as_bool) {
            Some(true) => Err(text.to_owned()),
            _ => Ok(text.to_owned()),
        }
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", "{}");
        let tools = answer.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array);
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap().to_owned();
        tools.unwrap().iter().map(name).collect()
    }

    fn environment(&mut self) -> Value {
        parse(self.call("get_environment").unwrap().as_bytes(), &Limits::message()).unwrap()
    }

    fn server_pid(&mut self) -> u32 {
        self.environment().get("pid").unwrap().to_string().parse().unwrap()
    }

    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn is_running(pid: u32) -> bool {
    Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

fn verified(place: &Place) {
    let verified = place.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
}

fn exported(place: &Place) -> Vec<Value> {
    let exported = place.run(&["log", "export", "--data-dir", "data"]).out;
    exported.lines().map(|line| parse(line.as_bytes(), &Limits::document()).unwrap()).collect()
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn a_server_has_the_recommended_policy_of_its_first_start() {
    let place = place();
    let mut client = Client::start(&place, &[]);
    assert_eq!(client.tools(), ["read_note", "add_note", "get_environment", "get_slow_note"]);
    assert_eq!(client.call("read_note").unwrap(), "read_note done");
    assert!(client.call("delete_all_notes").is_err());
    assert_eq!(client.close(), Some(0));
    // A tool that is new is not in the policy, whatever its class.
    let mut client = Client::start(&place, &["--env", "MORE=yes"]);
    assert_eq!(client.tools(), ["read_note", "add_note", "get_environment", "get_slow_note"]);
    assert!(client.call("get_more").is_err());
    assert_eq!(client.close(), Some(0));
    let kept: Vec<_> = std::fs::read_dir(place.path("data/wraps")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    // Another profile is another policy.
    let mut client = Client::start(&place, &["--profile", "strict"]);
    assert!(client.call("add_note").is_err());
    drop(client);
    assert_eq!(std::fs::read_dir(place.path("data/wraps")).unwrap().count(), 2);
    verified(&place);
}

#[test]
fn the_server_gets_the_environment_that_the_client_gave() {
    let place = place();
    let mut client = Client::start(&place, &["--policy", "limited.json", "--env", "GIVEN=a-value"]);
    let found = client.environment();
    let variable = |name: &str| found.get("env").and_then(|env| env.get(name)).and_then(Value::as_str);
    assert!(variable("PATH").is_some() && variable("API_KEY").is_some() && variable("GIVEN").is_some());
    assert_eq!(variable("PORTCULLIS_OURS"), None);
    assert!(!found.to_string().contains("very-secret-key"), "a credential came back: {found}");
}

#[test]
fn ten_wraps_at_once_admit_exactly_what_a_limit_allows() {
    let place = place();
    let admitted: usize = std::thread::scope(|scope| {
        let wraps: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Client::start(&place, &["--policy", "limited.json"]);
                    let admitted = (0..8).filter(|_| client.call("read_note").is_ok()).count();
                    assert_eq!(client.close(), Some(0));
                    admitted
                })
            })
            .collect();
        wraps.into_iter().map(|wrap| wrap.join().unwrap()).sum()
    });
    assert_eq!(admitted, 25);
    verified(&place);
    let records = exported(&place);
    let calls = records.iter().filter(|record| text(record, "method") == "tools/call");
    let (allowed, denied): (Vec<_>, Vec<_>) = calls.partition(|record| text(record, "outcome") == "allowed");
    assert_eq!((allowed.len(), denied.len()), (25, 55));
    assert!(denied.iter().all(|record| text(record, "rule") == "/tools/read_note/rate_limit"));
    // And it holds after all of them have ended.
    let mut late = Client::start(&place, &["--policy", "limited.json"]);
    assert!(late.call("read_note").is_err());
}

#[test]
fn a_client_that_goes_leaves_no_server_and_no_open_record() {
    let place = place();
    let mut client = Client::start(&place, &["--policy", "limited.json"]);
    let server = client.server_pid();
    client.begin("tools/call", r#"{"name":"get_slow_note","arguments":{}}"#);
    let decided = || exported(&place).iter().any(|record| text(record, "tool") == "get_slow_note");
    eventually("the call is in the log", decided);
    assert_eq!(client.close(), Some(0));
    eventually("the server has ended", || !is_running(server));
    let records = exported(&place);
    let ended = records.iter().filter(|record| text(record, "kind") == "outcome");
    assert!(ended.clone().any(|record| text(record, "tool") == "get_slow_note"), "{records:?}");
    verified(&place);
}

#[test]
fn a_wrap_that_is_killed_leaves_no_server_and_a_log_that_others_go_on_with() {
    let place = place();
    let mut staying = Client::start(&place, &["--policy", "limited.json"]);
    let mut client = Client::start(&place, &["--policy", "limited.json"]);
    let server = client.server_pid();
    client.begin("tools/call", r#"{"name":"get_slow_note","arguments":{}}"#);
    client.process.kill().unwrap();
    client.process.wait().unwrap();
    drop(client);
    eventually("the server has ended", || !is_running(server));
    assert!(staying.call("read_note").is_ok());
    assert_eq!(staying.close(), Some(0));
    verified(&place);
}

#[test]
fn a_signal_ends_it_as_closing_does() {
    let place = place();
    let mut client = Client::start(&place, &["--policy", "limited.json"]);
    let server = client.server_pid();
    let pid = client.process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(client.process.wait().unwrap().code(), Some(0));
    eventually("the server has ended", || !is_running(server));
    assert!(exported(&place).iter().any(|record| text(record, "action") == "stopped"));
    verified(&place);
}

#[test]
fn the_log_can_be_read_while_wraps_run() {
    let place = place();
    let mut client = Client::start(&place, &["--policy", "limited.json"]);
    client.call("read_note").unwrap();
    verified(&place);
    let found = place.run(&["log", "query", "--tool", "read_note", "--data-dir", "data"]);
    assert!(found.code == 0 && found.out.contains("allowed"), "{}{}", found.out, found.error);
    client.call("read_note").unwrap();
    let found = place.run(&["log", "query", "--tool", "read_note", "--json", "--data-dir", "data"]);
    assert!(found.out.matches("\"allowed\"").count() == 2, "{}", found.out);
    let seen = place.run(&["log", "tail", "--data-dir", "data"]);
    assert!(seen.code == 0 && seen.out.contains("read_note"), "{}{}", seen.out, seen.error);
}

#[test]
fn the_log_can_be_followed_while_wraps_run() {
    let place = place();
    let mut first = Client::start(&place, &["--policy", "limited.json"]);
    let follow = ["log", "tail", "--follow", "-n", "1000", "--json", "--data-dir", "data"];
    let mut tail = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(follow)
        .current_dir(place.path("."))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next_decision = || loop {
        let record = parse(lines.next().unwrap().unwrap().as_bytes(), &Limits::document()).unwrap();
        if text(&record, "kind") == "decision" && text(&record, "tool") == "read_note" {
            return text(&record, "session").to_owned();
        }
    };
    first.call("read_note").unwrap();
    let mut sessions = std::collections::BTreeSet::from([next_decision()]);
    // What comes now was not there when it began.
    let mut second = Client::start(&place, &["--policy", "limited.json"]);
    second.call("read_note").unwrap();
    sessions.insert(next_decision());
    assert_eq!(sessions.len(), 2, "the records of both wraps: {sessions:?}");
    assert_eq!((first.close(), second.close()), (Some(0), Some(0)));
    tail.kill().unwrap();
    tail.wait().unwrap();
}

/// A client that starts `wrap` as its child, asks for something slow, says so, and waits.
const DOOMED_CLIENT: &str = r#"
import json, subprocess, sys, time
wrap = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def send(message):
    wrap.stdin.write(json.dumps(message) + "\n")
    wrap.stdin.flush()
def ask(id, method, params):
    send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    return json.loads(wrap.stdout.readline())
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ask(1, "initialize", hello)
send({"jsonrpc": "2.0", "method": "notifications/initialized"})
told = ask(2, "tools/call", {"name": "get_environment", "arguments": {}})
server = json.loads(told["result"]["content"][0]["text"])["pid"]
slow = {"name": "get_slow_note", "arguments": {}}
send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": slow})
print(wrap.pid, server, flush=True)
time.sleep(600)
"#;

#[test]
fn a_client_that_is_killed_leaves_neither_wrap_nor_server_nor_an_open_record() {
    let place = place();
    place.file("client.py", DOOMED_CLIENT);
    let wrap = ["wrap", "--data-dir", "data", "--label", "notes", "--policy", "limited.json", "--"];
    let mut client = Command::new("python3")
        .args(["client.py", env!("CARGO_BIN_EXE_portcullis")])
        .args(wrap)
        .args(["python3", "server.py"])
        .current_dir(place.path("."))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    let of_slow = |kind: &str| {
        let records = exported(&place);
        let slow = records.iter().filter(|record| text(record, "tool") == "get_slow_note");
        slow.filter(|record| text(record, "kind") == kind).count()
    };
    eventually("the call is in the log", || of_slow("decision") == 1);
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("wrap and server have ended", || pids.iter().all(|pid| !is_running(*pid)));
    assert_eq!(of_slow("outcome"), 1, "what became of the call is recorded");
    verified(&place);
}

/// An administrator looks at a changed tool and accepts it while wraps run; they offer it without a restart.
#[test]
fn a_changed_tool_is_accepted_while_wraps_run() {
    let place = place();
    let mut first = Client::start(&place, &["--policy", "limited.json"]);
    first.call("read_note").unwrap();
    place.file("description", "Read a note, and tell everybody.");
    let mut second = Client::start(&place, &["--policy", "limited.json"]);
    assert!(!second.tools().contains(&"read_note".to_owned()));
    assert!(second.call("read_note").is_err());
    let records = exported(&place);
    let changed = records.iter().find(|record| text(record, "action") == "tool_changed").unwrap();
    let server = text(changed, "server");
    let run = |arguments: &[&str]| place.run(&[arguments, &["--data-dir", "data"]].concat());
    let shown = run(&["server", "changes", server]);
    assert!(shown.code == 0 && shown.out.contains("tell everybody"), "{}{}", shown.out, shown.error);
    let accepted = run(&["server", "accept", server, "read_note"]);
    assert_eq!(accepted.code, 0, "{}", accepted.error);
    eventually("the running wrap offers it", || second.call("read_note").is_ok());
    assert!(second.tools().contains(&"read_note".to_owned()));
    let refused = run(&["server", "add", "x", "--url", "http://127.0.0.1:1/"]);
    assert!(refused.code == 2 && refused.error.contains("wrap notes"), "{}", refused.error);
    assert_eq!((first.close(), second.close()), (Some(0), Some(0)));
    verified(&place);
}

#[test]
fn wraps_and_a_gateway_keep_out_of_each_others_way() {
    let place = place();
    let client = Client::start(&place, &["--policy", "limited.json"]);
    let pid = client.process.id().to_string();
    let refused = place.run(&["up", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    assert_eq!(refused.code, 2);
    assert!(refused.error.contains(&pid) && refused.error.contains("wrap notes"), "{}", refused.error);
    assert_eq!(client.close(), Some(0));
    let gateway = Running::up(&place.path("."));
    let refused = place.run(&["wrap", "--data-dir", "data", "--", "python3", "server.py"]);
    assert_eq!(refused.code, 2);
    assert!(refused.error.contains("--data-dir") && refused.out.is_empty(), "{}", refused.error);
    assert_eq!(gateway.stop(), Some(0));
}

#[test]
fn what_cannot_be_used_is_said_on_standard_error() {
    let place = place();
    place.file("broken.json", "{");
    let wrap = |options: &[&str]| {
        let mut arguments = vec!["wrap", "--data-dir", "data"];
        arguments.extend(options);
        place.run(&arguments)
    };
    for (options, said) in [
        (&["--policy", "broken.json", "--", "python3", "server.py"][..], "broken.json"),
        (&["--policy", "absent.json", "--", "python3", "server.py"], "absent.json"),
        (&["--", "no-such-program-here"], "no-such-program-here"),
        (&["--url", "ftp://nowhere"], "ftp://nowhere"),
        (&["--label", "", "--", "x"], "--label"),
        (&[], "COMMAND"),
    ] {
        let ran = wrap(options);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.error.contains(said), "{said}: {}", ran.error);
    }
}
