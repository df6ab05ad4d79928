//! The era with sessions.

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use portcullis_json::Value;
use portcullis_mcp::tool::ToolDefinition;

use crate::client::Client;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

async fn open_session(client: &Client, revision: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    );
    let reply = client.send("POST", &[], &body).await;
    assert_eq!(reply.result().get("protocolVersion"), Some(&Value::from(revision)));
    reply.session.expect("a session")
}

fn call(name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},"_meta":{{"progressToken":7}}}}}}"#
    )
}

#[tokio::test]
async fn every_revision_opens_a_session_and_lists() {
    let client = Client::start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = open_session(&client, revision).await;
        let reply = client.send("POST", &[("mcp-session-id", &session)], LIST).await;
        let tools = reply.result().get("tools").and_then(Value::as_array).expect("tools");
        assert_eq!(tools.len(), portcullis_playground::classes().count());
        for (tool, (name, _)) in tools.iter().zip(portcullis_playground::classes()) {
            let definition = ToolDefinition::read(tool).expect("a definition");
            assert_eq!(definition.name, name);
            assert!(definition.annotations.read_only.is_some());
        }
    }
}

#[tokio::test]
async fn sessions_are_needed_known_and_ended() {
    let client = Client::start().await;
    let session = open_session(&client, "2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    assert_eq!(client.send("POST", &[], LIST).await.status, StatusCode::BAD_REQUEST);
    let unknown = client.send("POST", &[("mcp-session-id", "nope")], LIST).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let wrong = [named[0], ("mcp-protocol-version", "2025-06-18")];
    assert_eq!(client.send("POST", &wrong, LIST).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(client.send("GET", &named, "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(client.send("DELETE", &named, "").await.status, StatusCode::OK);
    assert_eq!(client.send("POST", &named, LIST).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn tools_work_on_one_world_and_check_their_arguments() {
    let client = Client::start().await;
    let session = open_session(&client, "2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    for (name, arguments, text, is_error) in [
        ("list_notes", "{}", "ideas\nshopping\nwelcome", false),
        ("write_note", r#"{"title":"a","text":"Lemon tea"}"#, "wrote `a`", false),
        ("search_notes", r#"{"text":"LEMON"}"#, "a\nshopping", false),
        ("rename_note", r#"{"from":"a","to":"b"}"#, "`a` is now `b`", false),
        ("rename_note", r#"{"from":"b","to":"ideas"}"#, "there is a note `ideas` already", true),
        ("read_note", r#"{"title":"b"}"#, "Lemon tea", false),
        ("read_note", r#"{"title":"a"}"#, "there is no note `a`", true),
        ("read_note", "{}", "`title` is missing", true),
        ("read_note", r#"{"title":"b","x":1}"#, "`read_note` has no argument `x`", true),
        ("run_sum", r#"{"numbers":[1,2.5]}"#, "3.5", false),
        ("run_sum", r#"{"numbers":["1"]}"#, "`numbers` must be a list of at most 100 numbers", true),
        (
            "pay_invoice",
            r#"{"invoice":"7","amount":400}"#,
            "paid 400 credits for invoice `7`; 600 are left",
            false,
        ),
        ("pay_invoice", r#"{"invoice":"8","amount":700}"#, "only 600 credits of play money are left", true),
        (
            "pay_invoice",
            r#"{"invoice":"8","amount":-1}"#,
            "`amount` must be a whole number from 1 to 1000000",
            true,
        ),
        ("delete_note", r#"{"title":"b"}"#, "deleted `b`", false),
        ("wipe_notes", "{}", "deleted 3 notes", false),
        ("list_notes", "{}", "no notes", false),
    ] {
        let reply = client.send("POST", &named, &call(name, arguments)).await;
        assert_eq!(reply.tool_text(), (text, is_error), "{name} {arguments}");
    }
    let reply = client.send("POST", &named, &call("nope", "{}")).await;
    assert_eq!(reply.error_code(), -32602);
}

#[tokio::test]
async fn counting_streams_progress_and_then_the_result() {
    let client = Client::start().await;
    let session = open_session(&client, "2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let reply = client.send("POST", &named, &call("slow_count", r#"{"to":3}"#)).await;
    assert!(reply.streamed);
    let (result, progress) = reply.messages.split_last().expect("messages");
    assert_eq!(progress.len(), 3);
    assert!(progress.iter().all(|message| message.get("method") == Some(&"notifications/progress".into())));
    assert!(result.get("result").is_some());
    assert_eq!(reply.tool_text(), ("counted to 3", false));
}

#[tokio::test]
async fn a_cancelled_count_ends_without_an_answer() {
    let client = Client::start().await;
    let session = open_session(&client, "2025-11-25").await;
    let named = [("mcp-session-id", session.as_str())];
    let response = client.open("POST", &named, &call("slow_count", r#"{"to":300}"#)).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(client.send("POST", &named, cancel).await.status, StatusCode::ACCEPTED);
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    assert!(!String::from_utf8_lossy(&bytes).contains("counted to"), "the count went on");
}

#[tokio::test]
async fn who_has_no_key_or_comes_from_elsewhere_is_refused() {
    let client = Client::start().await;
    for headers in
        [[("x-playground-key", "wrong")], [("host", "evil.example")], [("origin", "http://127.0.0.1")]]
    {
        assert_eq!(client.send("POST", &headers, LIST).await.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
}
