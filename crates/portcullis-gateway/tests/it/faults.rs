//! What servers do wrong, and what the agent is told: never their words about our credential.

use portcullis_gateway::Settings;

use crate::fake_server::{FakeServer, Play};
use crate::rig::{CREDENTIAL, OPEN, Rig, plain, script, snapshot};

async fn told(play: impl Fn() -> Play + Send + Sync + 'static) -> (Rig, crate::client::Answer) {
    let settings =
        Settings { upstream_answer_timeout_ms: 300, result_bytes_max: 10_000, ..Settings::default() };
    let play = script(move |received| (received.at("method") == "tools/call").then(&play));
    let rig = Rig::start(OPEN, true, play, settings).await;
    let answer = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(answer.at("id"), "7", "{}", answer.text);
    (rig, answer)
}

#[tokio::test]
async fn faults_of_servers_are_told_in_our_words() {
    let raw = |status, media, text: String| move || Play::Raw(status, media, text.clone());
    let json = "application/json";
    let big = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "x".repeat(20_000));
    let (_, answer) = told(raw(200, json, big)).await;
    assert!(answer.at("error|message").contains("larger than allowed"));
    let (_, answer) = told(raw(401, json, CREDENTIAL.into())).await;
    assert!(answer.at("error|message").contains("refused the gateway's credential"));
    let (_, answer) = told(raw(500, "text/html", CREDENTIAL.into())).await;
    assert_eq!(answer.at("error|message"), "the server answered with status 500");
    let (_, answer) = told(raw(200, "text/html", "<html>".into())).await;
    assert!(answer.at("error|message").contains("neither JSON nor events"));
    let (_, answer) = told(raw(200, json, r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#.into())).await;
    assert!(answer.at("error|message").contains("not the answer to this request"));
    let (_, answer) =
        told(raw(200, json, r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#.into())).await;
    assert!(answer.at("error|message").contains("cannot be read"));
    let (_, answer) = told(|| Play::Result(r#"{"resultType":"task"}"#.into())).await;
    assert_eq!(answer.at("error|code"), "41006");
}

#[tokio::test]
async fn a_credential_in_an_error_text_does_not_come_down() {
    let error = format!(
        r#"{{"code":-32603,"message":"bad header {CREDENTIAL}","data":{{"h":"upstream-credential-1"}}}}"#
    );
    let (rig, answer) = told(move || Play::Error(error.clone())).await;
    assert_eq!(answer.at("error|message"), "bad header [REDACTED credential]");
    assert!(!answer.text.contains("upstream-credential"));
    let log: String = rig.records().iter().map(ToString::to_string).collect();
    assert!(!log.contains("upstream-credential") && !log.contains("alice-token"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = FakeServer::start(true, plain()).await;
    let location = format!("http://{}/mcp", elsewhere.address);
    let (_, answer) = told(move || Play::Redirect(location.clone())).await;
    assert!(answer.at("error|message").contains("redirect"), "{}", answer.text);
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn silence_is_answered_in_time() {
    let (rig, answer) = told(|| Play::Silence).await;
    assert_eq!(answer.at("error|message"), "the server did not answer in time");
    let ended = rig.records().iter().any(|record| crate::client::at(record, "outcome") == "timed_out");
    assert!(ended);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_said_to_be_so() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let server = FakeServer::start(true, plain()).await;
    let snapshot = snapshot(&[("fake", format!("http://{closed}/mcp"))], OPEN, 1);
    let rig = Rig::with(server, snapshot, Settings::default()).await;
    let answer = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(
        (answer.at("error|code"), answer.at("error|message")),
        ("41006".into(), "the server cannot be reached".into())
    );
}

#[tokio::test]
async fn more_calls_at_once_than_allowed_are_shed() {
    let settings = Settings { in_flight_max: 1, ..Settings::default() };
    let silent = script(|received| (received.at("params|name") == "echo").then(|| Play::Silence));
    let rig = Rig::start(OPEN, true, silent, settings).await;
    rig.client.call("write", "{}").await;
    let waiting = rig.client.call("echo", r#"{"text":"x"}"#);
    let shed = async {
        while rig.server.got("tools/call").len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        rig.client.call("write", "{}").await
    };
    tokio::select! {
        _ = waiting => panic!("the server never answers"),
        shed = shed => assert_eq!(shed.status, 503),
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_leaves_a_record() {
    let silent = script(|received| (received.at("method") == "tools/call").then(|| Play::Silence));
    let rig = Rig::start(OPEN, true, silent, Settings::default()).await;
    let left = async {
        while rig.server.got("tools/call").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = rig.client.call("echo", r#"{"text":"x"}"#) => panic!("the server never answers"),
        () = left => {}
    }
    while !rig.records().iter().any(|record| crate::client::at(record, "outcome") == "cancelled") {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// What stopped before it was decided is in the log with its grant and tool.
#[tokio::test]
async fn a_call_that_fails_before_it_is_judged_leaves_a_record() {
    let silent = script(|received| (received.at("method") == "tools/list").then(|| Play::Silence));
    let settings = Settings { upstream_answer_timeout_ms: 100, ..Settings::default() };
    let rig = Rig::start(OPEN, true, silent, settings).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let records = rig.decisions("tools/call");
    assert_eq!(records.len(), 1);
    let field = |key: &str| crate::client::at(&records[0], key);
    assert_eq!(
        (field("outcome"), field("grant"), field("tool")),
        ("unavailable".into(), "g_alice".into(), "echo".into())
    );
    assert_eq!(field("message"), "the server did not answer in time");
}

#[tokio::test]
async fn a_call_that_fails_after_it_was_let_through_has_one_decision() {
    let (rig, _) = told(|| Play::Raw(500, "text/plain", String::new())).await;
    assert_eq!(rig.decisions("tools/call").len(), 1);
}

/// Calls and questions fail for a moment; the server is still of the era that it was.
#[tokio::test]
async fn a_bad_moment_does_not_change_a_servers_era() {
    let failing = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let fails = failing.clone();
    let play = script(move |received| {
        let asked = ["tools/call", "server/discover"].contains(&received.at("method").as_str());
        let fails = asked && fails.load(std::sync::atomic::Ordering::SeqCst);
        fails.then(|| Play::Raw(500, "text/plain", String::new()))
    });
    let rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let call = async || rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(call().await.at("result|isError"), "false");
    failing.store(true, std::sync::atomic::Ordering::SeqCst);
    for _ in 0..3 {
        let failed = call().await;
        assert_eq!(failed.at("error|code"), "41006", "{}", failed.text);
    }
    failing.store(false, std::sync::atomic::Ordering::SeqCst);
    let again = call().await;
    assert_eq!(again.at("result|isError"), "false", "{}", again.text);
}
