//! Servers that speak only HTTP with SSE, the transport of 2024-11-05: behind the gateway, behind `wrap --url`, and
//! looked at by the commands that ask a server themselves.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, Era, Sdk};
use super::gateway::Gateway;
use super::pair::names;
use super::servers::{Journal, Server};
use crate::command::Place;
use crate::running::{Running, eventually, free_port};

/// A server, what it was made to do, and where that is written.
struct Older {
    server: Server,
    journal: Journal,
    _directory: TempDir,
}

impl Older {
    fn start() -> Older {
        let directory = TempDir::new().unwrap();
        let (server, journal) = Server::older(directory.path());
        Older { server, journal, _directory: directory }
    }
}

fn policy() -> Value {
    json!({"version": "1", "default": "deny", "tools": {
        "read_note": {"deny_if": [{
            "conditions": [{"path": "args.title", "op": "eq", "value": "diary"}],
            "on_deny": "Not with this."
        }]},
        "count": {}
    }})
}

/// What an agent does; the same whatever stands in front of the server.
fn use_it(mut client: Client, older: &Older) {
    assert_eq!(names(&client.tools(), "name"), ["read_note", "count"]);
    assert_eq!(client.call("read_note", json!({"title": "welcome"})).text(), "the note welcome");
    client
        .call("read_note", json!({"title": "diary"}))
        .denied("/tools/read_note/deny_if/0", "Not with this.");
    client.call("delete_note", json!({"title": "welcome"})).denied("(default deny)", "");
    assert_eq!(older.journal.count("read welcome"), 1);
    assert_eq!(older.journal.count("read diary") + older.journal.count("delete welcome"), 0);
    let counted = client.call_with_progress("count", json!({"steps": 3, "seconds": 0.2}));
    assert_eq!(counted.text(), "counted to 3");
    assert!(counted.beats().len() >= 2, "{counted}");
    client.call_and_cancel("count", json!({"steps": 600, "seconds": 0.1}));
    eventually("the server learns of it", || older.journal.count("cancelled") == 1);
    client.close();
}

#[test]
fn a_server_of_the_first_python_sdk_behind_the_gateway() {
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        let older = Older::start();
        let way = format!("url = \"{}\"\ntransport = \"sse\"", older.server.url);
        let gateway = Gateway::before(&way, &policy());
        use_it(Client::connect(sdk, Era::Legacy, &gateway.way()), &older);
        gateway.stop();
    }
}

/// The client's side of `wrap --url`.
fn wrapped(place: &Place, url: &str, more: &[&str]) -> Value {
    place.file("p.json", policy().to_string());
    let portcullis = env!("CARGO_BIN_EXE_portcullis");
    let (policy, data) = (place.path("p.json"), place.path("data"));
    let (policy, data) = (policy.to_str().unwrap(), data.to_str().unwrap());
    let ours = [portcullis, "wrap", "--policy", policy, "--data-dir", data, "--label", "tester"];
    let command: Vec<&str> = ours.into_iter().chain(["--url", url]).chain(more.iter().copied()).collect();
    json!({ "command": command })
}

#[test]
fn a_server_of_the_first_python_sdk_behind_wrap() {
    let (older, place) = (Older::start(), Place::new());
    let way = wrapped(&place, &older.server.url, &["--transport", "sse"]);
    use_it(Client::connect(Sdk::TypeScript, Era::Legacy, &way), &older);
    let verified = place.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
}

/// The same front before a server of streamable HTTP, with each client.
#[test]
fn server_everything_over_http_behind_wrap() {
    let tools = json!({"echo": {}, "trigger-long-running-operation": {}, "trigger-sampling-request": {}});
    let requests = json!({"sampling": "allow", "elicitation": "allow", "roots": "allow"});
    let policy = json!({"version": "1", "default": "deny", "tools": tools, "server_requests": requests});
    let server = Server::everything();
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        let place = Place::new();
        let way = wrapped(&place, &server.url, &[]);
        place.file("p.json", policy.to_string());
        let mut client = Client::connect(sdk, Era::Legacy, &way);
        assert_eq!(client.tools().len(), 3);
        assert_eq!(client.call("echo", json!({"message": "hello"})).text(), "Echo: hello");
        client.call("get-sum", json!({"a": 1, "b": 2})).denied("(default deny)", "");
        let slow = "trigger-long-running-operation";
        let counted = client.call_with_progress(slow, json!({"duration": 1.5, "steps": 3}));
        assert!(!counted.beats().is_empty(), "{counted}");
        client.call_and_cancel(slow, json!({"duration": 60, "steps": 300}));
        let asked = client.call("trigger-sampling-request", json!({"prompt": "a riddle"}));
        assert!(asked.text().contains("said by the client"), "{asked}");
        client.close();
        let verified = place.run(&["log", "verify", "--data-dir", "data"]);
        assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
    }
}

#[test]
fn server_everything_over_sse_behind_the_gateway() {
    let server = Server::everything_over_sse();
    let policy = json!({"version": "1", "default": "deny", "tools": {
        "echo": {}, "get-sum": {"limits": [{"counter": "two", "window": "hour", "max": 2}]},
        "trigger-long-running-operation": {}
    }});
    let way = format!("url = \"{}\"\ntransport = \"sse\"", server.url);
    let gateway = Gateway::before(&way, &policy);
    let mut client = Client::connect(Sdk::TypeScript, Era::Legacy, &gateway.way());
    assert_eq!(client.tools().len(), 3);
    assert_eq!(client.call("echo", json!({"message": "hello"})).text(), "Echo: hello");
    for _ in 0..2 {
        client.call("get-sum", json!({"a": 1, "b": 2})).text();
    }
    client.call("get-sum", json!({"a": 1, "b": 2})).denied("/tools/get-sum/limits/0", "2 per hour");
    client.call("get-tiny-image", json!({})).denied("(default deny)", "");
    let slow = json!({"duration": 0.6, "steps": 3});
    let counted = client.call_with_progress("trigger-long-running-operation", slow);
    assert!(!counted.beats().is_empty(), "{counted}");
    client.close();
    gateway.stop();
}

#[test]
fn commands_that_ask_a_server_know_the_older_transport() {
    let (older, place, port) = (Older::start(), Place::new(), free_port());
    let url = older.server.url.as_str();
    let scanned = place.run(&["scan", "--url", url, "--transport", "sse"]);
    assert_eq!(scanned.code, 0, "{}", scanned.error);
    assert!(scanned.out.contains("delete_note"), "{}", scanned.out);
    let unsaid = place.run(&["scan", "--url", url]);
    assert_eq!(unsaid.code, 2, "{}", unsaid.out);
    assert!(unsaid.error.contains("say `--transport sse`"), "{}", unsaid.error);

    place.file("portcullis.toml", format!("listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n"));
    let running = Running::serve(&place.path(""), port, &[]);
    let run = |arguments: &[&str]| {
        let ran = place.run(&[arguments, &["--data-dir", "data"]].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.error);
        ran.out
    };
    run(&["server", "add", "old", "--url", url, "--transport", "sse"]);
    let checked = run(&["server", "check", "old"]);
    assert!(checked.contains("has 3 tools"), "{checked}");
    assert!(run(&["server", "show", "old"]).contains("sse"));
    place.file("p.json", policy().to_string());
    run(&["policy", "add", "p", "p.json", "--server", "old", "--activate"]);
    let created = run(&["grant", "create", "tester", "--server", "old", "--policy", "p", "--json"]);
    let created: Value = serde_json::from_str(&created).unwrap();
    let headers = json!({"Authorization": format!("Bearer {}", created["token"].as_str().unwrap())});
    let way = json!({"url": format!("http://127.0.0.1:{port}/mcp/old"), "headers": headers});
    use_it(Client::connect(Sdk::Python, Era::Legacy, &way), &older);
    assert_eq!(running.stop(), Some(0));
}
