//! Real servers on standard input and output, behind `wrap` and behind `serve`, driven by the official clients.
//!
//! Each has a policy with one tool that is free, one argument that is refused and one limit; what was refused is
//! looked for at the server's own side (a file, a branch, a table), where it must not be found.

mod servers;

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, Era, Sdk};
use super::gateway::Gateway;
use super::pair::names;
use crate::command::Place;

/// What stands between the client and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    /// The client starts `wrap`, which starts the server.
    Wrap,
    /// The client talks HTTP with a gateway, which starts the server.
    #[expect(dead_code, reason = "the configuration has no programs yet")]
    Serve,
}

const FRONTS: [Front; 1] = [Front::Wrap];

struct Call {
    tool: &'static str,
    arguments: Value,
}

/// Looks at the server's own side.
type Look = Box<dyn Fn() -> bool>;

/// A server on standard input and output, and what is tried on it.
struct Local {
    command: Vec<String>,
    env: Vec<(&'static str, String)>,
    tools: Value,
    /// Permitted; the answer has this text, and the server's own side shows it.
    allowed: (Call, &'static str),
    is_done: Look,
    /// Refused for an argument, by this rule; the server's own side does not show it.
    refused: (Call, &'static str),
    is_refused_done: Look,
    /// Permitted twice in an hour.
    limited: (Call, &'static str),
    /// Reports progress at least this often. Fewer than the server sends: the TypeScript client drops what it reads
    /// together with the answer, from the bare server too.
    progress: Option<(Call, usize)>,
    /// Would go on for a minute; given up at its first sign of progress.
    cancel: Option<Call>,
    is_cancelled: Look,
    /// Makes the server ask the client's model.
    sampling: Option<Call>,
    /// What must live as long as the server.
    _keep: Keep,
}

/// Directories and images of servers.
#[derive(Default)]
struct Keep {
    _directory: Option<TempDir>,
    _image: Option<std::rc::Rc<portcullis_testkit::pharo_stand_in::StandIn>>,
}

/// A client, connected to the server through the gateway.
struct Stage {
    client: Client,
    local: Local,
    kept: Kept,
}

/// Where the gateway keeps its log.
enum Kept {
    Wrap(Place),
    Serve(Gateway),
}

impl Local {
    fn policy(&self) -> Value {
        let requests = json!({"sampling": "allow", "elicitation": "allow", "roots": "allow"});
        json!({"version": "1", "default": "deny", "tools": self.tools, "server_requests": requests})
    }

    fn connect(self, front: Front, sdk: Sdk, era: Era) -> Stage {
        let (way, kept) = match front {
            Front::Wrap => self.wrapped(),
            Front::Serve => self.served(),
        };
        Stage { client: Client::connect(sdk, era, &way), local: self, kept }
    }

    fn wrapped(&self) -> (Value, Kept) {
        let place = Place::new();
        place.file("p.json", self.policy().to_string());
        let portcullis = env!("CARGO_BIN_EXE_portcullis");
        let (policy, data) = (path_text(&place.path("p.json")), path_text(&place.path("data")));
        let ours = [portcullis, "wrap", "--policy", &policy, "--data-dir", &data, "--label", "tester", "--"];
        let command: Vec<&str> = ours.into_iter().chain(self.command.iter().map(String::as_str)).collect();
        let env: serde_json::Map<String, Value> =
            self.env.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        (json!({"command": command, "env": env}), Kept::Wrap(place))
    }

    fn served(&self) -> (Value, Kept) {
        let pairs: Vec<String> =
            self.env.iter().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
        let way = format!("command = {}\nenv = {{ {} }}", json!(self.command), pairs.join(", "));
        let gateway = Gateway::before(&way, &self.policy());
        (gateway.way(), Kept::Serve(gateway))
    }
}

impl Stage {
    /// Tries what the server offers; how many scenarios that were.
    fn play(mut self) -> usize {
        self.list();
        self.call();
        self.deny_by_argument();
        self.limit();
        let more = [self.progress(), self.cancel(), self.sampling()];
        self.client.close();
        match self.kept {
            Kept::Serve(gateway) => gateway.stop(),
            Kept::Wrap(place) => {
                let verified = place.run(&["log", "verify", "--data-dir", "data"]);
                assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
            }
        }
        4 + more.into_iter().filter(|was_tried| *was_tried).count()
    }

    fn list(&mut self) {
        let mut listed = names(&self.client.tools(), "name");
        listed.sort();
        let mut permitted: Vec<String> = self.local.tools.as_object().unwrap().keys().cloned().collect();
        permitted.sort();
        assert_eq!(listed, permitted);
    }

    fn call(&mut self) {
        let (call, text) = &self.local.allowed;
        let reply = self.client.call(call.tool, call.arguments.clone());
        assert!(reply.text().contains(text), "{reply}");
        assert!((self.local.is_done)(), "the server has not done it");
    }

    fn deny_by_argument(&mut self) {
        let (call, rule) = &self.local.refused;
        let reply = self.client.call(call.tool, call.arguments.clone());
        reply.denied(rule, "Not with this.");
        assert!(!(self.local.is_refused_done)(), "what was refused was done");
    }

    fn limit(&mut self) {
        let (call, rule) = &self.local.limited;
        for _ in 0..2 {
            self.client.call(call.tool, call.arguments.clone()).text();
        }
        let reply = self.client.call(call.tool, call.arguments.clone());
        let decision = reply.denied(rule, "2 per hour. Try again in ");
        assert!((1..=3600).contains(&decision["retry_after_s"].as_u64().unwrap()), "{decision}");
    }

    fn progress(&mut self) -> bool {
        let Some((call, beats)) = &self.local.progress else { return false };
        let reply = self.client.call_with_progress(call.tool, call.arguments.clone());
        reply.text();
        assert!(reply.beats().len() >= *beats, "{reply}");
        true
    }

    fn cancel(&mut self) -> bool {
        let Some(call) = &self.local.cancel else { return false };
        self.client.call_and_cancel(call.tool, call.arguments.clone());
        crate::running::eventually("the server learns of it", &self.local.is_cancelled);
        true
    }

    fn sampling(&mut self) -> bool {
        let Some(call) = &self.local.sampling else { return false };
        let reply = self.client.call(call.tool, call.arguments.clone());
        assert!(reply.text().contains("said by the client"), "{reply}");
        true
    }
}

fn path_text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Behind each front, with one client each; so many scenarios must have run.
fn try_in(era: Era, local: impl Fn() -> Local, scenarios: usize) {
    let sdk = |front| match (front, era) {
        (Front::Wrap, Era::Legacy) | (Front::Serve, Era::Modern) => Sdk::TypeScript,
        (Front::Serve, Era::Legacy) | (Front::Wrap, Era::Modern) => Sdk::Python,
    };
    for front in FRONTS {
        let stage = local().connect(front, sdk(front), era);
        assert_eq!(stage.play(), scenarios, "{front:?}");
    }
}

#[test]
fn server_everything() {
    try_in(Era::Legacy, servers::everything, 7);
}

#[test]
fn server_filesystem() {
    try_in(Era::Legacy, servers::filesystem, 4);
}

#[test]
fn server_memory() {
    try_in(Era::Legacy, servers::memory, 4);
}

#[test]
fn mcp_server_git_with_sessions() {
    try_in(Era::Legacy, servers::git, 4);
}

#[test]
fn mcp_server_git_without_sessions() {
    try_in(Era::Modern, servers::git, 4);
}

#[test]
fn mcp_server_time_with_sessions() {
    try_in(Era::Legacy, servers::time, 4);
}

#[test]
fn mcp_server_time_without_sessions() {
    try_in(Era::Modern, servers::time, 4);
}

#[test]
fn mcp_server_sqlite() {
    try_in(Era::Legacy, servers::sqlite, 4);
}

#[test]
fn pharo_interop_mcp_with_sessions() {
    try_in(Era::Legacy, servers::pharo, 6);
}

#[test]
fn pharo_interop_mcp_without_sessions() {
    try_in(Era::Modern, servers::pharo, 6);
}

#[test]
fn a_server_of_the_python_sdk_with_sessions() {
    try_in(Era::Legacy, servers::modern, 6);
}

#[test]
fn a_server_of_the_python_sdk_without_sessions() {
    try_in(Era::Modern, servers::modern, 6);
}
