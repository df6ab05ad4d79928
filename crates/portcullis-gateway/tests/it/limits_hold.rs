//! Limits under load, through the gateway: many sessions of one grant, amounts of every kind, policies that change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use portcullis_gateway::Settings;

use crate::client::at;
use crate::rig::{Rig, plain};

const SESSIONS: usize = 500;
const CALLS_EACH: usize = 3;
const MAX: usize = 1_000;

fn legacy_call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write","arguments":{{}}}}}}"#
    )
}

/// A new session is not a new budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_sessions_of_one_grant_share_one_limit() {
    let policy = format!(
        r#"{{"version":"1","default":"allow","tools":{{"write":{{"rate_limit":{{"max":{MAX},"window":3600}}}}}}}}"#
    );
    let settings = Settings { sessions_per_grant_max: SESSIONS, ..Settings::default() };
    let rig = Rig::start(&policy, false, plain(), settings).await;
    let session = async || {
        let client = rig.client.initialize().await;
        let mut admitted = 0;
        for id in 0..CALLS_EACH {
            let answer = client.post(&legacy_call(id)).await;
            match answer.at("result|isError").as_str() {
                "false" => admitted += 1,
                "true" => {}
                _ => panic!("{}", answer.text),
            }
        }
        admitted
    };
    let admitted = futures_util::future::join_all((0..SESSIONS).map(|_| session())).await;
    assert_eq!(admitted.iter().sum::<usize>(), MAX);
    assert_eq!(rig.server.got("tools/call").len(), MAX);
}

/// What is no amount is denied and counts nothing; what is one counts exactly.
#[tokio::test]
async fn an_amount_is_counted_exactly_or_denied() {
    let policy = r#"{"version":"1","default":"allow","tools":{"write":{"limits":[
        {"counter":"spend","window":"day","max":1,"increment_from":"args.amount"}]}}}"#;
    let rig = Rig::modern(policy).await;
    let refused = [
        r#"{"amount":-1}"#,
        r#"{"amount":-0.0000001}"#,
        r#"{"amount":1e308}"#,
        r#"{"amount":9223372036854775808}"#,
        r#"{"amount":9007199254740993}"#,
        r#"{"amount":1.0000000000000000000000000001}"#,
        r#"{"amount":"1e3"}"#,
        r#"{"amount":"0"}"#,
        r#"{"amount":[0]}"#,
        r#"{"amount":{}}"#,
        r#"{"amount":null}"#,
        r#"{"amount":true}"#,
        "{}",
    ];
    for arguments in refused {
        let answer = rig.client.call("write", arguments).await;
        assert_eq!(answer.at("result|isError"), "true", "{arguments}: {}", answer.text);
        assert_eq!(
            answer.at("result|_meta|portcullis/decision|rule"),
            "/tools/write/limits/0",
            "{arguments}"
        );
    }
    assert_eq!(rig.server.got("tools/call").len(), 0);
    // None of them counted: ten tenths fit to the last, and nothing above.
    for tenth in 0..10 {
        let answer = rig.client.call("write", r#"{"amount":0.1}"#).await;
        assert_eq!(answer.at("result|isError"), "false", "tenth {tenth}: {}", answer.text);
    }
    let beyond = rig.client.call("write", r#"{"amount":1e-20}"#).await;
    assert_eq!(beyond.at("result|isError"), "true", "{}", beyond.text);
    assert_eq!(rig.server.got("tools/call").len(), 10);
}

/// Policies change as fast as they can; each decision names one version, and that version decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_decision_names_the_one_policy_that_made_it() {
    let policy = |version: u32| {
        let action = if version.is_multiple_of(2) { "deny" } else { "allow" };
        format!(r#"{{"version":"1","default":"{action}","description":"{version}"}}"#)
    };
    let rig = Rig::modern(&policy(1)).await;
    let done = AtomicBool::new(false);
    let calls = async {
        for _ in 0..40 {
            let calls = (0..8).map(|_| rig.client.call("write", "{}"));
            futures_util::future::join_all(calls).await;
        }
        done.store(true, Ordering::SeqCst);
    };
    let replace = async {
        let mut version = 1;
        while !done.load(Ordering::SeqCst) {
            version += 1;
            rig.replace_policy(&policy(version), version);
            tokio::time::sleep(std::time::Duration::from_micros(300)).await;
        }
    };
    tokio::join!(calls, replace);
    let mut hashes = BTreeMap::new();
    for record in rig.decisions("tools/call") {
        let version: u32 = at(&record, "policy_version").parse().unwrap();
        let allowed = at(&record, "outcome") == "allowed";
        assert_eq!(allowed, version % 2 == 1, "{record}");
        let hash = at(&record, "policy_hash");
        assert_eq!(*hashes.entry(version).or_insert(hash.clone()), hash, "one version, two texts");
    }
    assert!(hashes.len() > 10, "only {} versions decided anything", hashes.len());
}
