//! The reference server `server-everything` over streamable HTTP, driven by the official clients in the era of
//! sessions: bare first where that says something, so that a difference is the gateway's.

use serde_json::{Value, json};

use super::client::{Client, Era, Sdk};
use super::gateway::Gateway;
use super::pair::{Pair, names};
use super::servers::Server;
use super::{Scenario, play};

struct Stage {
    pair: Pair,
    gateway: Gateway,
    _server: Server,
}

const SCENARIOS: [Scenario<Stage>; 15] = [
    ("the list has what the policy permits, as the server wrote it", list),
    ("a permitted call is answered as by the bare server", call),
    ("a denied call says why", deny),
    ("a hidden tool is like one that does not exist", hide),
    ("what is not listed in the policy is denied", deny_by_default),
    ("a limit says how long to wait", limit),
    ("an argument that breaks a rule is refused", argument_rule),
    ("progress arrives while a call runs", progress),
    ("the server asks the client's model", sampling),
    ("the server asks the client's user", elicitation),
    ("a call is given up", cancel),
    ("resources are listed and read as permitted", resources),
    ("a subscription brings updates", subscription),
    ("prompts are listed, got and completed as permitted", prompts),
    ("the log tells it all", log),
];

fn policy() -> Value {
    json!({
        "version": "1",
        "default": "deny",
        "hide": ["get-env"],
        "tools": {
            "echo": {"deny_if": [{
                "conditions": [{"path": "args.message", "op": "contains", "value": "password"}],
                "on_deny": "Passwords stay here."
            }]},
            "get-structured-content": {},
            "get-sum": {"limits": [{"counter": "sums", "window": "minute", "max": 3}]},
            "get-tiny-image": {},
            "gzip-file-as-resource": {"action": "deny", "reason": "Nothing is fetched from here."},
            "toggle-subscriber-updates": {},
            "trigger-elicitation-request": {},
            "trigger-long-running-operation": {},
            "trigger-sampling-request": {}
        },
        "resources": {
            "default": "deny",
            "allow": ["demo://resource/static/document/features.md", "demo://resource/dynamic/text/*"]
        },
        "prompts": {"default": "deny", "allow": ["simple-prompt", "args-prompt", "completable-prompt"]},
        "server_requests": {"sampling": "allow", "elicitation": "allow", "roots": "allow"}
    })
}

fn run(sdk: Sdk) {
    let server = Server::everything();
    let gateway = Gateway::before_url(&server.url, &policy());
    let user = json!({"name": "Ada", "check": true});
    let bare = Client::connect(sdk, Era::Legacy, &json!({"url": server.url, "elicit": user}));
    let mut way = gateway.way();
    way["elicit"] = user;
    let through = Client::connect(sdk, Era::Legacy, &way);
    assert_eq!(through.hello["version"], "2025-11-25");
    assert_eq!(through.hello["server"], bare.hello["server"]);
    let mut stage = Stage { pair: Pair { bare, through }, gateway, _server: server };
    assert_eq!(play(&mut stage, &SCENARIOS), 15);
    stage.pair.through.close();
    stage.gateway.stop();
}

#[test]
fn server_everything_with_the_typescript_sdk() {
    run(Sdk::TypeScript);
}

#[test]
fn server_everything_with_the_python_sdk() {
    run(Sdk::Python);
}

fn list(stage: &mut Stage) {
    let entries = policy()["tools"].clone();
    let (bare, through) = (stage.pair.bare.tools(), stage.pair.through.tools());
    let has_entry = |tool: &Value| entries.get(tool["name"].as_str().unwrap()).is_some();
    let permitted: Vec<Value> = bare.iter().filter(|tool| has_entry(tool)).cloned().collect();
    assert_eq!(permitted.len(), 9, "the server has lost a tool: {:?}", names(&bare, "name"));
    assert!(bare.len() > 9);
    assert_eq!(permitted, through);
}

fn call(stage: &mut Stage) {
    let echo = stage.pair.both(|client| client.call("echo", json!({"message": "grüezi ✓"})).whole());
    assert_eq!(echo.0[0]["text"], "Echo: grüezi ✓");
    let weather = json!({"location": "Chicago"});
    let structured = stage.pair.both(|client| client.call("get-structured-content", weather.clone()).whole());
    assert!(structured.1.is_object(), "{structured:?}");
    let image = stage.pair.both(|client| client.call("get-tiny-image", json!({})).whole());
    assert!(image.0.as_array().unwrap().iter().any(|part| part["type"] == "image"));
    let wrong = stage.pair.both(|client| client.call("echo", json!({"massage": 1})).whole());
    assert!(wrong.2, "the server itself refuses wrong arguments");
}

fn deny(stage: &mut Stage) {
    let reply = stage.pair.through.call("gzip-file-as-resource", json!({"name": "x"}));
    let decision = reply.denied("/tools/gzip-file-as-resource/action", "Nothing is fetched from here.");
    assert_eq!(decision["retryable"], false);
}

fn hide(stage: &mut Stage) {
    assert!(names(&stage.pair.bare.tools(), "name").contains(&"get-env".to_owned()));
    assert!(!names(&stage.pair.through.tools(), "name").contains(&"get-env".to_owned()));
    let hidden = stage.pair.through.call("get-env", json!({})).0.to_string();
    let made_up = stage.pair.through.call("get-enx", json!({})).0.to_string();
    assert!(hidden.contains("Unknown tool: get-env"), "{hidden}");
    assert_eq!(hidden, made_up.replace("get-enx", "get-env"));
}

fn deny_by_default(stage: &mut Stage) {
    let reply = stage.pair.through.call("get-annotated-message", json!({"messageType": "success"}));
    reply.denied("(default deny)", "");
}

fn limit(stage: &mut Stage) {
    for _ in 0..3 {
        let sum = stage.pair.both(|client| client.call("get-sum", json!({"a": 2, "b": 3})).whole());
        assert_eq!(sum.0[0]["text"], "The sum of 2 and 3 is 5.");
    }
    let reply = stage.pair.through.call("get-sum", json!({"a": 2, "b": 3}));
    let decision = reply.denied("/tools/get-sum/limits/0", "Try again in ");
    let wait = decision["retry_after_s"].as_u64().unwrap();
    assert!((1..=60).contains(&wait), "{decision}");
    assert_eq!(decision["retryable"], true);
}

fn argument_rule(stage: &mut Stage) {
    let reply = stage.pair.through.call("echo", json!({"message": "my password is 123"}));
    reply.denied("/tools/echo/deny_if/0", "Passwords stay here.");
    assert!(!reply.0.to_string().contains("123"), "the argument's value came back: {reply}");
}

fn progress(stage: &mut Stage) {
    let steps = json!({"duration": 0.3, "steps": 3});
    let (text, beats) = stage.pair.both(|client| {
        let reply = client.call_with_progress("trigger-long-running-operation", steps.clone());
        (reply.text().to_owned(), reply.beats().clone())
    });
    assert!(text.contains("completed"), "{text}");
    assert_eq!(beats.len(), 3);
}

fn sampling(stage: &mut Stage) {
    let (asked, text) = stage.pair.both(|client| {
        let reply = client.call("trigger-sampling-request", json!({"prompt": "a riddle"}));
        (client.hear("sampling/createMessage"), reply.text().to_owned())
    });
    assert!(asked["messages"][0]["content"]["text"].as_str().unwrap().contains("a riddle"), "{asked}");
    assert!(text.contains("said by the client"), "{text}");
}

fn elicitation(stage: &mut Stage) {
    let (asked, reply) = stage.pair.both(|client| {
        let reply = client.call("trigger-elicitation-request", json!({}));
        (client.hear("elicitation/create"), reply.whole())
    });
    assert!(asked["requestedSchema"]["properties"]["check"].is_object(), "{asked}");
    assert!(reply.0.to_string().contains("Name: Ada"), "{reply:?}");
}

fn cancel(stage: &mut Stage) {
    let slow = json!({"duration": 60, "steps": 300});
    stage.pair.through.call_and_cancel("trigger-long-running-operation", slow);
    assert_eq!(stage.pair.through.call("echo", json!({"message": "still here"})).text(), "Echo: still here");
}

fn resources(stage: &mut Stage) {
    let listed = stage.pair.through.list("resources", "resources");
    assert_eq!(names(&listed, "uri"), ["demo://resource/static/document/features.md"]);
    assert!(stage.pair.bare.list("resources", "resources").contains(&listed[0]));
    let features = stage.pair.both(|client| {
        client.read("demo://resource/static/document/features.md").result()["contents"].clone()
    });
    assert!(features[0]["text"].as_str().unwrap().contains("Everything Server"));
    let templates = stage.pair.through.list("templates", "resourceTemplates");
    assert_eq!(names(&templates, "uriTemplate"), ["demo://resource/dynamic/text/{resourceId}"]);
    assert!(
        stage.pair.through.read("demo://resource/dynamic/text/1").result()["contents"][0]["text"].is_string()
    );
    for uri in ["demo://resource/dynamic/blob/1", "demo://resource/static/document/startup.md"] {
        assert!(stage.pair.bare.read(uri).0["result"].is_object());
        let error = stage.pair.through.read(uri).error().clone();
        assert_eq!(error["code"], 41001, "{error}");
    }
}

fn subscription(stage: &mut Stage) {
    let denied = stage.pair.through.ask(json!({"do": "subscribe", "uri": "demo://resource/dynamic/blob/1"}));
    assert_eq!(denied.error()["code"], 41001, "{denied}");
    let uri = "demo://resource/dynamic/text/7";
    stage.pair.through.ask(json!({"do": "subscribe", "uri": uri})).result();
    stage.pair.through.call("toggle-subscriber-updates", json!({})).text();
    assert_eq!(stage.pair.through.hear("notifications/resources/updated")["uri"], uri);
}

fn prompts(stage: &mut Stage) {
    let listed = stage.pair.through.list("prompts", "prompts");
    assert_eq!(names(&listed, "name"), ["simple-prompt", "args-prompt", "completable-prompt"]);
    let weather = stage
        .pair
        .both(|client| client.prompt("args-prompt", json!({"city": "Basel"})).result()["messages"].clone());
    assert_eq!(weather[0]["content"]["text"], "What's weather in Basel?");
    let denied =
        stage.pair.through.prompt("resource-prompt", json!({"resourceType": "Text", "resourceId": "1"}));
    assert_eq!(denied.error()["code"], 41001, "{denied}");
    let half = json!({
        "do": "complete",
        "ref": {"type": "ref/prompt", "name": "completable-prompt"},
        "argument": {"name": "department", "value": "Eng"}
    });
    let completed =
        stage.pair.both(|client| client.ask(half.clone()).result()["completion"]["values"].clone());
    assert_eq!(completed, json!(["Engineering"]));
}

fn log(stage: &mut Stage) {
    let records = stage.gateway.log();
    let text = serde_json::to_string(&records).unwrap();
    for part in ["/tools/get-sum/limits/0", "/tools/echo/deny_if/0", "(hidden)", "notifications/cancelled"] {
        assert!(text.contains(part), "`{part}` is not in the log");
    }
    for value in ["my password", "a riddle", "Basel", "Ada"] {
        assert!(!text.contains(value), "the log holds the value `{value}`");
    }
}
