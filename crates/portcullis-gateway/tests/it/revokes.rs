//! Changes while a stream is open: revoked grants, changed policies.

use std::sync::{Arc, Mutex};

use http::Method;
use jiff::Timestamp;
use portcullis_gateway::{Gateway, ServerSpec, Settings, Snapshot};
use portcullis_policy::Class;
use portcullis_state::grants::GrantTable;

use crate::client::{at, body, call_body};
use crate::fake_server::{Play, event};
use crate::rig::{OPEN, Rig, TOKEN, active, entry, grant, script, spec, url_of};
use crate::streams::{Senders, streaming};

fn revoke(rig: &Rig) {
    let mut alice = grant("alice", &[("fake", "p")]);
    alice.revoked = Some(Timestamp::UNIX_EPOCH);
    let grants = GrantTable::build([entry(TOKEN, alice)], None).unwrap();
    let servers = vec![spec("fake", url_of(&rig.server))];
    rig.gateway.replace(Snapshot::compile(servers, vec![active(OPEN, 1)], grants).unwrap());
}

#[tokio::test]
async fn a_revoked_grant_loses_its_open_streams_and_sessions_at_once() {
    let (play, senders) = streaming("tools/call");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let client = rig.client.modern("tools/call", "echo");
    let mut stream = client.stream(Method::POST, &call_body("echo", r#"{"text":"x"}"#)).await;
    let server = senders.lock().unwrap()[0].clone();
    revoke(&rig);
    let last = stream.next().await.unwrap();
    assert_eq!(at(&last, "id"), "7");
    assert!(at(&last, "error|message").contains("valid token"));
    assert!(stream.next().await.is_none());
    server.closed().await;
    assert_eq!(rig.client.call("echo", r#"{"text":"x"}"#).await.status, 401);

    let legacy = Rig::legacy(OPEN).await;
    let client = legacy.client.initialize().await;
    let mut stream = client.stream(Method::GET, "").await;
    revoke(&legacy);
    assert!(stream.next().await.is_none());
    legacy.replace_policy(OPEN, 1);
    assert_eq!(
        client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.status,
        404,
        "its session is gone"
    );
}

/// The same server with other words about it, or at another address.
fn reconfigure(rig: &Rig, change: impl Fn(&mut ServerSpec)) {
    let grants = GrantTable::build([entry(TOKEN, grant("alice", &[("fake", "p")]))], None).unwrap();
    let mut server = spec("fake", url_of(&rig.server));
    change(&mut server);
    rig.gateway.replace(Snapshot::compile(vec![server], vec![active(OPEN, 1)], grants).unwrap());
}

#[tokio::test]
async fn another_class_or_patience_keeps_sessions_and_counts_at_once() {
    let silent = script(|received| {
        let slow = received.at("params|name") == "late" && received.at("method") == "tools/call";
        slow.then(|| Play::Silence)
    });
    let rig = Rig::start(OPEN, false, silent, Settings::default()).await;
    let client = rig.client.initialize().await;
    let call = |tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"x"}}}}}}"#
        )
    };
    assert_eq!(client.post(&call("echo")).await.at("result|isError"), "false");
    let mut stream = client.stream(Method::GET, "").await;
    reconfigure(&rig, |server| {
        server.classes.insert("echo".into(), Class::Financial);
        server.answer_timeout_ms = Some(1_000);
    });
    let answer = client.post(&call("echo")).await;
    assert_eq!(answer.at("result|isError"), "false", "{}", answer.text);
    let classes: Vec<String> =
        rig.decisions("tools/call").iter().map(|decision| at(decision, "class")).collect();
    assert_eq!(classes, ["Read", "Financial"]);
    let answer = client.post(&call("late")).await;
    assert_eq!(answer.at("error|message"), "the server did not answer in time", "{}", answer.text);
    rig.replace_policy(r#"{"version":"1","default":"allow","hide":["secret"]}"#, 2);
    assert_eq!(at(&stream.next().await.unwrap(), "method"), "notifications/tools/list_changed");
}

#[tokio::test]
async fn who_is_cut_off_by_a_change_of_the_server_is_told_so() {
    let (play, senders) = streaming("tools/call");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let client = rig.client.modern("tools/call", "echo");
    let mut stream = client.stream(Method::POST, &call_body("echo", r#"{"text":"x"}"#)).await;
    let server = senders.lock().unwrap()[0].clone();
    reconfigure(&rig, |server| server.headers.clear());
    let last = stream.next().await.unwrap();
    let message = at(&last, "error|message");
    assert!(message.contains("configuration of the server has changed"), "{last}");
    assert!(!message.contains("token"), "{last}");
    server.closed().await;
}

#[tokio::test]
async fn an_expired_grant_loses_its_stream() {
    let rig = Rig::legacy(OPEN).await;
    let mut alice = grant("alice", &[("fake", "p")]);
    alice.expires = Some(Timestamp::now() + std::time::Duration::from_millis(400));
    let grants = GrantTable::build([entry(TOKEN, alice)], None).unwrap();
    let servers = vec![spec("fake", url_of(&rig.server))];
    rig.gateway.replace(Snapshot::compile(servers, vec![active(OPEN, 1)], grants).unwrap());
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::GET, "").await;
    assert!(stream.next().await.is_none());
    assert_eq!(client.post("{}").await.status, 401);
}

#[tokio::test]
async fn a_policy_change_that_alters_the_list_is_told_and_judged_at_once() {
    let rig = Rig::legacy(OPEN).await;
    let client = rig.client.initialize().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}}"#;
    assert_eq!(client.post(call).await.at("result|isError"), "false");
    let mut stream = client.stream(Method::GET, "").await;
    // The same list under another version: nothing to tell.
    rig.replace_policy(r#"{"version":"1","default":"allow","description":"same"}"#, 2);
    rig.replace_policy(r#"{"version":"1","default":"allow","hide":["secret"]}"#, 3);
    assert_eq!(at(&stream.next().await.unwrap(), "method"), "notifications/tools/list_changed");
    assert_eq!(client.post(call).await.at("error|message"), "Unknown tool: secret");
}

#[tokio::test]
async fn a_subscription_is_told_of_a_policy_change_and_judged_by_the_new_policy() {
    let (play, senders) = streaming("subscriptions/listen");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let listen = body(
        "subscriptions/listen",
        r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["doc://a/b"]}"#,
    );
    let client = rig.client.modern("subscriptions/listen", "");
    let mut stream = client.stream(Method::POST, &listen).await;
    rig.replace_policy(
        r#"{"version":"1","default":"allow","hide":["secret"],"resources":{"deny":["doc://a/*"]}}"#,
        2,
    );
    let told = stream.next().await.unwrap();
    assert_eq!(at(&told, "method"), "notifications/tools/list_changed");
    assert_eq!(at(&told, "params|_meta|io.modelcontextprotocol/subscriptionId"), "7");
    let server = senders.lock().unwrap()[0].clone();
    let updated = |uri: &str| {
        event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#
        ))
    };
    server.send(updated("doc://a/b")).unwrap();
    server.send(updated("doc://c/d")).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "params|uri"), "doc://c/d");
}

/// The server sees the call, the grant is revoked, then the stream is opened: nobody would tell it later.
#[tokio::test]
async fn a_grant_that_is_revoked_while_its_stream_is_being_opened_gets_none() {
    let gateway: Arc<Mutex<Option<Arc<Gateway>>>> = Arc::default();
    let (known, senders) = (gateway.clone(), Senders::default());
    let play = script(move |received| {
        (received.at("method") == "tools/call").then(|| {
            let gateway = known.lock().unwrap().clone().unwrap();
            gateway.replace(Snapshot::compile(Vec::new(), Vec::new(), GrantTable::default()).unwrap());
            let (send, read) = tokio::sync::mpsc::unbounded_channel();
            senders.lock().unwrap().push(send);
            Play::Stream(read)
        })
    });
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    *gateway.lock().unwrap() = Some(rig.gateway.clone());
    let client = rig.client.modern("tools/call", "echo");
    let answer = client.send(Method::POST, &call_body("echo", r#"{"text":"x"}"#)).await;
    assert_eq!(answer.status(), 401);
}

/// Waits until the server was told that a session has ended.
async fn told_the_server(rig: &Rig) -> crate::fake_server::Received {
    let ended = || {
        let received = rig.server.received.lock().unwrap();
        received.iter().find(|received| received.verb == Method::DELETE).cloned()
    };
    let wait = async {
        loop {
            if let Some(received) = ended() {
                return received;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), wait).await.unwrap()
}

#[tokio::test]
async fn a_server_is_told_that_a_session_of_a_revoked_grant_has_ended() {
    let rig = Rig::legacy(OPEN).await;
    rig.client.initialize().await;
    rig.gateway.replace(Snapshot::compile(Vec::new(), Vec::new(), GrantTable::default()).unwrap());
    assert_eq!(told_the_server(&rig).await.header("mcp-session-id"), "the-one-session");
}

#[tokio::test]
async fn a_server_is_told_that_a_session_idled_out() {
    let settings = Settings { session_idle_timeout_ms: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, false, script(|_| None), settings).await;
    assert_eq!(rig.client.post(crate::client::INITIALIZE).await.status, 200);
    assert_eq!(told_the_server(&rig).await.header("mcp-session-id"), "the-one-session");
}

#[tokio::test]
async fn servers_are_told_when_the_gateway_stops() {
    let mut rig = Rig::legacy(OPEN).await;
    rig.client.initialize().await;
    rig.stop.take().unwrap().send(()).unwrap();
    (&mut rig.served).await.unwrap().unwrap();
    assert_eq!(told_the_server(&rig).await.header("mcp-session-id"), "the-one-session");
}

#[tokio::test]
async fn a_server_without_subscriptions_leaves_them_to_the_gateway() {
    let play = script(|received| {
        let error = r#"{"code":-32601,"message":"method not found"}"#;
        (received.at("method") == "subscriptions/listen").then(|| Play::Error(error.to_owned()))
    });
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let client = rig.client.modern("subscriptions/listen", "");
    let wish = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["doc://a/b"]}"#;
    let mut stream = client.stream(Method::POST, &body("subscriptions/listen", wish)).await;
    let first = stream.next().await.unwrap();
    assert_eq!(at(&first, "method"), "notifications/subscriptions/acknowledged");
    assert_eq!(at(&first, "params|notifications"), r#"{"toolsListChanged":true}"#);
    assert_eq!(at(&first, "params|_meta|io.modelcontextprotocol/subscriptionId"), "7");
    rig.replace_policy(r#"{"version":"1","default":"allow","hide":["secret"]}"#, 2);
    assert_eq!(at(&stream.next().await.unwrap(), "method"), "notifications/tools/list_changed");
    let other = r#""notifications":{"resourceSubscriptions":["doc://a/b"]}"#;
    let refused = client.post(&body("subscriptions/listen", other)).await;
    assert_eq!(refused.at("error|code"), "-32601", "{}", refused.text);
}

#[tokio::test]
async fn a_policy_change_about_resources_and_prompts_is_told_to_those_who_asked() {
    let (play, _senders) = streaming("subscriptions/listen");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let listen = |filter: &str| body("subscriptions/listen", &format!(r#""notifications":{{{filter}}}"#));
    let client = rig.client.modern("subscriptions/listen", "");
    let both = listen(r#""resourcesListChanged":true,"promptsListChanged":true"#);
    let mut both = client.stream(Method::POST, &both).await;
    let mut prompts = client.stream(Method::POST, &listen(r#""promptsListChanged":true"#)).await;
    rig.replace_policy(r#"{"version":"1","default":"allow","resources":{"deny":["doc://a/*"]}}"#, 2);
    assert_eq!(at(&both.next().await.unwrap(), "method"), "notifications/resources/list_changed");
    rig.replace_policy(
        r#"{"version":"1","default":"allow","resources":{"deny":["doc://a/*"]},"prompts":{"deny":["x"]}}"#,
        3,
    );
    for stream in [&mut both, &mut prompts] {
        let told = stream.next().await.unwrap();
        assert_eq!(at(&told, "method"), "notifications/prompts/list_changed");
        assert_eq!(at(&told, "params|_meta|io.modelcontextprotocol/subscriptionId"), "7");
    }
}
