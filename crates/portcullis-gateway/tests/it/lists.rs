//! Lists: filtered by the same decision as calls, private, complete in everything else.

use crate::client::at;
use crate::fake_server::Play;
use crate::rig::{OPEN, Rig, script};
use portcullis_gateway::Settings;
use portcullis_json::Value;

fn names(list: &Value, key: &str, name: &str) -> Vec<String> {
    let listed = list.get("result").and_then(|result| result.get(key)).and_then(Value::as_array).unwrap();
    listed.iter().map(|element| at(element, name)).collect()
}

#[tokio::test]
async fn tools_are_filtered_private_and_otherwise_untouched() {
    let policy = r#"{"version":"1","default":"deny","hide":["secret"],"tools":{"echo":{},"late":{"action":"deny"},"secret":{}}}"#;
    let rig = Rig::modern(policy).await;
    let first = rig.client.ask("tools/list", "", "").await;
    assert_eq!(names(&first.json(), "tools", "name"), ["echo"]);
    assert_eq!(
        (first.at("result|cacheScope"), first.at("result|nextCursor")),
        ("private".into(), "two".into())
    );
    assert_eq!(first.at("result|ttlMs"), "60000", "a policy change must show soon");
    let second = rig.client.ask("tools/list", "", r#""cursor":"two""#).await;
    assert_eq!(
        names(&second.json(), "tools", "name"),
        ["late"],
        "a denied tool is listed: a person wrote it down"
    );
    assert_eq!(second.at("result|tools|0|odd"), r#"{"kept":[1,2.50]}"#);
}

#[tokio::test]
async fn resources_templates_and_prompts_are_filtered() {
    let policy = r#"{"version":"1","default":"deny","resources":{"allow":["doc://open/*"]},"prompts":{"allow":["greet"]}}"#;
    let rig = Rig::modern(policy).await;
    let resources = rig.client.ask("resources/list", "", "").await.json();
    assert_eq!(names(&resources, "resources", "uri"), ["doc://open/a"]);
    assert_eq!(at(&resources, "result|cacheScope"), "private");
    let templates = rig.client.ask("resources/templates/list", "", "").await.json();
    assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["doc://open/{x}"]);
    assert_eq!(at(&templates, "result|cacheScope"), "private");
    let prompts = rig.client.ask("prompts/list", "", "").await.json();
    assert_eq!(names(&prompts, "prompts", "name"), ["greet"]);
    assert_eq!(at(&prompts, "result|cacheScope"), "private");
}

#[tokio::test]
async fn the_gateway_lists_every_page_itself_once() {
    let rig = Rig::modern(OPEN).await;
    assert_eq!(rig.client.call("late", "{}").await.at("result|isError"), "false", "it is on the second page");
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let listed = rig.server.got("tools/list");
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1].at("params|cursor"), "two");
    assert_eq!(rig.server.got("server/discover").len(), 1);
}

#[tokio::test]
async fn discovery_shows_what_is_carried() {
    let rig = Rig::modern(OPEN).await;
    let found = rig.client.ask("server/discover", "", "").await;
    assert_eq!(found.at("result|supportedVersions"), r#"["2026-07-28"]"#);
    assert_eq!(found.at("result|capabilities|tools|listChanged"), "true");
    assert_eq!(found.at("result|cacheScope"), "private");
}

#[tokio::test]
async fn a_server_with_too_many_tools_is_not_served() {
    let many = script(|received| {
        let tools: Vec<String> =
            (0..30).map(|n| format!(r#"{{"name":"t{n}","inputSchema":{{}}}}"#)).collect();
        (received.at("method") == "tools/list")
            .then(|| Play::Result(format!(r#"{{"tools":[{}]}}"#, tools.join(","))))
    });
    let settings = Settings { tools_max: 20, ..Settings::default() };
    let rig = Rig::start(OPEN, true, many, settings).await;
    let answer = rig.client.call("t1", "{}").await;
    assert_eq!(answer.at("error|code"), "41006");
    assert!(answer.at("error|message").contains("more tools than allowed"));
}

#[tokio::test]
async fn what_is_listed_is_what_can_be_called_and_of_two_the_first() {
    let odd = script(|received| {
        let tools = r#"{"resultType":"complete","tools":[
            {"name":"marked","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"no good"}}}},
            {"name":"shapeless"},
            {"name":"titled","title":5,"inputSchema":{"type":"object"}},
            {"name":"echo","description":"first","inputSchema":{"type":"object"}},
            {"name":"echo","description":"second","inputSchema":{"type":"object","required":["never"]}}]}"#;
        (received.at("method") == "tools/list").then(|| Play::Result(tools.to_owned()))
    });
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"validate":"schema"}}}"#;
    let rig = Rig::start(policy, true, odd, Settings::default()).await;
    let list = rig.client.ask("tools/list", "", "").await;
    assert_eq!(names(&list.json(), "tools", "description"), ["first"], "{}", list.text);
    assert_eq!(rig.client.call("echo", "{}").await.at("result|isError"), "false");
    for name in ["marked", "shapeless", "titled"] {
        let answer = rig.client.call(name, "{}").await;
        assert_eq!(answer.at("error|message"), format!("Unknown tool: {name}"), "{}", answer.text);
    }
}
