//! The era with sessions: opening, binding, questions of the server, cancelling, ending.

use std::sync::{Arc, Mutex};

use http::{Method, StatusCode};
use portcullis_gateway::{Settings, Snapshot};
use portcullis_json::Value;
use portcullis_state::grants::GrantTable;
use tokio::sync::mpsc;

use crate::client::{INITIALIZE, at};
use crate::fake_server::{FakeServer, Play, Received, Script, event};
use crate::local::{Pipe, until};
use crate::rig::{OPEN, OTHER_TOKEN, Rig, TOKEN, entry, grant, plain, script, snapshot, spec, url_of};
use crate::streams::Senders;

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"task":{}}}"#;

#[tokio::test]
async fn a_session_is_opened_at_the_server_and_ours_stands_for_it() {
    let rig = Rig::legacy(OPEN).await;
    let opened = rig.client.post(INITIALIZE).await;
    let ours = opened.headers["mcp-session-id"].to_str().unwrap();
    assert_ne!(ours, "the-one-session");
    assert_eq!(ours.len(), 64);
    assert_eq!(opened.at("id"), "0");
    // Tasks that run at the client are not carried.
    assert_eq!(rig.server.got("initialize")[0].at("params|capabilities"), r#"{"sampling":{}}"#);
    let client = rig.client.initialize().await;
    let answer = client.post(CALL).await;
    assert_eq!(
        (answer.at("id"), answer.at("result|isError")),
        ("a".into(), "false".into()),
        "{}",
        answer.text
    );
    let got = rig.server.got("tools/call");
    assert_eq!(got[0].header("mcp-session-id"), "the-one-session");
    assert_eq!(got[0].header("mcp-protocol-version"), "2025-11-25");
    assert_eq!(got[0].header("mcp-method"), "-");
}

#[tokio::test]
async fn a_session_is_worth_nothing_to_another_grant_or_at_another_server() {
    let (one, two) = (FakeServer::start(false, plain()).await, FakeServer::start(false, plain()).await);
    let twin = two.received.clone();
    let urls = [("fake", url_of(&one)), ("twin", url_of(&two))];
    let rig = Rig::with(one, snapshot(&urls, OPEN, 1), Settings::default()).await;
    let client = rig.client.initialize().await;
    let session = client.headers.iter().find(|(name, _)| name == "mcp-session-id").unwrap().1.clone();
    let other = rig.client_at("/mcp/fake", OTHER_TOKEN).with("mcp-session-id", &session);
    let elsewhere = rig.client_at("/mcp/twin", "alice-token").with("mcp-session-id", &session);
    let made_up = rig.client.with("mcp-session-id", "the-one-session");
    for client in [&other, &elsewhere, &made_up] {
        assert_eq!(client.post(CALL).await.status, 404);
        assert_eq!(client.request(Method::DELETE, "").await.status, 404);
        assert_eq!(client.request(Method::GET, "").await.status, 404);
    }
    assert_eq!(rig.client.post(CALL).await.status, 400, "no session id at all");
    assert_eq!(twin.lock().unwrap().len(), 0);
    // Both servers hand out the same id; each call goes to its own.
    let at_twin = rig.client_at("/mcp/twin", "alice-token").initialize().await;
    at_twin.post(CALL).await;
    client.post(CALL).await;
    let calls = |all: &[Received]| all.iter().filter(|one| one.at("method") == "tools/call").count();
    assert_eq!((calls(&twin.lock().unwrap()), rig.server.got("tools/call").len()), (1, 1));
}

#[tokio::test]
async fn delete_ends_the_session_here_and_there() {
    let rig = Rig::legacy(OPEN).await;
    let client = rig.client.initialize().await;
    assert_eq!(client.request(Method::DELETE, "").await.status, StatusCode::NO_CONTENT);
    assert_eq!(client.post(CALL).await.status, 404);
    let ended = rig.server.received.lock().unwrap().iter().any(|one| one.verb == Method::DELETE);
    assert!(ended);
}

#[tokio::test]
async fn delete_is_recorded_as_its_grants_and_ends_the_sessions_stream() {
    let (play, _senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::GET, "").await;
    assert_eq!(client.request(Method::DELETE, "").await.status, StatusCode::NO_CONTENT);
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), stream.next()).await;
    assert!(ended.is_ok_and(|event| event.is_none()), "the stream outlives its session");
    let decisions = rig.decisions("DELETE");
    let by: Vec<String> = decisions.iter().map(|decision| at(decision, "grant")).collect();
    assert_eq!(by, ["g_alice"], "{decisions:?}");
    assert_eq!(at(&decisions[0], "session").len(), 64);
}

#[tokio::test]
async fn the_end_of_a_session_that_only_the_gateway_knows_is_recorded_too() {
    // A server that opens no session of its own.
    let nameless = script(|received| {
        let opened =
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"f","version":"1"}}"#;
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{opened}}}"#, received.at("id"));
        (received.at("method") == "initialize").then(|| Play::Raw(200, "application/json", text))
    });
    let rig = Rig::start(OPEN, false, nameless, Settings::default()).await;
    let client = rig.client.initialize().await;
    assert_eq!(client.request(Method::DELETE, "").await.status, StatusCode::NO_CONTENT);
    assert_eq!(at(&rig.decisions("DELETE")[0], "grant"), "g_alice");
    assert!(rig.server.received.lock().unwrap().iter().all(|one| one.verb != Method::DELETE));
}

#[tokio::test]
async fn a_question_that_nobody_answers_expires_and_makes_room() {
    let (play, senders) = streaming();
    let policy = r#"{"version":"1","default":"allow","server_requests":{"sampling":"allow"}}"#;
    let settings = Settings {
        question_timeout_ms: 50,
        session_questions_max: 1,
        keep_alive_ms: 20,
        ..Settings::default()
    };
    let rig = Rig::start(policy, false, play, settings).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let server = senders.lock().unwrap()[0].clone();
    let ask = |id: u32| {
        event(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"messages":[]}}}}"#
        ))
    };
    server.send(ask(99)).unwrap();
    let first = at(&stream.next().await.unwrap(), "id");
    let answered = |id: &str| {
        let received = rig.server.received.lock().unwrap();
        received.iter().filter(|one| one.at("id") == id).cloned().collect::<Vec<Received>>()
    };
    let told = wait_for(|| answered("99").pop()).await;
    assert_eq!(told.at("error|message"), "the client did not answer in time", "{}", told.body);
    let late = format!(r#"{{"jsonrpc":"2.0","id":"{first}","result":{{"role":"assistant"}}}}"#);
    assert_eq!(client.post(&late).await.status, 202);
    assert_eq!(answered("99").len(), 1, "who is too late is not heard");
    server.send(ask(100)).unwrap();
    let second = stream.next().await.unwrap();
    assert_eq!(at(&second, "method"), "sampling/createMessage", "there is room again: {second}");
}

#[tokio::test]
async fn an_event_id_that_holds_the_credential_is_not_passed_on() {
    let (play, senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let server = senders.lock().unwrap()[0].clone();
    let log = |text: &str| {
        event(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{text}"}}}}"#
        ))
    };
    server.send("id: at-upstream-credential-1\ndata:\n\n".to_owned()).unwrap();
    server.send(format!("id: at-upstream-credential-1\n{}", log("one"))).unwrap();
    server.send(format!("id: two\n{}", log("two"))).unwrap();
    assert_eq!(stream.event().await.unwrap().id, None);
    assert_eq!(stream.event().await.unwrap().id.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_session_that_the_server_lost_is_lost_here_too() {
    let gone = script(|received| {
        (received.at("method") == "tools/call").then(|| Play::Raw(404, "text/plain", String::new()))
    });
    let rig = Rig::start(OPEN, false, gone, Settings::default()).await;
    let client = rig.client.initialize().await;
    assert_eq!(client.post(CALL).await.status, 404);
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.status, 404);
}

/// Streams that the fake server answers `tools/call` with; the test writes to them.
fn streaming() -> (Script, Senders) {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let kept = senders.clone();
    let play = script(move |received| {
        let get = received.verb == Method::GET;
        (get || received.at("method") == "tools/call").then(|| {
            let (send, read) = mpsc::unbounded_channel();
            kept.lock().unwrap().push(send);
            Play::Stream(read)
        })
    });
    (play, senders)
}

#[tokio::test]
async fn a_servers_question_reaches_the_client_if_the_policy_lets_it_and_the_answer_finds_back() {
    let (play, senders) = streaming();
    let policy = r#"{"version":"1","default":"allow","server_requests":{"sampling":"allow"}}"#;
    let rig = Rig::start(policy, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let server = senders.lock().unwrap()[0].clone();
    let our_id = rig.server.got("tools/call")[0].at("id");
    server.send(event(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#)).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "params|progress"), "1");
    server
        .send(event(
            r#"{"jsonrpc":"2.0","id":99,"method":"sampling/createMessage","params":{"messages":[]}}"#,
        ))
        .unwrap();
    let question = stream.next().await.unwrap();
    assert_eq!(at(&question, "method"), "sampling/createMessage");
    let id = at(&question, "id");
    assert_ne!(id, "99");
    let answer = format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"role":"assistant"}}}}"#);
    assert_eq!(client.post(&answer).await.status, 202);
    assert_eq!(client.post(&answer).await.status, 202, "a second answer means nothing");
    let answers: Vec<Received> =
        rig.server.received.lock().unwrap().iter().filter(|r| r.at("id") == "99").cloned().collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].at("result|role"), "assistant");
    // Roots are not in the policy: the server is told, the client is not asked.
    server.send(event(r#"{"jsonrpc":"2.0","id":100,"method":"roots/list"}"#)).unwrap();
    server.send(event(&format!(r#"{{"jsonrpc":"2.0","id":{our_id},"result":{{"content":[]}}}}"#))).unwrap();
    let last = stream.next().await.unwrap();
    assert_eq!((at(&last, "id"), at(&last, "result|content")), ("a".into(), "[]".into()));
    assert!(stream.next().await.is_none());
    let told =
        wait_for(|| rig.server.received.lock().unwrap().iter().find(|r| r.at("id") == "100").cloned()).await;
    assert_eq!(told.at("error|code"), "41001");
}

#[tokio::test]
async fn cancelling_names_the_request_as_the_server_knows_it() {
    let (play, _senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let _stream = client.stream(Method::POST, CALL).await;
    let cancel = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"bored"}}}}"#
        )
    };
    assert_eq!(client.post(&cancel("\"unknown\"")).await.status, 202);
    assert_eq!(client.post(&cancel("\"a\"")).await.status, 202);
    let got = rig.server.got("notifications/cancelled");
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].at("params|requestId"), rig.server.got("tools/call")[0].at("id"));
    assert_eq!(got[0].at("params|reason"), "bored");
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let (play, _senders) = streaming();
    let settings = Settings { upstream_answer_timeout_ms: 100, ..Settings::default() };
    let rig = Rig::start(OPEN, false, play, settings).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    assert_eq!(at(&stream.next().await.unwrap(), "error|message"), "the server did not answer in time");
    let told = wait_for(|| rig.server.got("notifications/cancelled").pop()).await;
    assert_eq!(told.at("params|requestId"), rig.server.got("tools/call")[0].at("id"));
}

#[tokio::test]
async fn an_interrupted_answer_comes_on_the_stream_that_the_client_comes_back_with() {
    let (play, senders) = streaming();
    let policy = r#"{"version":"1","default":"allow","tools":{"echo":{"redact":["emails"]}}}"#;
    let rig = Rig::start(policy, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let our_id = rig.server.got("tools/call")[0].at("id");
    let first = senders.lock().unwrap().remove(0);
    first.send("id: e1\ndata:\n\n".to_owned()).unwrap();
    first
        .send(format!(
            "id: e2\n{}",
            event(
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"go"}}"#
            )
        ))
        .unwrap();
    assert_eq!(stream.event().await.unwrap().id.as_deref(), Some("e2"));
    drop(first);
    assert!(stream.next().await.is_none());
    let mut again = client.with("last-event-id", "e2").stream(Method::GET, "").await;
    let get = rig.server.received.lock().unwrap().last().cloned().unwrap();
    assert_eq!((get.header("last-event-id"), get.header("mcp-session-id")), ("e2", "the-one-session"));
    let second = senders.lock().unwrap().remove(0);
    second
        .send(event(&format!(r#"{{"jsonrpc":"2.0","id":{our_id},"result":{{"text":"a@example.com"}}}}"#)))
        .unwrap();
    let answer = again.next().await.unwrap();
    assert_eq!((at(&answer, "id"), at(&answer, "result|text")), ("a".into(), "[REDACTED emails]".into()));
}

/// A call on a pipe whose stream the server closed before the answer.
struct Interrupted {
    rig: Rig,
    pipe: Pipe,
    call: String,
    senders: Senders,
}

impl Interrupted {
    /// `said`: the last event on the stream.
    async fn after(said: &str, settings: Settings) -> Interrupted {
        let (play, senders) = streaming();
        let rig = Rig::start(OPEN, false, play, settings).await;
        let mut pipe = Pipe::legacy(&rig).await;
        until(|| senders.lock().unwrap().len() == 1).await;
        let call = pipe.call("echo", r#"{"text":"x"}"#).await;
        until(|| senders.lock().unwrap().len() == 2).await;
        let first = std::mem::replace(&mut senders.lock().unwrap()[1], mpsc::unbounded_channel().0);
        first.send(said.to_owned()).unwrap();
        drop(first);
        Interrupted { rig, pipe, call, senders }
    }

    async fn answer(&mut self) -> Value {
        self.pipe.answer(&self.call).await
    }

    /// Streams that were opened at the server: the session's, the call's, and those for the rest of it.
    fn opened(&self) -> usize {
        self.senders.lock().unwrap().len()
    }
}

/// A client on a pipe cannot come back by itself: without us its call would never be answered.
#[tokio::test]
async fn on_a_pipe_the_gateway_comes_back_for_an_interrupted_answer() {
    let mut interrupted = Interrupted::after("id: e1\nretry: 50\ndata:\n\n", Settings::default()).await;
    until(|| interrupted.opened() == 3).await;
    let server = &interrupted.rig.server;
    let get = server.received.lock().unwrap().last().cloned().unwrap();
    assert_eq!((get.header("last-event-id"), get.header("mcp-session-id")), ("e1", "the-one-session"));
    let our_id = server.got("tools/call")[0].at("id");
    let answer = event(&format!(r#"{{"jsonrpc":"2.0","id":{our_id},"result":{{"text":"at last"}}}}"#));
    interrupted.senders.lock().unwrap()[2].send(answer).unwrap();
    assert_eq!(at(&interrupted.answer().await, "result|text"), "at last");
}

/// Without an event id, or with one that no header should carry, there is nowhere to come back to: an error is better
/// than silence.
#[tokio::test]
async fn on_a_pipe_an_answer_that_is_lost_is_said_to_be() {
    let long = format!("id: {}\nretry: 50\ndata:\n\n", "e".repeat(1025));
    for said in [": nothing\n\n", long.as_str()] {
        let mut interrupted = Interrupted::after(said, Settings::default()).await;
        assert_eq!(at(&interrupted.answer().await, "error|code"), "41006");
        assert_eq!(interrupted.opened(), 2);
    }
}

/// Coming back is part of the call, and a call ends.
#[tokio::test]
async fn on_a_pipe_coming_back_takes_no_longer_than_a_call_may() {
    let settings = Settings { call_timeout_ms: 300, ..Settings::default() };
    let mut interrupted = Interrupted::after("id: e1\nretry: 10000\ndata:\n\n", settings).await;
    assert_eq!(at(&interrupted.answer().await, "error|code"), "41006");
    assert_eq!(interrupted.opened(), 2);
}

/// Coming back is judged like everything else, and what was refused is in the log.
#[tokio::test]
async fn on_a_pipe_a_refused_coming_back_is_recorded() {
    let mut interrupted = Interrupted::after("id: e1\nretry: 500\ndata:\n\n", Settings::default()).await;
    let rig = &interrupted.rig;
    let grants = GrantTable::build([entry(TOKEN, grant("alice", &[("fake", "p")]))], None).unwrap();
    let servers = vec![spec("fake", url_of(&rig.server))];
    rig.gateway.replace(Snapshot::compile(servers, Vec::new(), grants).unwrap());
    assert_eq!(at(&interrupted.answer().await, "error|code"), "41006");
    let refused = |record: &Value| at(record, "method") == "GET" && at(record, "rule") == "(no policy)";
    assert_eq!(interrupted.rig.records().iter().filter(|record| refused(record)).count(), 1);
    assert_eq!(interrupted.opened(), 2);
}

#[tokio::test]
async fn client_and_server_of_different_eras_get_a_clear_error() {
    let legacy = Rig::legacy(OPEN).await;
    let answer = legacy.client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(answer.at("error|code"), "41004", "{}", answer.text);
    assert_eq!(legacy.server.got("tools/call").len(), 0);
    let modern = Rig::modern(OPEN).await;
    let answer = modern.client.post(INITIALIZE).await;
    assert_eq!(answer.at("error|code"), "41004", "{}", answer.text);
}

/// That a server has no stream of its own says nothing about its era.
#[tokio::test]
async fn a_server_without_a_stream_is_not_asked_for_its_era_again() {
    let rig = Rig::legacy(OPEN).await;
    let session = rig.client.initialize().await;
    assert_eq!(rig.client.call("echo", "{}").await.at("error|code"), "41004");
    let asked = rig.server.got("server/discover").len();
    let _stream = session.stream(Method::GET, "").await;
    assert_eq!(rig.client.call("echo", "{}").await.at("error|code"), "41004");
    assert_eq!((asked, rig.server.got("server/discover").len()), (1, 1));
}

#[tokio::test]
async fn sessions_are_bounded() {
    let settings = Settings { sessions_per_grant_max: 2, ..Settings::default() };
    let rig = Rig::start(OPEN, false, plain(), settings).await;
    rig.client.initialize().await;
    rig.client.initialize().await;
    let third = rig.client.post(INITIALIZE).await;
    assert_eq!((third.status.as_u16(), third.headers["retry-after"].to_str().unwrap()), (503, "1"));
    rig.client_at("/mcp/fake", OTHER_TOKEN).initialize().await;
}

#[tokio::test]
async fn sessions_that_idled_out_make_room_for_their_own_grant() {
    let settings = Settings { sessions_per_grant_max: 1, session_idle_timeout_ms: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, false, plain(), settings).await;
    for _ in 0..3 {
        assert_eq!(rig.client.post(INITIALIZE).await.status, StatusCode::OK);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn sessions_that_are_opened_at_once_keep_to_their_bound() {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let kept = senders.clone();
    let play = script(move |received| {
        let ours = received.at("params|clientInfo|name") == "tester";
        (received.at("method") == "initialize" && ours).then(|| {
            let (send, read) = mpsc::unbounded_channel();
            kept.lock().unwrap().push((received.at("id"), send));
            Play::Stream(read)
        })
    });
    let settings = Settings { sessions_per_grant_max: 1, ..Settings::default() };
    let rig = Rig::start(OPEN, false, play, settings).await;
    let answers = async {
        while senders.lock().unwrap().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for (id, server) in senders.lock().unwrap().drain(..) {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"f","version":"1"}}"#;
            server.send(event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))).unwrap();
        }
    };
    let (one, two, ()) = tokio::join!(rig.client.post(INITIALIZE), rig.client.post(INITIALIZE), answers);
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 503]);
    let ended = rig.server.received.lock().unwrap().iter().filter(|one| one.verb == Method::DELETE).count();
    assert_eq!(ended, 1, "what has no room here is ended at the server");
}

#[tokio::test]
async fn a_server_that_asks_without_end_loses_its_stream() {
    let (play, senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let server = senders.lock().unwrap()[0].clone();
    for id in 1000..1500 {
        server.send(event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))).unwrap();
    }
    let error = stream.next().await.unwrap();
    assert!(at(&error, "error|message").contains("too many requests to the client"), "{error}");
    assert!(stream.next().await.is_none());
}

/// Polls until there is something; the test runner's own timeout ends it otherwise.
async fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_sessions_stream_ends_with_its_source_and_does_not_come_about_without_one() {
    let (play, senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::GET, "").await;
    senders.lock().unwrap().clear();
    assert!(stream.next().await.is_none(), "a stream that nothing can come on would look open");

    let failing = script(|received| {
        (received.verb == Method::GET).then(|| Play::Raw(500, "text/plain", String::new()))
    });
    let rig = Rig::start(OPEN, false, failing, Settings::default()).await;
    let client = rig.client.initialize().await;
    assert_eq!(client.request(Method::GET, "").await.status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn what_comes_on_a_sessions_stream_is_redacted_as_for_its_calls() {
    let (play, senders) = streaming();
    let policy = r#"{"version":"1","default":"allow","all_tools":{"redact":["emails"]},"tools":{"echo":{"redact":["cards"]}}}"#;
    let rig = Rig::start(policy, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let _call = client.stream(Method::POST, CALL).await;
    let mut stream = client.stream(Method::GET, "").await;
    let server = senders.lock().unwrap()[1].clone();
    let data = "a@example.com paid with 4111 1111 1111 1111";
    let notice = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{data}"}}}}"#
    );
    server.send(event(&notice)).unwrap();
    let told = at(&stream.next().await.unwrap(), "params|data");
    assert_eq!(told, "[REDACTED emails] paid with [REDACTED cards]");
}

#[tokio::test]
async fn an_answer_that_was_lost_on_the_way_comes_again() {
    let (play, senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings::default()).await;
    let client = rig.client.initialize().await;
    let mut stream = client.stream(Method::POST, CALL).await;
    let our_id = rig.server.got("tools/call")[0].at("id");
    let answer = event(&format!(r#"{{"jsonrpc":"2.0","id":{our_id},"result":{{"content":[]}}}}"#));
    senders.lock().unwrap().remove(0).send(format!("id: e1\n{answer}")).unwrap();
    assert_eq!(at(&stream.next().await.unwrap(), "id"), "a");
    let mut again = client.with("last-event-id", "e0").stream(Method::GET, "").await;
    senders.lock().unwrap().remove(0).send(answer.clone()).unwrap();
    assert_eq!(at(&again.next().await.unwrap(), "id"), "a");
    // Without coming back for something, an answer to nothing stays nobody's.
    let mut fresh = client.stream(Method::GET, "").await;
    let server = senders.lock().unwrap().remove(0);
    server.send(answer).unwrap();
    server.send(event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)).unwrap();
    assert_eq!(at(&fresh.next().await.unwrap(), "method"), "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_call_that_the_session_had_to_forget_is_answered_on_its_own_stream() {
    let (play, senders) = streaming();
    let rig = Rig::start(OPEN, false, play, Settings { session_calls_max: 1, ..Settings::default() }).await;
    let client = rig.client.initialize().await;
    let mut first = client.stream(Method::POST, CALL).await;
    let _second = client.stream(Method::POST, &CALL.replace("\"a\"", "\"b\"")).await;
    let our_id = rig.server.got("tools/call")[0].at("id");
    let answer = event(&format!(r#"{{"jsonrpc":"2.0","id":{our_id},"result":{{"content":[]}}}}"#));
    senders.lock().unwrap()[0].send(answer).unwrap();
    let answered = first.next().await.unwrap();
    assert_eq!((at(&answered, "id"), at(&answered, "result|content")), ("a".into(), "[]".into()));
}

#[tokio::test]
async fn whatever_a_server_says_to_a_notification_it_has_taken_it() {
    let says = script(|received| {
        let notice = received.at("method") == "notifications/initialized";
        notice.then(|| Play::Raw(200, "application/json", String::new()))
    });
    let rig = Rig::start(OPEN, false, says, Settings::default()).await;
    let client = rig.client.initialize().await;
    assert_eq!(client.post(CALL).await.at("result|isError"), "false");
}
