//! `protect --via gateway`: the files of every client lead to a running gateway, where each server has a policy and a
//! grant of its own; each is then used as its client would, with an official client.

use std::fs;
use std::process::{Command, Stdio};

use portcullis_clients::{Entry, Home, Way, find};
use serde_json::{Value, json};

use super::client::{Client, Era, Sdk};
use super::pair::names;
use crate::command::{Place, Ran};
use crate::protect::{SECRET, of_all_clients};
use crate::running::{Running, eventually, free_port};

struct Stage {
    home: Place,
    gateway: Place,
    running: Option<Running>,
}

impl Stage {
    fn new() -> Stage {
        let (home, gateway, port) = (Place::new(), Place::new(), free_port());
        gateway.file("portcullis.toml", format!("listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n"));
        let running = Running::serve(&gateway.path(""), port, &[]);
        of_all_clients(&home, "http://127.0.0.1:9/nobody", "not-a-grant");
        Stage { home, gateway, running: Some(running) }
    }

    fn protect(&self, arguments: &[&str]) -> Ran {
        let home = self.home.path("").to_string_lossy().into_owned();
        let elsewhere = self.gateway.path("").to_string_lossy().into_owned();
        self.home.run(&[&["protect", "--home", &home, "--project", &elsewhere], arguments].concat())
    }

    fn protect_via(&self, arguments: &[&str]) -> Ran {
        let data = self.gateway.path("data").to_string_lossy().into_owned();
        self.protect(&[&["--via", "gateway", "--data-dir", &data], arguments].concat())
    }

    fn entries(&self) -> Vec<Entry> {
        let found = find(&Home::at(self.home.path("")), None, &[]);
        found.into_iter().flat_map(|found| found.entries.unwrap()).collect()
    }

    fn contents(&self) -> Vec<Vec<u8>> {
        let found = find(&Home::at(self.home.path("")), None, &[]);
        found.iter().map(|found| fs::read(&found.place.path).unwrap()).collect()
    }

    /// What the gateway has of a kind: names of servers, labels and states of grants.
    fn listed(&self, what: &str, key: &str) -> Vec<Value> {
        let ran = self.gateway.run(&[what, "list", "--json", "--data-dir", "data"]);
        let listed: Value = serde_json::from_str(&ran.out).unwrap();
        listed[key].as_array().unwrap().clone()
    }
}

fn way(entry: &Entry) -> Value {
    match &entry.way {
        Way::Remote(remote) => {
            let header = |(name, value): &(String, portcullis_clients::HeaderValue)| {
                (name.clone(), json!(value.written().unwrap().reveal()))
            };
            let headers: serde_json::Map<String, Value> = remote.headers.iter().map(header).collect();
            json!({"url": remote.url, "headers": headers})
        }
        Way::Command { command, arguments } => {
            let words: Vec<&String> = std::iter::once(command).chain(arguments).collect();
            let variable =
                |(name, value): &(String, portcullis_clients::Hidden)| (name.clone(), json!(value.reveal()));
            let env: serde_json::Map<String, Value> = entry.environment.iter().map(variable).collect();
            json!({"command": words, "env": env})
        }
        Way::Unknown(reason) => panic!("{reason}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_client_uses_its_server_through_the_running_gateway() {
    let mut stage = Stage::new();
    let before = stage.contents();
    let looked = stage.protect_via(&["--dry-run"]);
    assert_eq!(looked.code, 0, "{}{}", looked.out, looked.error);
    assert!(looked.out.contains("/mcp/cursor-notes"), "{}", looked.out);
    assert_eq!((stage.contents(), stage.listed("server", "servers").len()), (before.clone(), 0));

    let ran = stage.protect_via(&["--yes"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.error);
    // Nobody answers at the address of the second server of one client, so it stays as it was.
    assert!(ran.error.contains("server `remote` was left alone"), "{}{}", ran.out, ran.error);
    for text in [&looked.out, &looked.error, &ran.out, &ran.error] {
        assert!(!text.contains(SECRET) && !text.contains("pcl_"), "{text}");
    }
    let after = stage.contents();
    for (entry, at) in stage.entries().iter().filter(|entry| entry.name == "notes").zip(0..) {
        let sdk = if at % 2 == 0 { Sdk::TypeScript } else { Sdk::Python };
        let mut client = Client::connect(sdk, Era::Legacy, &way(entry));
        let tools = names(&client.tools(), "name");
        assert!(tools.contains(&"read_note".to_owned()), "{tools:?}");
        assert!(
            !tools.contains(&"delete_all_notes".to_owned()),
            "the recommended policy hides it: {tools:?}"
        );
        assert_eq!(client.call("read_note", json!({})).text(), "read_note done");
        let environment = client.call("get_environment", json!({}));
        assert!(
            environment.text().contains("API_KEY") && !environment.text().contains(SECRET),
            "{environment}"
        );
        client.close();
    }
    assert_eq!(stage.listed("grant", "grants").len(), 7, "one for each");

    assert_eq!(stage.protect_via(&["--yes"]).code, 0);
    assert_eq!(stage.contents(), after, "twice changes nothing");
    assert_eq!(stage.listed("grant", "grants").len(), 7);

    let token = way(stage.entries().iter().find(|entry| matches!(entry.way, Way::Remote(_))).unwrap());
    let undone = stage.protect(&["--undo"]);
    assert_eq!(undone.code, 0, "{}{}", undone.out, undone.error);
    assert_eq!(stage.contents(), before, "byte for byte");
    assert!(stage.listed("server", "servers").is_empty());
    assert!(stage.listed("grant", "grants").iter().all(|grant| grant["state"] == "revoked"));
    let refused = Client::try_connect(Sdk::Python, Era::Legacy, &token);
    assert!(refused.0.get("error").is_some(), "the token works no more: {refused}");
    // And once more, under the same names.
    assert_eq!(stage.protect_via(&["--yes", "--client", "cursor"]).code, 0);
    assert_eq!(stage.protect(&["--undo"]).code, 0);
    assert_eq!(stage.contents(), before);
    assert_eq!(stage.running.take().unwrap().stop(), Some(0));
    let verified = stage.gateway.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
}

#[test]
fn what_would_have_to_be_kept_readable_is_left_alone() {
    let mut stage = Stage::new();
    let cursor = format!(
        r#"{{"mcpServers": {{
            "argument": {{"command": "python3", "args": ["server.py", "--api-key", "{SECRET}"]}},
            "address": {{"url": "https://web.example/mcp?key={SECRET}"}},
            "variable": {{"command": "python3", "env": {{"API_KEY": "${{env:API_KEY}}"}}}},
            "relative": {{"command": "./server"}}
        }}}}"#
    );
    stage.home.file(".cursor/mcp.json", &cursor);
    let ran = stage.protect_via(&["--yes", "--client", "cursor"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.error);
    for said in
        ["looks like a secret", "may hold a secret", "variable `API_KEY` comes from", "write its paths out"]
    {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(!ran.out.contains(SECRET) && !ran.error.contains(SECRET), "{}{}", ran.out, ran.error);
    assert_eq!(stage.home.read(".cursor/mcp.json"), cursor);
    assert!(stage.listed("server", "servers").is_empty());

    assert_eq!(stage.running.take().unwrap().stop(), Some(0));
    let ran = stage.protect_via(&["--yes", "--client", "codex"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("no gateway runs on"), "{}", ran.error);
}

/// Killed while the gateway looks at a server: no file has changed, and the next run says what is in its way.
#[test]
fn after_a_run_that_was_killed_halfway_the_next_one_says_what_to_remove() {
    let mut stage = Stage::new();
    let cursor = r#"{"mcpServers": {"slow": {"command": "sleep", "args": ["1000"]}}}"#;
    stage.home.file(".cursor/mcp.json", cursor);
    let wanted = ["--yes", "--client", "cursor"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.args(["protect", "--via", "gateway", "--home"]).arg(stage.home.path(""));
    command.arg("--data-dir").arg(stage.gateway.path("data")).args(wanted);
    command
        .current_dir(stage.gateway.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut killed = command.spawn().unwrap();
    eventually("the server is added", || !stage.listed("server", "servers").is_empty());
    assert!(killed.try_wait().unwrap().is_none(), "it ended before it was killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(stage.home.read(".cursor/mcp.json"), cursor);
    let ran = stage.protect_via(&wanted);
    assert!(
        ran.error.contains("`portcullis server remove cursor-slow` makes room"),
        "{}{}",
        ran.out,
        ran.error
    );
    assert_eq!(stage.listed("server", "servers").len(), 1, "it may be somebody's");
    let removed = stage.gateway.run(&["server", "remove", "cursor-slow", "--data-dir", "data"]);
    assert_eq!(removed.code, 0, "{}{}", removed.out, removed.error);
    assert!(stage.listed("server", "servers").is_empty());
    assert_eq!(stage.running.take().unwrap().stop(), Some(0));
}
