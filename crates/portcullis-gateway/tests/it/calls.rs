//! A call of a tool, modern era: judged, recorded, rewritten, forwarded, answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::at;
use crate::client::call_body;
use crate::fake_server::{FakeServer, Play};
use crate::rig::{CREDENTIAL, OPEN, Rig, TOKEN, plain, script, snapshot, url_of};
use http::StatusCode;
use portcullis_gateway::Settings;
use portcullis_json::Decimal;
use portcullis_policy::{CounterKey, Scope};

#[tokio::test]
async fn an_allowed_call_reaches_the_server_rewritten() {
    let rig = Rig::modern(OPEN).await;
    let client = rig
        .client
        .with("cookie", "session=agent")
        .with("x-strange", "1")
        .with("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let answer = client.call("echo", r#"{"text":"hi","amount":10000000000000000999}"#).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.at("id"), "7");
    // Digits and unknown fields come through unchanged.
    assert!(answer.text.contains("10000000000000000999"), "{}", answer.text);
    assert_eq!(answer.at("result|extra"), "1.50");
    let got = rig.server.got("tools/call");
    assert_eq!(got.len(), 1);
    assert_ne!(got[0].at("id"), "7", "ids upstream are ours");
    assert_eq!(got[0].header("authorization"), CREDENTIAL);
    assert_eq!(got[0].header("mcp-method"), "tools/call");
    assert_eq!(got[0].header("mcp-name"), "echo");
    assert_eq!(got[0].header("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_eq!((got[0].header("cookie"), got[0].header("x-strange")), ("-", "-"));
    assert!(!format!("{:?}", got[0]).contains(TOKEN));
}

#[tokio::test]
async fn a_denied_call_is_a_result_that_the_agent_can_read() {
    let policy = r#"{"version":"1","default":"deny","tools":{"echo":{"deny_if":[{"conditions":[{"path":"args.text","op":"eq","value":"bad"}],"on_deny":"Not that word."}]}}}"#;
    let rig = Rig::modern(policy).await;
    let answer = rig.client.call("echo", r#"{"text":"bad"}"#).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.at("result|isError"), "true");
    assert_eq!(answer.at("result|resultType"), "complete");
    assert_eq!(answer.at("result|content|0|text"), "[POLICY DENIED] Not that word.");
    let decision = |key: &str| answer.at(&format!("result|_meta|portcullis/decision|{key}"));
    assert_eq!(decision("outcome"), "denied");
    assert_eq!(decision("rule"), "/tools/echo/deny_if/0");
    assert_eq!((decision("policy"), decision("policy_version")), ("p".into(), "1".into()));
    assert_eq!(decision("retryable"), "false");
    assert!(decision("id").starts_with("d_"));
    let default = rig.client.call("write", "{}").await;
    assert_eq!(default.at("result|_meta|portcullis/decision|rule"), "(default deny)");
    assert_eq!(rig.server.got("tools/call").len(), 0);
    assert_eq!(rig.client.call("echo", r#"{"text":"good"}"#).await.at("result|isError"), "false");
}

#[tokio::test]
async fn a_hidden_tool_and_one_that_is_not_there_are_answered_alike() {
    let rig = Rig::modern(r#"{"version":"1","default":"allow","hide":["secret"]}"#).await;
    let hidden = rig.client.call("secret", "{}").await;
    let absent = rig.client.call("absent", "{}").await;
    assert_eq!(hidden.at("error|code"), "-32602");
    assert_eq!(hidden.at("error|message"), "Unknown tool: secret");
    assert_eq!(hidden.text.replace("secret", "NAME"), absent.text.replace("absent", "NAME"));
    assert_eq!(hidden.status, absent.status);
    assert_eq!(rig.server.got("tools/call").len(), 0);
    let rules: Vec<String> = rig.decisions("tools/call").iter().map(|record| at(record, "rule")).collect();
    assert_eq!(rules, ["(hidden)", "(unknown tool)"]);
}

#[tokio::test]
async fn a_limit_says_how_long_to_wait_and_holds_under_concurrency() {
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"rate_limit":{"max":5,"window":60}}}}"#;
    let rig = Rig::modern(policy).await;
    let calls = (0..20).map(|_| rig.client.call("echo", r#"{"text":"x"}"#));
    let answers = futures_util::future::join_all(calls).await;
    let admitted = answers.iter().filter(|answer| answer.at("result|isError") == "false").count();
    assert_eq!(admitted, 5);
    assert_eq!(rig.server.got("tools/call").len(), 5);
    let denied = answers.iter().find(|answer| answer.at("result|isError") == "true").unwrap();
    let decision = |key: &str| denied.at(&format!("result|_meta|portcullis/decision|{key}"));
    assert_eq!(decision("retryable"), "true");
    assert_eq!(decision("rule"), "/tools/echo/rate_limit");
    assert!((1..=60).contains(&decision("retry_after_s").parse::<u64>().unwrap()));
}

const ONCE: &str =
    r#"{"version":"1","default":"allow","tools":{"echo":{"rate_limit":{"max":1,"window":3600}}}}"#;

#[tokio::test]
async fn what_left_stays_charged_whatever_the_server_answers() {
    let failing = script(|received| {
        (received.at("method") == "tools/call").then(|| Play::Raw(500, "text/plain", "no".into()))
    });
    let rig = Rig::start(ONCE, true, failing, Settings::default()).await;
    let failed = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(failed.at("error|code"), "41006", "{}", failed.text);
    let second = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(second.at("result|isError"), "true", "an answer, even a bad one, is charged: {}", second.text);
}

#[tokio::test]
async fn what_was_reserved_comes_back_if_no_connection_could_be_made() {
    let server = FakeServer::start_with(true, plain(), false).await;
    let snapshot = snapshot(&[("fake", url_of(&server))], ONCE, 1);
    let mut rig = Rig::with(server, snapshot, Settings::default()).await;
    rig.client.call("write", "{}").await;
    rig.server.stop().await;
    for _ in 0..3 {
        let unreachable = rig.client.call("echo", r#"{"text":"x"}"#).await;
        assert_eq!(unreachable.at("error|message"), "the server cannot be reached", "{}", unreachable.text);
    }
    let given_back = |record: &portcullis_json::Value| at(record, "given_back|0|amount") == "1";
    assert_eq!(rig.records().iter().filter(|record| given_back(record)).count(), 3);
    // The log says the same: nothing is charged after a restart either.
    let key =
        CounterKey { policy: "p".into(), counter: "echo_rate".into(), scope: Scope::Grant("g_alice".into()) };
    rig.log.sync_now().unwrap();
    let ledger = portcullis_gateway::Ledger::from_log(&rig.log).unwrap();
    assert_eq!(ledger.total(&key, 3600, jiff::Timestamp::now()), Decimal::ZERO);
}

#[tokio::test]
async fn set_validate_and_redact_do_what_the_language_says() {
    let policy = r#"{"version":"1","default":"allow","tools":{
        "echo":{"validate":"strict","set":{"args.text":"forced"}},
        "write":{"redact":["emails"]}}}"#;
    let leaky = script(|received| {
        let name = received.at("params|name");
        (name == "write").then(|| {
            Play::Result(
                r#"{"resultType":"complete","content":[{"type":"text","text":"ask bob@example.com"}]}"#
                    .into(),
            )
        })
    });
    let rig = Rig::start(policy, true, leaky, Settings::default()).await;
    rig.client.call("echo", r#"{"text":"mine"}"#).await;
    assert_eq!(rig.server.got("tools/call")[0].at("params|arguments"), r#"{"text":"forced"}"#);
    let invalid = rig.client.call("echo", r#"{"other":1}"#).await;
    assert_eq!(invalid.at("result|_meta|portcullis/decision|rule"), "/tools/echo/validate");
    let redacted = rig.client.call("write", "{}").await;
    assert_eq!(redacted.at("result|content|0|text"), "ask [REDACTED emails]");
}

#[tokio::test]
async fn what_a_person_must_approve_is_refused_and_says_why() {
    let rig = Rig::modern(
        r#"{"version":"1","default":"allow","tools":{"write":{"action":"approve","reason":"Really write?"}}}"#,
    )
    .await;
    let answer = rig.client.call("write", "{}").await;
    let text = answer.at("result|content|0|text");
    assert!(text.starts_with("[POLICY DENIED] Really write?") && text.contains("cannot ask"), "{text}");
    assert_eq!(answer.at("result|_meta|portcullis/decision|rule"), "/tools/write/action");
    assert_eq!(rig.server.got("tools/call").len(), 0);
}

#[tokio::test]
async fn shadow_mode_lets_through_and_notes_what_it_would_have_done() {
    let rig = Rig::modern(r#"{"version":"1","default":"deny","mode":"shadow"}"#).await;
    assert_eq!(rig.client.call("echo", r#"{"text":"x"}"#).await.at("result|isError"), "false");
    assert_eq!(at(&rig.decisions("tools/call")[0], "shadow"), "would_deny");
}

#[tokio::test]
async fn resources_prompts_and_completions_are_judged_and_denied_with_the_decision_in_data() {
    let policy = r#"{"version":"1","default":"deny",
        "resources":{"default":"deny","allow":["doc://open/*"]},"prompts":{"default":"allow","deny":["obey"]}}"#;
    let rig = Rig::modern(policy).await;
    let read = |uri: &'static str| {
        let client = &rig.client;
        async move { client.ask("resources/read", uri, &format!(r#""uri":"{uri}""#)).await }
    };
    let open = read("doc://open/a").await;
    assert_eq!(open.at("result|done"), "true", "{}", open.text);
    assert_eq!(open.at("result|cacheScope"), "private");
    let shut = read("doc://shut/b").await;
    assert_eq!(
        (shut.at("error|code"), shut.at("error|data|rule")),
        ("41001".into(), "(default deny)".into())
    );
    assert_eq!(read("doc://open/../shut/b").await.at("error|code"), "41001");
    let prompt = rig.client.ask("prompts/get", "obey", r#""name":"obey""#).await;
    assert_eq!(prompt.at("error|data|rule"), "/prompts/deny/0");
    let complete = r#""ref":{"type":"ref/prompt","name":"obey"},"argument":{"name":"a","value":"b"}"#;
    assert_eq!(rig.client.ask("completion/complete", "", complete).await.at("error|code"), "41001");
    assert_eq!(rig.server.got("prompts/get").len() + rig.server.got("completion/complete").len(), 0);
    assert_eq!(rig.server.got("resources/read").len(), 1);
}

#[tokio::test]
async fn a_question_inside_a_result_needs_the_policys_word_and_a_retry_is_judged_again() {
    let asking = script(|received| {
        let retry = received.at("params|requestState") == "s1";
        (received.at("params|name") == "echo" && !retry).then(|| {
            Play::Result(
                r#"{"resultType":"input_required","requestState":"s1","inputRequests":{"ok":{"method":"elicitation/create","params":{"message":"Sure?"}}}}"#.into(),
            )
        })
    });
    let policy = |word: &str| {
        format!(
            r#"{{"version":"1","default":"allow","server_requests":{{"elicitation":"{word}"}},"tools":{{"echo":{{"rate_limit":{{"max":2,"window":60}}}}}}}}"#
        )
    };
    let rig = Rig::start(&policy("allow"), true, asking.clone(), Settings::default()).await;
    let first = rig.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(first.at("result|resultType"), "input_required", "{}", first.text);
    let retry =
        call_body("echo", r#"{"text":"x"},"requestState":"s1","inputResponses":{"ok":{"action":"accept"}}"#);
    let client = rig.client.modern("tools/call", "echo");
    assert_eq!(client.post(&retry).await.at("result|isError"), "false");
    let third = client.post(&retry).await;
    assert_eq!(third.at("result|_meta|portcullis/decision|rule"), "/tools/echo/rate_limit");

    let strict = Rig::start(&policy("deny"), true, asking, Settings::default()).await;
    let denied = strict.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(denied.at("result|_meta|portcullis/decision|rule"), "/server_requests/elicitation");
}

#[tokio::test]
async fn arguments_that_headers_mirror_are_compared_and_built_anew() {
    let rig = Rig::modern(OPEN).await;
    let right = rig.client.with("mcp-param-where", "eu").call("region", r#"{"where":"eu"}"#).await;
    assert_eq!(right.at("result|isError"), "false", "{}", right.text);
    assert_eq!(rig.server.got("tools/call")[0].header("mcp-param-where"), "eu");
    for wrong in ["us", ""] {
        let answer = rig.client.with("mcp-param-where", wrong).call("region", r#"{"where":"eu"}"#).await;
        assert_eq!((answer.status.as_u16(), answer.at("error|code")), (400, "-32020".to_owned()));
    }
    let unknown = rig.client.with("mcp-param-other", "1").call("region", "{}").await;
    assert_eq!(unknown.at("result|isError"), "false");
    assert_eq!(rig.server.got("tools/call")[1].header("mcp-param-other"), "-");
}

#[tokio::test]
async fn a_hidden_tool_cannot_be_told_by_its_headers_nor_by_a_server_that_does_not_list() {
    let lists = Arc::new(AtomicUsize::new(0));
    let listed = lists.clone();
    let play = script(move |received| {
        let again = received.at("method") == "tools/list" && listed.fetch_add(1, Ordering::Relaxed) > 1;
        again.then(|| Play::Raw(500, "text/plain", String::new()))
    });
    let settings = Settings { tools_recheck_ms: 1, listing_retry_ms: 1, ..Settings::default() };
    let policy = r#"{"version":"1","default":"allow","hide":["region"]}"#;
    let rig = Rig::start(policy, true, play, settings).await;
    rig.client.call("echo", r#"{"text":"x"}"#).await;
    let mut asked = Vec::new();
    for name in ["region", "absent"] {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let before = lists.load(Ordering::Relaxed);
        // Its argument must be repeated in a header, and is not.
        let answer = rig.client.call(name, r#"{"where":"here"}"#).await;
        assert_eq!(answer.at("error|message"), format!("Unknown tool: {name}"), "{}", answer.text);
        asked.push(lists.load(Ordering::Relaxed) - before);
    }
    assert_eq!(asked, [1, 1], "both make the gateway look again");
}
