//! Modern streams: progress, redaction, subscriptions, broken streams, cancelling by leaving.

use std::sync::{Arc, Mutex};

use http::Method;
use portcullis_gateway::Settings;
use tokio::sync::mpsc;

use crate::client::{at, body, call_body};
use crate::fake_server::{Play, Script, event};
use crate::rig::{CREDENTIAL, OPEN, Rig, script};

pub(crate) type Senders = Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>;

pub(crate) fn streaming(method: &'static str) -> (Script, Senders) {
    let senders: Senders = Arc::default();
    let kept = senders.clone();
    let play = script(move |received| {
        (received.at("method") == method).then(|| {
            let (send, read) = mpsc::unbounded_channel();
            kept.lock().unwrap().push(send);
            Play::Stream(read)
        })
    });
    (play, senders)
}

async fn open_call(
    rig: &Rig,
    senders: &Senders,
) -> (crate::client::Stream, mpsc::UnboundedSender<String>, String) {
    let client = rig.client.modern("tools/call", "echo");
    let stream = client.stream(Method::POST, &call_body("echo", r#"{"text":"x"}"#)).await;
    let server = senders.lock().unwrap().remove(0);
    let id = rig.server.got("tools/call").last().unwrap().at("id");
    (stream, server, id)
}

#[tokio::test]
async fn progress_and_the_answer_pass_redacted_and_without_the_credential() {
    let (play, senders) = streaming("tools/call");
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"redact":["emails"]}}}"#;
    let rig = Rig::start(policy, true, play, Settings::default()).await;
    let (mut stream, server, id) = open_call(&rig, &senders).await;
    // Split in the middle of an event and of a character.
    let progress = event(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"message":"é for bob@example.com"}}"#,
    );
    let (head, tail) = progress.split_at(40);
    server.send(head.to_owned()).unwrap();
    server.send(tail.to_owned()).unwrap();
    let seen = stream.next().await.unwrap();
    assert_eq!(at(&seen, "params|message"), "é for [REDACTED emails]");
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","text":"bob@example.com {CREDENTIAL}"}}}}"#
    );
    server.send(event(&text)).unwrap();
    let answer = stream.next().await.unwrap();
    assert_eq!(at(&answer, "id"), "7");
    assert_eq!(at(&answer, "result|text"), "[REDACTED emails] [REDACTED credential]");
    assert!(stream.next().await.is_none(), "the stream ends with the answer");
}

#[tokio::test]
async fn what_is_not_a_message_ends_the_stream_with_an_error() {
    let foreign = event(r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#);
    for broken in ["data: {not json\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n"] {
        let (play, senders) = streaming("tools/call");
        let rig = Rig::start(OPEN, true, play, Settings::default()).await;
        let (mut stream, server, _) = open_call(&rig, &senders).await;
        server.send(foreign.clone()).unwrap();
        server.send(broken.to_owned()).unwrap();
        let error = stream.next().await.unwrap();
        assert_eq!((at(&error, "id"), at(&error, "error|code")), ("7".into(), "41006".into()));
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test]
async fn an_endless_event_is_cut() {
    let (play, senders) = streaming("tools/call");
    let settings = Settings { event_bytes_max: 1_000, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let (mut stream, server, _) = open_call(&rig, &senders).await;
    server.send(format!("data: {}", "x".repeat(2_000))).unwrap();
    assert!(at(&stream.next().await.unwrap(), "error|message").contains("larger than allowed"));
}

#[tokio::test]
async fn a_client_that_leaves_cancels_at_the_server() {
    let (play, senders) = streaming("tools/call");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let (stream, server, _) = open_call(&rig, &senders).await;
    drop(stream);
    server.closed().await;
    let cancelled = || {
        rig.records()
            .iter()
            .any(|record| at(record, "kind") == "outcome" && at(record, "outcome") == "cancelled")
    };
    while !cancelled() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_subscription_is_cut_to_the_policy_and_its_id_is_the_clients() {
    let (play, senders) = streaming("subscriptions/listen");
    let policy =
        r#"{"version":"1","default":"allow","resources":{"default":"deny","allow":["doc://open/*"]}}"#;
    let rig = Rig::start(policy, true, play, Settings::default()).await;
    let filter = r#""notifications":{"toolsListChanged":true,"taskIds":["t"],"resourceSubscriptions":["doc://open/a","doc://shut/b"]}"#;
    let client = rig.client.modern("subscriptions/listen", "");
    let mut stream = client.stream(Method::POST, &body("subscriptions/listen", filter)).await;
    let got = rig.server.got("subscriptions/listen")[0].clone();
    assert_eq!(got.at("params|notifications|resourceSubscriptions"), r#"["doc://open/a"]"#);
    assert_eq!(got.at("params|notifications|taskIds"), "[]");
    let id = got.at("id");
    let server = senders.lock().unwrap()[0].clone();
    let notice = |method: &str, more: &str| {
        event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        ))
    };
    server.send(notice("subscriptions/acknowledged", r#""notifications":{},"#)).unwrap();
    server.send(notice("resources/updated", r#""uri":"doc://shut/b","#)).unwrap();
    server.send(notice("progress", r#""progressToken":1,"progress":1,"#)).unwrap();
    server.send(notice("resources/updated", r#""uri":"doc://open/a","#)).unwrap();
    let key = "params|_meta|io.modelcontextprotocol/subscriptionId";
    let acknowledged = stream.next().await.unwrap();
    assert_eq!(
        (at(&acknowledged, "method"), at(&acknowledged, key)),
        ("notifications/subscriptions/acknowledged".into(), "7".into())
    );
    let updated = stream.next().await.unwrap();
    assert_eq!((at(&updated, "params|uri"), at(&updated, key)), ("doc://open/a".into(), "7".into()));
    server
        .send(event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"}}}}"#)))
        .unwrap();
    let end = stream.next().await.unwrap();
    assert_eq!(at(&end, "result|_meta|io.modelcontextprotocol/subscriptionId"), "7");
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn list_changed_makes_the_gateway_list_again() {
    let (play, senders) = streaming("subscriptions/listen");
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(rig.server.got("tools/list").len(), 2);
    let client = rig.client.modern("subscriptions/listen", "");
    let listen = body("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let mut stream = client.stream(Method::POST, &listen).await;
    let server = senders.lock().unwrap()[0].clone();
    server.send(event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "method"), "notifications/tools/list_changed");
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(rig.server.got("tools/list").len(), 4);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let (play, senders) = streaming("tools/call");
    let settings = Settings { upstream_answer_timeout_ms: 50, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let (mut stream, _server, _) = open_call(&rig, &senders).await;
    let error = stream.next().await.unwrap();
    assert_eq!(at(&error, "error|message"), "the server did not answer in time");
}

/// How the only tool call ended, once that is in the log.
async fn ending(rig: &Rig) -> (String, String) {
    loop {
        let decision = rig.decisions("tools/call").first().map(|decision| at(decision, "seq"));
        let records = rig.records();
        let outcome = records.iter().find(|record| Some(at(record, "decision")) == decision);
        if let Some(outcome) = outcome {
            return (at(outcome, "outcome"), at(outcome, "status"));
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_no_success_and_both_have_a_status() {
    let error = r#""error":{"code":-32000,"message":"no"}"#;
    for (answer, ended) in [(r#""result":{"resultType":"complete"}"#, "answered"), (error, "failed")] {
        let (play, senders) = streaming("tools/call");
        let rig = Rig::start(OPEN, true, play, Settings::default()).await;
        let (mut stream, server, id) = open_call(&rig, &senders).await;
        server.send(event(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#))).unwrap();
        assert_eq!(at(&stream.next().await.unwrap(), "id"), "7");
        assert_eq!(ending(&rig).await, (ended.to_owned(), "200".to_owned()));
    }
}

#[tokio::test]
async fn a_server_that_sends_comments_is_alive() {
    let (play, senders) = streaming("tools/call");
    let settings = Settings { upstream_answer_timeout_ms: 1_500, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let (mut stream, server, id) = open_call(&rig, &senders).await;
    for _ in 0..15 {
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        server.send(": still here\n\n".to_owned()).unwrap();
    }
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","n":1}}}}"#);
    server.send(event(&answer)).unwrap();
    let seen = stream.next().await.unwrap();
    assert_eq!(at(&seen, "result|n"), "1", "{seen}");
}

#[tokio::test]
async fn streams_are_bounded_before_anything_leaves_and_leave_calls_their_room() {
    let senders: Senders = Arc::default();
    let kept = senders.clone();
    let play = script(move |received| {
        let streams = ["tools/call", "subscriptions/listen"].contains(&received.at("method").as_str());
        streams.then(|| {
            let (send, read) = mpsc::unbounded_channel();
            kept.lock().unwrap().push(send);
            Play::Stream(read)
        })
    });
    let settings = Settings { streams_max: 2, streams_per_grant_max: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let listen = body("subscriptions/listen", r#""notifications":{}"#);
    let client = rig.client.modern("subscriptions/listen", "");
    let _first = client.stream(Method::POST, &listen).await;
    let second = client.post(&listen).await;
    assert_eq!(second.status, 503);
    assert!(second.at("error|message").contains("streams of this grant"), "{}", second.text);
    assert_eq!(rig.server.got("subscriptions/listen").len(), 1, "nothing left for the server");
    let _listening = senders.lock().unwrap().remove(0);
    let (mut stream, server, id) = open_call(&rig, &senders).await;
    server
        .send(event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete"}}}}"#)))
        .unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "id"), "7");
}

#[tokio::test]
async fn a_call_that_streams_is_a_call_being_worked_on() {
    let (play, senders) = streaming("tools/call");
    let settings = Settings { in_flight_max: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    let (stream, server, _) = open_call(&rig, &senders).await;
    assert_eq!(rig.client.call("echo", r#"{"text":"x"}"#).await.status, 503);
    assert_eq!(rig.server.got("tools/call").len(), 1, "what cannot be answered is not sent");
    drop(stream);
    server.closed().await;
}
