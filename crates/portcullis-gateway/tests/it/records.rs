//! The log: a decision before the call leaves, an outcome after it, no value of any argument.

use crate::client::at;
use crate::fake_server::Play;
use crate::rig::{OPEN, Rig, script};
use http::Method;
use portcullis_gateway::{Ledger, Settings};
use portcullis_state::CheckpointKey;
use portcullis_state::log::DecisionLog;

#[tokio::test]
async fn a_call_leaves_a_decision_and_an_outcome_without_values() {
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"limits":[{"counter":"spend","window":"day","max":100,"increment_from":"args.amount"}]}}}"#;
    let rig = Rig::modern(policy).await;
    rig.client.call("echo", r#"{"text":"very private","amount":12.5}"#).await;
    let decision = rig.decisions("tools/call").remove(0);
    for (path, expected) in [
        ("grant", "g_alice"),
        ("server", "fake"),
        ("tool", "echo"),
        ("class", "Read"),
        ("outcome", "allowed"),
        ("policy", "p"),
        ("policy_version", "1"),
        ("argument_keys", r#"["text","amount"]"#),
        ("charges|0|amount", "125e-1"),
        ("charges|0|counter", r#"["p","spend","grant","g_alice"]"#),
    ] {
        assert_eq!(at(&decision, path), expected, "{path} in {decision}");
    }
    let outcome = rig.records().into_iter().find(|record| at(record, "decision") == at(&decision, "seq"));
    let outcome = outcome.expect("an outcome that names the decision");
    assert_eq!((at(&outcome, "outcome"), at(&outcome, "status")), ("answered".into(), "200".into()));
    assert_eq!(at(&outcome, "request"), at(&decision, "request"));
    let all: String = rig.records().iter().map(ToString::to_string).collect();
    assert!(!all.contains("very private"));
}

#[tokio::test]
async fn the_decision_is_in_the_log_when_the_server_sees_the_call() {
    let directory = std::sync::Arc::new(std::sync::Mutex::new(None::<std::path::PathBuf>));
    let (seen, place) = (std::sync::Arc::new(std::sync::Mutex::new(None)), directory.clone());
    let noted = seen.clone();
    let look = script(move |received| {
        if received.at("method") == "tools/call" {
            let path = place.lock().unwrap().clone().unwrap();
            let text: String = std::fs::read_dir(path)
                .unwrap()
                .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
                .collect();
            *noted.lock().unwrap() = Some(text.contains(r#""method":"tools/call""#));
        }
        None::<Play>
    });
    let rig = Rig::start(OPEN, true, look, Settings::default()).await;
    *directory.lock().unwrap() = Some(rig.directory.path().join("log"));
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(*seen.lock().unwrap(), Some(true));
}

#[tokio::test]
async fn strangers_are_summed_up_and_stopping_loses_nothing() {
    let mut rig = Rig::modern(OPEN).await;
    for _ in 0..50 {
        rig.client.with("authorization", "Bearer wrong").call("echo", "{}").await;
    }
    rig.stop.take().unwrap().send(()).unwrap();
    (&mut rig.served).await.unwrap().unwrap();
    let refusals: Vec<_> =
        rig.records().into_iter().filter(|record| at(record, "kind") == "refusals").collect();
    let count: u64 = refusals.iter().map(|record| at(record, "count").parse::<u64>().unwrap()).sum();
    assert_eq!(count, 50);
    assert!(refusals.len() < 25, "one line per source and second, not per request: {}", refusals.len());
}

#[tokio::test]
async fn stopping_ends_streams_that_would_never_end_and_lets_calls_finish() {
    let (play, senders) = crate::streams::streaming("tools/call");
    let mut rig = Rig::start(OPEN, true, play, Settings::default()).await;
    let client = rig.client.modern("tools/call", "echo");
    let body = crate::client::call_body("echo", r#"{"text":"x"}"#);
    let mut call = client.stream(Method::POST, &body).await;
    let server = senders.lock().unwrap()[0].clone();
    let id = rig.server.got("tools/call")[0].at("id");
    rig.stop.take().unwrap().send(()).unwrap();
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","n":1}}}}"#);
    server.send(crate::fake_server::event(&answer)).unwrap();
    assert_eq!(at(&call.next().await.unwrap(), "result|n"), "1");
    assert!(call.next().await.is_none());
    (&mut rig.served).await.unwrap().unwrap();

    let mut legacy = Rig::legacy(OPEN).await;
    let mut stream = legacy.client.initialize().await.stream(Method::GET, "").await;
    legacy.stop.take().unwrap().send(()).unwrap();
    assert!(stream.next().await.is_none());
    (&mut legacy.served).await.unwrap().unwrap();
}

#[tokio::test]
async fn counters_come_back_from_the_log() {
    let policy = r#"{"version":"1","default":"allow","all_tools":{"limits":[{"counter":"calls","window":"day","max":3}]}}"#;
    let rig = Rig::modern(policy).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    rig.log.sync_now().unwrap();
    let again = |log: &DecisionLog| Ledger::from_log(log).unwrap();
    let ledger = again(&rig.log);
    ledger.save(&rig.log).unwrap();
    let from_snapshot = again(&rig.log);
    let snapshot = crate::rig::snapshot(&[("fake", crate::rig::url_of(&rig.server))], policy, 1);
    let state = portcullis_gateway::State {
        log: rig.log.clone(),
        ledger: std::sync::Arc::new(from_snapshot),
        pins: std::sync::Arc::new(portcullis_state::pins::Pins::in_memory().unwrap()),
        digest_key: portcullis_state::DigestKey::from_bytes(&[2; 32]),
        clock: std::sync::Arc::new(jiff::Timestamp::now),
    };
    let gateway = std::sync::Arc::new(portcullis_gateway::Gateway::new(Settings::default(), state, snapshot));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp/fake", listener.local_addr().unwrap());
    tokio::spawn(portcullis_gateway::serve(listener, None, gateway, std::future::pending()));
    let client = crate::client::Client::new(url, crate::rig::TOKEN);
    assert_eq!(client.call("echo", r#"{"text":"x"}"#).await.at("result|isError"), "false");
    let fourth = client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(fourth.at("result|_meta|portcullis/decision|rule"), "/all_tools/limits/0", "{}", fourth.text);
}

#[tokio::test]
async fn when_the_log_takes_nothing_nothing_is_let_through() {
    let directory = tempfile::tempdir().unwrap();
    let disk = portcullis_state::log::FaultyDisk::default();
    let options = portcullis_state::log::LogOptions {
        storage: std::sync::Arc::new(disk.clone()),
        ..Default::default()
    };
    // The counters' snapshot goes beside the log.
    let place = directory.path().join("log");
    std::fs::create_dir(&place).unwrap();
    let (log, _) = DecisionLog::open(&place, CheckpointKey::from_bytes(&[1; 32]), options).unwrap();
    let server = crate::fake_server::FakeServer::start(true, crate::rig::plain()).await;
    let snapshot = crate::rig::snapshot(&[("fake", crate::rig::url_of(&server))], OPEN, 1);
    let state = portcullis_gateway::State {
        log: std::sync::Arc::new(log),
        ledger: std::sync::Arc::new(Ledger::empty()),
        pins: std::sync::Arc::new(portcullis_state::pins::Pins::in_memory().unwrap()),
        digest_key: portcullis_state::DigestKey::from_bytes(&[2; 32]),
        clock: std::sync::Arc::new(jiff::Timestamp::now),
    };
    let gateway = std::sync::Arc::new(portcullis_gateway::Gateway::new(Settings::default(), state, snapshot));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(portcullis_gateway::serve(listener, None, gateway, std::future::pending()));
    let client = crate::client::Client::new(format!("{base}/mcp/fake"), crate::rig::TOKEN);
    assert_eq!(client.call("echo", r#"{"text":"x"}"#).await.at("result|isError"), "false");
    let before = server.count();
    disk.set_full(true);
    let answer = client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(answer.status, 503);
    assert!(answer.at("error|message").contains("audit_unavailable"), "{}", answer.text);
    assert_eq!(server.count(), before);
    let ready = crate::client::Client::new(format!("{base}/readyz"), "x").request(Method::GET, "").await;
    assert_eq!(ready.status, 503);
}

#[tokio::test]
async fn what_the_gateway_asks_by_itself_is_recorded_as_answered() {
    let rig = Rig::modern(OPEN).await;
    rig.client.call("echo", r#"{"text":"hi"}"#).await;
    assert!(!rig.server.got("tools/list").is_empty(), "it listed the tools to know them");
    let is_outcome = |record: &&portcullis_json::Value| at(record, "kind") == "outcome";
    let outcomes: Vec<String> =
        rig.records().iter().filter(is_outcome).map(|record| at(record, "outcome")).collect();
    assert!(outcomes.len() > 1, "{outcomes:?}");
    assert!(!outcomes.contains(&"cancelled".to_owned()), "{outcomes:?}");
}
