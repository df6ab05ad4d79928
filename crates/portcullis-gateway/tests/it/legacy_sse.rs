//! Servers that speak only HTTP with SSE, as in revision 2024-11-05.

use std::sync::{Arc, Mutex};

use http::Method;
use portcullis_gateway::{ServerSpec, Settings, TransportSpec};
use portcullis_state::Secret;
use tokio::sync::mpsc;

use crate::client::at;
use crate::fake_server::{FakeServer, Play, Received, Script, event};
use crate::local::{Pipe, snapshot, spec, text_of, until};
use crate::rig::{CREDENTIAL, OPEN, Rig, script, url_of};

/// Answers on its newest stream what is posted; `endpoint`: where it says that it listens.
fn play(endpoint: &'static str) -> Script {
    let streams: Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>> = Arc::default();
    script(move |received: &Received| {
        if received.verb == Method::GET {
            let (send, read) = mpsc::unbounded_channel();
            send.send(format!("event: endpoint\ndata: {endpoint}\n\n")).unwrap();
            streams.lock().unwrap().push(send);
            return Some(Play::Stream(read));
        }
        let result = match received.at("method").as_str() {
            "initialize" => {
                r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}"#
            }
            "tools/list" => r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#,
            "tools/call" => r#"{"content":[{"type":"text","text":"from afar"}]}"#,
            _ => "",
        };
        if !result.is_empty() {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, received.at("id"));
            // A client that has gone does not hear it.
            let _ = streams.lock().unwrap().last().unwrap().send(event(&answer));
        }
        Some(Play::Raw(202, "text/plain", String::new()))
    })
}

async fn rig(endpoint: &'static str) -> Rig {
    let server = FakeServer::start(false, play(endpoint)).await;
    let headers = vec![("Authorization".to_owned(), Secret::from(CREDENTIAL))];
    let spec = ServerSpec { headers, ..spec(TransportSpec::Sse { url: url_of(&server) }) };
    Rig::with(server, snapshot(vec![spec], OPEN), Settings::default()).await
}

#[tokio::test]
async fn calls_are_posted_and_answered_on_the_stream() {
    let rig = rig("/messages?session=1").await;
    let mut pipe = Pipe::legacy_in(&rig, "2025-03-26").await;
    assert_eq!(pipe.text("echo", "{}").await, "from afar");
    let received = rig.server.received.lock().unwrap().clone();
    assert!(received.iter().all(|one| one.header("authorization") == CREDENTIAL));
    // Listing the tools went over the session that is open.
    assert_eq!(received.iter().filter(|one| one.verb == Method::GET).count(), 1);
    pipe.close().await;
    pipe.served.await.unwrap();
}

#[tokio::test]
async fn clients_over_http_have_a_stream_each() {
    let rig = rig("/messages").await;
    let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
    let client = rig.client.initialize().await;
    assert_eq!(text_of(&client.post(call).await.json()), "from afar");
    assert_eq!(client.request(Method::DELETE, "").await.status, 204);
    assert_eq!(client.post(call).await.status, 404);
    let modern = rig.client.call("echo", "{}").await;
    assert_eq!(modern.at("error|code"), "41004");
}

#[tokio::test]
async fn an_endpoint_of_another_origin_gets_nothing() {
    let rig = rig("http://127.0.0.1:1/messages").await;
    let answer = rig.client.post(crate::client::INITIALIZE).await;
    let message = "the server's answer is not valid MCP: an endpoint that is not at the same origin";
    assert_eq!(answer.at("error|message"), message);
    until(|| rig.records().iter().any(|record| at(record, "kind") == "outcome")).await;
    assert_eq!(rig.server.received.lock().unwrap().len(), 1, "only the stream was asked for");
}
