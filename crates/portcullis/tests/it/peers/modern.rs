//! A server of the Python SDK and the official clients in the era without sessions, 2026-07-28. The server keeps
//! a journal, so that the tests see what reached it and what did not.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, Era, Sdk};
use super::gateway::Gateway;
use super::pair::{Pair, names};
use super::servers::{Journal, Server};
use super::{Scenario, play};
use crate::running::eventually;

struct Stage {
    pair: Pair,
    gateway: Gateway,
    journal: Journal,
    _server: Server,
    _directory: TempDir,
}

const SCENARIOS: [Scenario<Stage>; 13] = [
    ("the list has what the policy permits, as the server wrote it, and is private", list),
    ("a permitted call is answered as by the bare server", call),
    ("a denied call says why and does not arrive", deny),
    ("a hidden tool is like one that does not exist", hide),
    ("a limit says how long to wait", limit),
    ("an argument that breaks a rule is refused", argument_rule),
    ("progress arrives while a call runs", progress),
    ("a call that needs input is asked for it, and its retry is judged and charged", input_required),
    ("closing the stream cancels the call at the server", cancel),
    ("resources are listed and read as permitted", resources),
    ("prompts are listed and got as permitted", prompts),
    ("those who listen hear of changes", listen),
    ("the log tells it all", log),
];

/// Those that mean the same in both eras.
const SCENARIOS_WITH_SESSIONS: [Scenario<Stage>; 7] = [
    ("a permitted call is answered as by the bare server", call),
    ("a denied call says why and does not arrive", deny),
    ("a hidden tool is like one that does not exist", hide),
    ("a limit says how long to wait", limit),
    ("progress arrives while a call runs", progress),
    ("the server asks the client's user in the middle of a call", elicitation),
    ("a call is given up, and the server learns of it", cancel),
];

fn policy() -> Value {
    json!({
        "version": "1",
        "default": "deny",
        "hide": ["secret_door"],
        "tools": {
            "add": {"limits": [{"counter": "adds", "window": "minute", "max": 3}]},
            "ask": {"limits": [{"counter": "asks", "window": "hour", "max": 4}]},
            "count": {},
            "grow": {},
            "late": {},
            "pay": {"require": [{
                "conditions": [{"path": "args.amount", "op": "lte", "value": 100}],
                "on_deny": "At most 100."
            }]},
            "touch": {},
            "wait": {},
            "wipe": {"action": "deny", "reason": "Agents do not wipe."}
        },
        "resources": {"default": "deny", "allow": ["memo://open"]},
        "prompts": {"default": "deny", "allow": ["greet"]},
        "server_requests": {"elicitation": "allow"}
    })
}

fn run(sdk: Sdk) {
    let mut stage = stage(sdk, Era::Modern);
    assert_eq!(stage.pair.through.hello["version"], "2026-07-28");
    assert_eq!(play(&mut stage, &SCENARIOS), 13);
    stage.pair.through.close();
    stage.gateway.stop();
}

fn stage(sdk: Sdk, era: Era) -> Stage {
    let directory = TempDir::new().unwrap();
    let (server, journal) = Server::modern(directory.path());
    let gateway = Gateway::before_url(&server.url, &policy());
    let user = json!({"confirm": true});
    let bare = Client::connect(sdk, era, &json!({"url": server.url, "elicit": user}));
    let mut way = gateway.way();
    way["elicit"] = user;
    let through = Client::connect(sdk, era, &way);
    assert_eq!(through.hello["server"], "modern");
    Stage { pair: Pair { bare, through }, gateway, journal, _server: server, _directory: directory }
}

#[test]
fn a_modern_server_with_the_typescript_sdk() {
    run(Sdk::TypeScript);
}

#[test]
fn a_modern_server_with_the_python_sdk() {
    run(Sdk::Python);
}

/// The same server also speaks to clients with sessions, each in its own way.
#[test]
fn a_dual_server_with_clients_of_the_era_with_sessions() {
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        let mut stage = stage(sdk, Era::Legacy);
        assert_eq!(stage.pair.through.hello["version"], "2025-11-25");
        assert_eq!(play(&mut stage, &SCENARIOS_WITH_SESSIONS), 7);
        stage.pair.through.close();
        stage.gateway.stop();
    }
}

fn list(stage: &mut Stage) {
    let bare = stage.pair.bare.tools();
    let reply = stage.pair.through.ask(json!({"do": "tools"}));
    assert_eq!(reply.result()["cacheScope"], "private", "{reply}");
    let through = reply.result()["tools"].as_array().unwrap();
    for tool in through {
        assert!(bare.contains(tool), "{tool} is not what the server said");
    }
    assert!(names(&bare, "name").contains(&"secret_door".to_owned()));
    let permitted = ["add", "wipe", "pay", "count", "wait", "ask", "grow", "touch"];
    assert_eq!(names(through, "name"), permitted, "in the server's order");
}

fn call(stage: &mut Stage) {
    let sum = stage.pair.both(|client| client.call("add", json!({"a": 1, "b": 2})).whole());
    assert_eq!(sum.1, json!({"result": 3}));
    let paid = stage.pair.both(|client| client.call("pay", json!({"amount": 7})).text().to_owned());
    assert_eq!(paid, "paid 7");
}

fn deny(stage: &mut Stage) {
    let reply = stage.pair.through.call("wipe", json!({}));
    reply.denied("/tools/wipe/action", "Agents do not wipe.");
    assert_eq!(stage.journal.count("wipe"), 0);
}

fn hide(stage: &mut Stage) {
    let hidden = stage.pair.through.call("secret_door", json!({})).0.to_string();
    let made_up = stage.pair.through.call("secret_dooor", json!({})).0.to_string();
    assert!(hidden.contains("Unknown tool: secret_door"), "{hidden}");
    assert_eq!(hidden, made_up.replace("secret_dooor", "secret_door"));
    assert_eq!(stage.journal.count("secret_door"), 0);
}

fn limit(stage: &mut Stage) {
    for _ in 0..2 {
        stage.pair.through.call("add", json!({"a": 1, "b": 2})).text();
    }
    let before = stage.journal.count("add");
    let reply = stage.pair.through.call("add", json!({"a": 1, "b": 2}));
    let decision = reply.denied("/tools/add/limits/0", "Try again in ");
    assert!((1..=60).contains(&decision["retry_after_s"].as_u64().unwrap()), "{decision}");
    assert_eq!(decision["retryable"], true);
    assert_eq!(stage.journal.count("add"), before);
}

fn argument_rule(stage: &mut Stage) {
    let before = stage.journal.count("pay");
    let reply = stage.pair.through.call("pay", json!({"amount": 101}));
    reply.denied("/tools/pay/require/0", "At most 100.");
    assert_eq!(stage.journal.count("pay"), before);
    assert_eq!(stage.pair.through.call("pay", json!({"amount": 100})).text(), "paid 100");
}

fn progress(stage: &mut Stage) {
    let (text, beats) = stage.pair.both(|client| {
        let reply = client.call_with_progress("count", json!({"steps": 3}));
        (reply.text().to_owned(), reply.beats().clone())
    });
    assert_eq!(text, "counted to 3");
    assert_eq!(names(&beats, "message"), ["step 1", "step 2", "step 3"]);
}

/// Each call asks once, so it costs two of the four: the question and the retry.
fn input_required(stage: &mut Stage) {
    let what = json!({"what": "delete"});
    let (asked, text) = stage.pair.both(|client| {
        let text = client.call("ask", what.clone()).text().to_owned();
        (client.hear("elicitation/create"), text)
    });
    assert_eq!(asked["message"], "Really delete?");
    assert_eq!(text, "delete: True");
    assert_eq!(stage.pair.through.call("ask", what.clone()).text(), "delete: True");
    let before = stage.journal.count("ask");
    stage.pair.through.call("ask", what).denied("/tools/ask/limits/0", "Try again in ");
    assert_eq!(stage.journal.count("ask"), before);
}

/// The question comes within the call, so there is no retry to charge: three of four calls are left.
fn elicitation(stage: &mut Stage) {
    let what = json!({"what": "delete"});
    let (asked, text) = stage.pair.both(|client| {
        let text = client.call("ask", what.clone()).text().to_owned();
        (client.hear("elicitation/create"), text)
    });
    assert_eq!(asked["message"], "Really delete?");
    assert_eq!(text, "delete: True");
    for _ in 0..3 {
        stage.pair.through.call("ask", what.clone()).text();
    }
    stage.pair.through.call("ask", what).denied("/tools/ask/limits/0", "Try again in ");
}

fn cancel(stage: &mut Stage) {
    stage.pair.through.call_and_cancel("wait", json!({}));
    eventually("the server learns of it", || stage.journal.count("wait cancelled") == 1);
    assert_eq!(stage.pair.through.call("pay", json!({"amount": 1})).text(), "paid 1");
}

fn resources(stage: &mut Stage) {
    assert_eq!(names(&stage.pair.through.list("resources", "resources"), "uri"), ["memo://open"]);
    let memo = stage.pair.both(|client| client.read("memo://open").result()["contents"].clone());
    assert_eq!(memo[0]["text"], "anybody may read this");
    let denied = stage.pair.through.read("memo://closed");
    assert_eq!(denied.error()["code"], 41001, "{denied}");
    assert_eq!(stage.journal.count("read closed"), 0);
}

fn prompts(stage: &mut Stage) {
    assert_eq!(names(&stage.pair.through.list("prompts", "prompts"), "name"), ["greet"]);
    let name = json!({"name": "Ada"});
    let hello = stage.pair.both(|client| client.prompt("greet", name.clone()).result()["messages"].clone());
    assert_eq!(hello[0]["content"]["text"], "Say hello to Ada.");
    let denied = stage.pair.through.prompt("curse", name);
    assert_eq!(denied.error()["code"], 41001, "{denied}");
    assert_eq!(stage.journal.count("curse"), 0);
}

fn listen(stage: &mut Stage) {
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["memo://open"]});
    let honoured = stage.pair.through.ask(json!({"do": "listen", "filter": filter}));
    assert_eq!(honoured.result(), &filter, "{honoured}");
    assert_eq!(stage.pair.through.call("grow", json!({})).text(), "grown");
    stage.pair.through.hear("notifications/tools/list_changed");
    assert!(names(&stage.pair.through.tools(), "name").contains(&"late".to_owned()));
    assert_eq!(stage.pair.through.call("late", json!({})).text(), "better late");
    assert_eq!(stage.pair.through.call("touch", json!({})).text(), "touched");
    assert_eq!(stage.pair.through.hear("notifications/resources/updated")["uri"], "memo://open");
    assert_eq!(stage.pair.through.ask(json!({"do": "unlisten"})).result(), "local");
}

fn log(stage: &mut Stage) {
    let records = stage.gateway.log();
    let asks = |outcome: &str| {
        let is_one = |record: &&Value| {
            record["kind"] == "decision" && record["tool"] == "ask" && record["outcome"] == outcome
        };
        records.iter().filter(is_one).count()
    };
    assert_eq!((asks("allowed"), asks("denied")), (4, 1), "two questions, two retries, and one refused");
    let text = serde_json::to_string(&records).unwrap();
    for part in ["/tools/add/limits/0", "/tools/pay/require/0", "(hidden)", "subscriptions/listen"] {
        assert!(text.contains(part), "`{part}` is not in the log");
    }
    for value in ["delete", "Ada"] {
        assert!(!text.contains(value), "the log holds the value `{value}`");
    }
}
