//! The era without sessions.

use hyper::StatusCode;
use portcullis_json::Value;

use crate::client::Client;

#[tokio::test]
async fn discovery_names_both_eras() {
    let client = Client::start().await;
    let reply = client.modern("server/discover", None, "").await;
    let versions = reply.result().get("supportedVersions").and_then(Value::as_array).expect("versions");
    assert!(versions.contains(&Value::from("2026-07-28")) && versions.contains(&Value::from("2025-11-25")));
    assert_eq!(reply.result().get("resultType"), Some(&Value::from("complete")));
    assert!(reply.session.is_none());
}

#[tokio::test]
async fn lists_and_calls_need_no_session() {
    let client = Client::start().await;
    let reply = client.modern("tools/list", None, "").await;
    assert_eq!(reply.result().get("cacheScope"), Some(&Value::from("public")));
    let reply = client.modern("tools/call", Some("list_notes"), r#""name":"list_notes""#).await;
    assert_eq!(reply.tool_text(), ("ideas\nshopping\nwelcome", false));
    assert_eq!(reply.result().get("resultType"), Some(&Value::from("complete")));
}

#[tokio::test]
async fn a_header_that_differs_from_the_body_is_refused() {
    let client = Client::start().await;
    let reply = client.modern("tools/call", Some("list_notes"), r#""name":"wipe_notes""#).await;
    assert_eq!((reply.status, reply.error_code()), (StatusCode::BAD_REQUEST, -32020));
}

#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    let client = Client::start().await;
    let reply = client.modern("ping", None, "").await;
    assert_eq!((reply.status, reply.error_code()), (StatusCode::NOT_FOUND, -32601));
    let reply = client.modern("resources/list", None, "").await;
    assert_eq!((reply.status, reply.error_code()), (StatusCode::NOT_FOUND, -32601));
}

#[tokio::test]
async fn the_story_comes_sentence_by_sentence() {
    let client = Client::start().await;
    let reply = client.modern("tools/call", Some("stream_story"), r#""name":"stream_story""#).await;
    let of = |method: &str| {
        let is = |message: &&Value| message.get("method") == Some(&Value::from(method));
        reply.messages.iter().filter(is).count()
    };
    assert_eq!((of("notifications/progress"), of("notifications/message")), (5, 5));
    assert!(reply.streamed && reply.tool_text().0.starts_with("A castle"));
}
