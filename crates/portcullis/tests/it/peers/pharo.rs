//! The Pharo server behind the gateway, with the recommended policy as it is shipped. The image is the stand-in of
//! the test kit: a test peer, not Pharo. It records what it was sent, so a refused call shows by its absence.

use portcullis_testkit::pharo_stand_in::StandIn;
use serde_json::{Value, json};

use super::client::{Client, Era, Sdk};
use super::gateway::Gateway;
use super::pair::names;
use super::servers::Server;
use super::{Scenario, play};

struct Stage {
    through: Client,
    image: StandIn,
    gateway: Gateway,
    _server: Option<Server>,
}

const SCENARIOS: [Scenario<Stage>; 6] = [
    ("the 23 public tools and ping_image are listed, and no others", list),
    ("what reads is answered by the image", look_up),
    ("the eleventh eval in a minute is refused with the time to wait", eval),
    ("the thirty-first import in a minute is refused with the time to wait", import),
    ("what the policy does not list is denied", unlisted),
    ("code that saves the image, or works on files, does not run", guarded_code),
];

fn policy() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies/pharo-recommended.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn run_over_http(sdk: Sdk, era: Era) {
    let image = StandIn::start().unwrap();
    let server = Server::pharo(&image.url());
    let gateway = Gateway::before_url(&server.url, &policy());
    run(sdk, era, image, gateway, Some(server));
}

fn run(sdk: Sdk, era: Era, image: StandIn, gateway: Gateway, server: Option<Server>) {
    let through = Client::connect(sdk, era, &gateway.way());
    let mut stage = Stage { through, image, gateway, _server: server };
    assert_eq!(play(&mut stage, &SCENARIOS), 6);
    stage.through.close();
    stage.gateway.stop();
}

#[test]
fn pharo_over_http_with_sessions() {
    run_over_http(Sdk::TypeScript, Era::Legacy);
}

#[test]
fn pharo_over_http_without_sessions() {
    run_over_http(Sdk::Python, Era::Modern);
}

fn list(stage: &mut Stage) {
    let mut permitted: Vec<String> = policy()["tools"].as_object().unwrap().keys().cloned().collect();
    let mut listed = names(&stage.through.tools(), "name");
    permitted.sort();
    listed.sort();
    assert_eq!(listed, permitted);
    assert_eq!(listed.len(), 24);
}

fn look_up(stage: &mut Stage) {
    let reply = stage.through.call("get_class_comment", json!({"class_name": "SisServer"}));
    assert!(reply.text().contains("I answer requests from outside."), "{reply}");
    let reply = stage.through.call("ping_image", json!({}));
    assert_eq!(reply.result()["isError"], false, "{reply}");
}

fn eval(stage: &mut Stage) {
    stage.image.take_recorded();
    let code = json!({"code": "3 + 4"});
    for turn in 0..10 {
        let name = if turn % 2 == 0 { "eval" } else { "eval_code" };
        let reply = stage.through.call(name, code.clone());
        assert_eq!(reply.result()["structuredContent"]["result"], 7, "{reply}");
    }
    for name in ["eval", "eval_code"] {
        let reply = stage.through.call(name, code.clone());
        let rule = format!("/tools/{name}/limits/0");
        must_wait(reply.denied(&rule, "Rate limit reached: 10 per minute. Try again in "));
    }
    assert_eq!(asked(stage, "/eval"), 10, "a refused call reached the image");
}

fn import(stage: &mut Stage) {
    let path = stage.image.directory().to_string_lossy().into_owned();
    let package = json!({"package_name": "Sis-Core", "path": path});
    stage.through.call("export_package", package.clone()).text();
    stage.image.take_recorded();
    for _ in 0..30 {
        stage.through.call("import_package", package.clone()).text();
    }
    let reply = stage.through.call("import_package", package);
    must_wait(reply.denied("/tools/import_package/limits/0", "30 per minute. Try again in "));
    assert_eq!(asked(stage, "/import-package"), 30, "a refused call reached the image");
}

fn unlisted(stage: &mut Stage) {
    stage.image.take_recorded();
    for (name, arguments) in [
        ("remove_class", json!({"class_name": "SisServer"})),
        ("compile_method", json!({"class_name": "SisServer", "method_source": "x ^ 1"})),
        ("poll_transcript", json!({})),
        ("inspect_expression", json!({"expression": "1"})),
    ] {
        stage.through.call(name, arguments).denied("(default deny)", "");
    }
    assert_eq!(stage.image.take_recorded().len(), 0, "a refused call reached the image");
}

/// The limit is used up by now; these are refused for what they say, before it is looked at.
fn guarded_code(stage: &mut Stage) {
    stage.image.take_recorded();
    let saves = json!({"code": "Smalltalk snapshot: true andQuit: false"});
    let reply = stage.through.call("eval", saves);
    reply.denied("/tools/eval/deny_if/0", "Saving the image is not for agents.");
    let long = json!({"code": "x".repeat(4001)});
    stage.through.call("eval", long).denied("/tools/eval/require/0", "Send at most 4000 characters");
    let files = json!({"code": "FileSystem disk root"});
    assert_eq!(stage.through.call("eval", files).result()["isError"], true);
    assert_eq!(stage.image.take_recorded().len(), 0, "a refused call reached the image");
}

fn must_wait(decision: &Value) {
    assert!((1..=60).contains(&decision["retry_after_s"].as_u64().unwrap()), "{decision}");
    assert_eq!(decision["retryable"], true);
}

fn asked(stage: &Stage, path: &str) -> usize {
    stage.image.take_recorded().iter().filter(|request| request.path == path).count()
}
