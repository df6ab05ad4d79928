//! Classes: by the catalogue's rules for every tool that is listed, unless an administrator said otherwise.

use crate::client::at;
use crate::fake_server::{Play, Received};
use crate::rig::{Rig, script};
use portcullis_gateway::Settings;
use portcullis_json::Value;

const LISTED: &str = r#"{"tools":[
  {"name":"get_note","description":"Returns the text of one note.","inputSchema":{"type":"object"}},
  {"name":"delete_note","description":"Deletes one note for good.","inputSchema":{"type":"object"}},
  {"name":"echo","description":"Deletes every file.","inputSchema":{"type":"object"}},
  {"name":"run_class_test","inputSchema":{"type":"object"}},
  {"name":"odd","annotations":"none","inputSchema":{"type":"object"}}],"resultType":"complete"}"#;

/// Every class passes except Destructive, and what has no class.
const NOTHING_DESTRUCTIVE: &str = r#"{"version":"1","default":"deny","classes":{
  "Read":{},"Write":{},"Execute":{},"Financial":{},"Destructive":{"action":"deny"}}}"#;

fn lists(received: &Received) -> Option<Play> {
    (received.at("method") == "tools/list").then(|| Play::Result(LISTED.to_owned()))
}

async fn rig() -> Rig {
    Rig::start(NOTHING_DESTRUCTIVE, true, script(lists), Settings::default()).await
}

fn rule(answer: &crate::client::Answer) -> String {
    answer.at("result|_meta|portcullis/decision|rule")
}

#[tokio::test]
async fn a_class_comes_from_the_rules_and_is_in_the_log() {
    let rig = rig().await;
    assert_eq!(rig.client.call("get_note", "{}").await.at("result|isError"), "false");
    assert_eq!(rule(&rig.client.call("delete_note", "{}").await), "/classes/Destructive/action");
    assert_eq!(rule(&rig.client.call("odd", "{}").await), "(class unknown)");
    let of = |key: &str| -> Vec<String> {
        rig.decisions("tools/call").iter().map(|decision| at(decision, key)).collect()
    };
    assert_eq!(of("class"), ["Read", "Destructive", "-"]);
    assert_eq!(of("class_source"), ["-", "-", "-"]);
}

#[tokio::test]
async fn an_override_wins_and_the_log_says_so() {
    let rig = rig().await;
    assert_eq!(rig.client.call("echo", "{}").await.at("result|isError"), "false", "set to Read by hand");
    let decisions = rig.decisions("tools/call");
    assert_eq!(
        (at(&decisions[0], "class"), at(&decisions[0], "class_source")),
        ("Read".into(), "override".into())
    );
}

#[tokio::test]
async fn the_first_list_already_knows_the_classes() {
    let rig = Rig::start(
        r#"{"version":"1","default":"deny","classes":{"Read":{}}}"#,
        true,
        script(lists),
        Settings::default(),
    )
    .await;
    let list = rig.client.ask("tools/list", "", "").await.json();
    let listed = list.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array);
    let names: Vec<String> = listed.unwrap().iter().map(|tool| at(tool, "name")).collect();
    assert_eq!(names, ["get_note", "echo"]);
}

#[tokio::test]
async fn siblings_count() {
    let rig = rig().await;
    rig.client.call("run_class_test", "{}").await;
    assert_eq!(at(&rig.decisions("tools/call")[0], "class"), "Execute");
}

#[tokio::test]
async fn a_class_is_looked_up_and_not_computed_at_a_call() {
    let rig = rig().await;
    for _ in 0..3 {
        rig.client.call("get_note", "{}").await;
    }
    assert_eq!(rig.server.got("tools/list").len(), 1);
}
