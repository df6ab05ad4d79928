//! Tasks belong to the grant whose call became one.

use http::Method;
use portcullis_gateway::Settings;

use crate::client::{Client, at, body};
use crate::fake_server::{Play, Received, Script, event};
use crate::rig::{OPEN, OTHER_TOKEN, Rig, script};
use crate::streams::streaming;

const POLICY: &str = r#"{"version":"1","default":"allow","tools":{"write":{"redact":["emails"]}}}"#;

fn working(modern: bool) -> Script {
    script(move |received: &Received| {
        let task = r#""taskId":"t1","status":"working""#;
        Some(Play::Result(match received.at("method").as_str() {
            "tools/call" if modern => format!(r#"{{"resultType":"task",{task}}}"#),
            "tools/call" => format!(r#"{{"task":{{{task}}}}}"#),
            "tasks/list" => r#"{"tasks":[{"taskId":"t0"},{"taskId":"t1"}]}"#.to_owned(),
            "tasks/get" | "tasks/result" => {
                r#"{"taskId":"t1","result":{"text":"from bob@example.com"}}"#.to_owned()
            }
            _ => return None,
        }))
    })
}

#[tokio::test]
async fn a_modern_task_is_its_grants_alone_and_its_result_is_redacted() {
    let rig = Rig::start(POLICY, true, working(true), Settings::default()).await;
    let get = |client: Client| async move { client.ask("tasks/get", "t1", r#""taskId":"t1""#).await };
    let alice = || rig.client_at("/mcp/fake", "alice-token");
    assert_eq!(get(alice()).await.at("error|code"), "-32602", "there is no task yet");
    assert_eq!(rig.client.call("write", "{}").await.at("result|taskId"), "t1");
    let answer = get(alice()).await;
    assert_eq!(answer.at("result|result|text"), "from [REDACTED emails]", "{}", answer.text);
    let other = get(rig.client_at("/mcp/fake", OTHER_TOKEN)).await;
    assert_eq!((other.at("error|code"), other.at("error|message")), ("-32602".into(), "unknown task".into()));
    assert_eq!(rig.server.got("tasks/get").len(), 1);
}

/// As a server would answer, and the same for a task that is another grant's.
#[tokio::test]
async fn a_client_that_does_not_know_tasks_is_told_what_it_lacks() {
    let rig = Rig::start(POLICY, true, working(true), Settings::default()).await;
    rig.client.call("write", "{}").await;
    let other = rig.client_at("/mcp/fake", OTHER_TOKEN).modern("tasks/get", "t1");
    let plain = body("tasks/get", r#""taskId":"t1""#).replace("io.modelcontextprotocol/tasks", "other");
    let answer = other.post(&plain).await;
    assert_eq!((answer.status.as_u16(), answer.at("error|code").as_str()), (400, "-32021"));
    let lacks = r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    assert_eq!(answer.at("error|data"), lacks);
    assert!(rig.server.got("tasks/get").is_empty());
}

#[tokio::test]
async fn legacy_tasks_are_listed_and_read_by_their_owner_only() {
    let rig = Rig::start(POLICY, false, working(false), Settings::default()).await;
    let alice = rig.client.initialize().await;
    let bob = rig.client_at("/mcp/fake", OTHER_TOKEN).initialize().await;
    let send = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
    };
    let call = send("tools/call", r#"{"name":"write","task":{"ttl":1000}}"#);
    assert_eq!(alice.post(&call).await.at("result|task|taskId"), "t1");
    assert_eq!(rig.server.got("tools/call")[0].at("params|task|ttl"), "1000");
    let list = |answer: crate::client::Answer| at(&answer.json(), "result|tasks");
    assert_eq!(list(alice.post(&send("tasks/list", "{}")).await), r#"[{"taskId":"t1"}]"#);
    assert_eq!(list(bob.post(&send("tasks/list", "{}")).await), "[]");
    let result = send("tasks/result", r#"{"taskId":"t1"}"#);
    assert_eq!(alice.post(&result).await.at("result|result|text"), "from [REDACTED emails]");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let stolen = bob.post(&send(method, r#"{"taskId":"t1"}"#)).await;
        assert_eq!(stolen.at("error|message"), "unknown task", "{method}");
    }
    // The same id for another grant's call: the server cannot hand one task to two.
    assert_eq!(bob.post(&call).await.at("error|code"), "41006");
}

const ASKS: &str = r#""inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}}"#;

#[tokio::test]
async fn what_a_task_asks_of_the_client_is_judged_in_its_result_and_in_notices() {
    let (listens, senders) = streaming("subscriptions/listen");
    let play = script(move |received: &Received| {
        if received.at("method") != "tools/call" {
            return listens(received);
        }
        let asks = if received.at("params|name") == "echo" { format!(",{ASKS}") } else { String::new() };
        Some(Play::Result(format!(r#"{{"resultType":"task","taskId":"t1","status":"working"{asks}}}"#)))
    });
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let asking = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(asking.at("result|_meta|portcullis/decision|rule"), "(default deny)", "{}", asking.text);
    assert_eq!(rig.client.call("write", "{}").await.at("result|taskId"), "t1");
    let listen = body("subscriptions/listen", r#""notifications":{"taskIds":["t1"]}"#);
    let mut stream = rig.client.modern("subscriptions/listen", "").stream(Method::POST, &listen).await;
    let server = senders.lock().unwrap()[0].clone();
    let notice = |more: &str| {
        event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"taskId":"t1",{more}}}}}"#
        ))
    };
    server.send(notice(&format!(r#""status":"input_required",{ASKS}"#))).unwrap();
    server.send(notice(r#""status":"completed""#)).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "params|status"), "completed");
    let denied = rig.decisions("notifications/tasks");
    assert_eq!((denied.len(), at(&denied[0], "outcome")), (1, "denied".into()));
}
