//! Servers that stall, grow without end, change under us or change their minds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::Method;
use portcullis_gateway::Settings;
use tokio::sync::mpsc;

use crate::client::{at, body};
use crate::fake_server::{FakeServer, MORE_TOOLS, Play, Received, event};
use crate::rig::{OPEN, Rig, plain, script, snapshot, url_of};

const TEXT: &str = r#"{"text":"x"}"#;

fn is_ours(received: &Received) -> bool {
    received.at("params|_meta|io.modelcontextprotocol/clientInfo|name") == "portcullis"
}

fn tools(names: impl Iterator<Item = String>) -> Play {
    let tools: Vec<String> = names.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#)).collect();
    Play::Result(format!(r#"{{"resultType":"complete","tools":[{}]}}"#, tools.join(",")))
}

#[tokio::test]
async fn a_listing_that_fails_fails_once_for_all_who_wait() {
    let silent = script(|received| (received.at("method") == "tools/list").then(|| Play::Silence));
    let settings = Settings { upstream_answer_timeout_ms: 100, ..Settings::default() };
    let rig = Rig::start(OPEN, true, silent, settings).await;
    let calls = (0..5).map(|_| rig.client.call("echo", TEXT));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.at("error|message"), "the server did not answer in time", "{}", answer.text);
    }
    assert_eq!(rig.server.got("tools/list").len(), 1);
}

#[tokio::test]
async fn one_deadline_is_over_the_whole_listing() {
    let silent = script(|received| (received.at("method") == "tools/list").then(|| Play::Silence));
    let settings =
        Settings { upstream_answer_timeout_ms: 200_000, listing_timeout_ms: 200, ..Settings::default() };
    let rig = Rig::start(OPEN, true, silent, settings).await;
    let answer = rig.client.call("echo", TEXT).await;
    assert_eq!(answer.at("error|message"), "the server did not answer in time", "{}", answer.text);
}

#[tokio::test]
async fn a_server_that_hangs_leaves_room_for_the_others() {
    let silent = script(|received| (received.at("method") == "tools/call").then(|| Play::Silence));
    let (hangs, works) = (FakeServer::start(true, silent).await, FakeServer::start(true, plain()).await);
    let urls = [("fake", url_of(&hangs)), ("twin", url_of(&works))];
    let settings = Settings { in_flight_max: 2, in_flight_per_server_max: 1, ..Settings::default() };
    let rig = Rig::with(hangs, snapshot(&urls, OPEN, 1), settings).await;
    let others = async {
        while rig.server.got("tools/call").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let shed = rig.client.call("echo", TEXT).await;
        (shed, rig.client_at("/mcp/twin", "alice-token").call("echo", TEXT).await)
    };
    tokio::select! {
        _ = rig.client.call("echo", TEXT) => panic!("the server never answers"),
        (shed, other) = others => {
            assert_eq!(shed.status, 503);
            assert!(shed.at("error|message").contains("to this server"), "{}", shed.text);
            assert_eq!(other.at("result|isError"), "false", "{}", other.text);
        }
    }
}

#[tokio::test]
async fn what_clients_are_shown_is_learned_within_bounds() {
    let grows = script(|received| {
        let theirs = received.at("method") == "tools/list" && !is_ours(received);
        theirs.then(|| tools((0..30).map(|n| format!("x{n}"))))
    });
    let settings = Settings { tools_max: 6, ..Settings::default() };
    let rig = Rig::start(OPEN, true, grows, settings).await;
    rig.client.call("echo", TEXT).await;
    rig.client.ask("tools/list", "", "").await;
    assert_eq!(rig.client.call("x0", "{}").await.at("result|isError"), "false", "there was room for one");
    assert_eq!(rig.client.call("x29", "{}").await.at("error|message"), "Unknown tool: x29");
}

#[tokio::test]
async fn definitions_are_bounded_in_bytes() {
    let large = script(|received| {
        let schema = format!(r#"{{"description":"{}"}}"#, "x".repeat(30_000));
        let tool = format!(r#"{{"tools":[{{"name":"echo","inputSchema":{schema}}}]}}"#);
        (received.at("method") == "tools/list").then(|| Play::Result(tool))
    });
    let settings = Settings { tools_bytes_max: 20_000, ..Settings::default() };
    let rig = Rig::start(OPEN, true, large, settings).await;
    assert!(rig.client.call("echo", TEXT).await.at("error|message").contains("more tools than allowed"));
}

/// The only tool left is `late`, on a list of one page.
fn only_late() -> Play {
    Play::Result(MORE_TOOLS.to_owned())
}

#[tokio::test]
async fn a_client_that_leaves_during_a_listing_does_not_make_the_old_list_good_again() {
    let lists = Arc::new(AtomicUsize::new(0));
    let listen = Arc::new(Mutex::new(None));
    let kept = listen.clone();
    let play = script(move |received| match received.at("method").as_str() {
        "tools/list" => match lists.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => None,
            2 => Some(Play::Silence),
            _ => Some(only_late()),
        },
        "subscriptions/listen" => {
            let (send, read) = mpsc::unbounded_channel();
            *kept.lock().unwrap() = Some(send);
            Some(Play::Stream(read))
        }
        _ => None,
    });
    let settings = Settings { upstream_answer_timeout_ms: 200, listing_retry_ms: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, true, play, settings).await;
    assert_eq!(rig.client.call("echo", TEXT).await.at("result|isError"), "false");
    let wish = body("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let mut stream = rig.client.modern("subscriptions/listen", "").stream(Method::POST, &wish).await;
    let server = listen.lock().unwrap().take().unwrap();
    server.send(event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "method"), "notifications/tools/list_changed");
    let leaves = async {
        while rig.server.got("tools/list").len() < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = rig.client.call("echo", TEXT) => panic!("the list does not come"),
        () = leaves => {}
    }
    let mut answer = rig.client.call("echo", TEXT).await;
    while answer.at("error|code") == "41006" {
        answer = rig.client.call("echo", TEXT).await;
    }
    assert_eq!(answer.at("error|message"), "Unknown tool: echo", "{}", answer.text);
}

#[tokio::test]
async fn a_definition_that_a_client_was_shown_is_the_one_that_its_call_is_judged_with() {
    let changed = Arc::new(AtomicBool::new(false));
    let now = changed.clone();
    let play = script(move |received| {
        let new = received.at("method") == "tools/list" && now.load(Ordering::Relaxed);
        new.then(|| {
            let schema = r#"{"type":"object","required":["other"]}"#;
            Play::Result(format!(
                r#"{{"resultType":"complete","tools":[{{"name":"echo","inputSchema":{schema}}}]}}"#
            ))
        })
    });
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"validate":"schema"}}}"#;
    let rig = Rig::start(policy, true, play, Settings::default()).await;
    assert_eq!(rig.client.call("echo", TEXT).await.at("result|isError"), "false");
    changed.store(true, Ordering::Relaxed);
    rig.client.ask("tools/list", "", "").await;
    let answer = rig.client.call("echo", TEXT).await;
    assert_eq!(answer.at("result|_meta|portcullis/decision|rule"), "(tool changed)", "{}", answer.text);
    rig.accept("echo").await;
    let answer = rig.client.call("echo", TEXT).await;
    assert_eq!(answer.at("result|isError"), "true", "{}", answer.text);
    assert_eq!(rig.client.call("echo", r#"{"other":1}"#).await.at("result|isError"), "false");
}

#[tokio::test]
async fn an_old_list_is_listed_again() {
    let rig = Rig::start(OPEN, true, plain(), Settings { tools_age_ms_max: 1, ..Settings::default() }).await;
    rig.client.call("echo", TEXT).await;
    let before = rig.server.got("tools/list").len();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    rig.client.call("echo", TEXT).await;
    assert!(rig.server.got("tools/list").len() > before);
}

/// A server that answers the first question for its era like this, and is modern afterwards.
async fn modern_after(first: impl Fn() -> Play + Send + Sync + 'static) -> Rig {
    let asked = AtomicBool::new(false);
    let play = script(move |received| {
        let is_first = received.at("method") == "server/discover" && !asked.swap(true, Ordering::Relaxed);
        is_first.then(&first)
    });
    let settings = Settings { era_doubt_ms: 1, listing_retry_ms: 1, ..Settings::default() };
    Rig::start(OPEN, true, play, settings).await
}

#[tokio::test]
async fn an_era_that_was_guessed_or_has_changed_is_asked_for_again() {
    const UNKNOWN: &str = r#"{"code":-32601,"message":"method not found"}"#;
    let cases: [fn() -> Play; 2] =
        [|| Play::Raw(503, "text/plain", String::new()), || Play::Error(UNKNOWN.to_owned())];
    for first in cases {
        let rig = modern_after(first).await;
        rig.client.call("echo", TEXT).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let answer = rig.client.call("echo", TEXT).await;
        assert_eq!(answer.at("result|isError"), "false", "{}", answer.text);
    }
}
