//! Programs behind the gateway, in both eras, for clients on pipes and over HTTP.

use std::time::Duration;

use http::Method;
use portcullis_gateway::{PipeClient, PipeEnd, Settings, serve_pipe};
use tokio::io::AsyncWriteExt as _;

use crate::client::{MODERN_META, at};
use crate::local::{Pipe, command, exists, file, pids, quick, rig, rig_with, shared, text_of, until};
use crate::rig::{OPEN, OTHER_TOKEN};

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"count","arguments":{}}}"#;

#[tokio::test]
async fn a_session_on_a_pipe_has_one_process_from_start_to_end() {
    let directory = tempfile::tempdir().unwrap();
    let started = file(&directory, "pids");
    let rig = rig(OPEN, command(&["legacy", &format!("pid={}", started.display())])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    let first = pipe.text("count", "{}").await;
    let second = pipe.text("count", "{}").await;
    let pid = first.split(' ').next().unwrap().to_owned();
    assert_eq!((first, second), (format!("{pid} 1"), format!("{pid} 2")));
    // Listing the tools needed no second process.
    assert_eq!(pids(&started).len(), 1);
    pipe.close().await;
    assert!(pipe.next_or_end().await.is_none());
    assert_eq!(pipe.served.await.unwrap(), PipeEnd::InputClosed);
    until(|| !exists(pids(&started)[0])).await;
}

#[tokio::test]
async fn a_modern_client_on_a_pipe_has_one_process_too() {
    for era in ["modern", "dual"] {
        let directory = tempfile::tempdir().unwrap();
        let started = file(&directory, "pids");
        let rig = rig(OPEN, command(&[era, &format!("pid={}", started.display())])).await;
        let mut pipe = Pipe::open(&rig);
        let found = pipe.ask("server/discover", MODERN_META).await;
        assert_eq!(at(&found, "result|resultType"), "complete", "{found}");
        assert_eq!(pipe.text_modern("echo", r#"{"text":"hello"}"#).await, "hello");
        assert!(pipe.text_modern("count", "{}").await.ends_with(" 1"));
        assert_eq!(pids(&started).len(), 1, "{era}");
        pipe.close().await;
        assert_eq!(pipe.served.await.unwrap(), PipeEnd::InputClosed);
        rig.gateway.end_processes().await;
        assert!(!exists(pids(&started)[0]));
    }
}

#[tokio::test]
async fn the_same_policy_judges_on_a_pipe() {
    let policy = r#"{"version":"1","default":"deny","tools":{"echo":{"deny_if":[{"conditions":[{"path":"args.text","op":"contains","value":"secret"}],"on_deny":"No secrets."}]}}}"#;
    let rig = rig(policy, command(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    let listed = pipe.ask("tools/list", "").await;
    assert_eq!(at(&listed, "result|tools|0|name"), "echo");
    assert_eq!(at(&listed, "result|tools|1"), "-");
    assert_eq!(pipe.text("echo", r#"{"text":"fine"}"#).await, "fine");
    assert_eq!(pipe.text("echo", r#"{"text":"a secret"}"#).await, "[POLICY DENIED] No secrets.");
    assert_eq!(pipe.text("count", "{}").await, "[POLICY DENIED] No rule of the policy allows this tool.");
    let verdicts: Vec<String> =
        rig.decisions("tools/call").iter().map(|decision| at(decision, "outcome")).collect();
    assert_eq!(verdicts, ["allowed", "denied", "denied"]);
}

#[tokio::test]
async fn sessions_over_http_have_a_process_each_and_delete_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let started = file(&directory, "pids");
    let rig = rig(OPEN, command(&["legacy", &format!("pid={}", started.display())])).await;
    let one = rig.client.initialize().await;
    let two = rig.client_at("/mcp/fake", OTHER_TOKEN).initialize().await;
    let process =
        |answer: &crate::client::Answer| text_of(&answer.json()).split(' ').next().unwrap().to_owned();
    let (first, second) = (process(&one.post(CALL).await), process(&two.post(CALL).await));
    assert_ne!(first, second);
    assert_eq!(process(&one.post(CALL).await), first);
    assert_eq!(one.request(Method::DELETE, "").await.status, 204);
    until(|| !exists(first.parse().unwrap())).await;
    assert_eq!(one.post(CALL).await.status, 404);
    assert_eq!(process(&two.post(CALL).await), second);
    rig.stop.unwrap().send(()).unwrap();
    rig.served.await.unwrap().unwrap();
    assert!(pids(&started).iter().all(|pid| !exists(*pid)));
}

#[tokio::test]
async fn grants_have_a_process_each_in_the_modern_era() {
    let rig = rig(OPEN, command(&["modern"])).await;
    let other = rig.client_at("/mcp/fake", OTHER_TOKEN);
    let process = |answer: crate::client::Answer| text_of(&answer.json());
    let first = process(rig.client.call("count", "{}").await);
    let second = process(other.call("count", "{}").await);
    let again = process(rig.client.call("count", "{}").await);
    let pid = |text: &str| text.split(' ').next().unwrap().to_owned();
    assert_eq!(again, format!("{} 2", pid(&first)));
    assert_ne!(pid(&first), pid(&second));
}

#[tokio::test]
async fn a_shared_process_serves_all() {
    for era in ["legacy", "modern"] {
        let rig = rig(OPEN, shared(&[era])).await;
        let other = rig.client_at("/mcp/fake", OTHER_TOKEN);
        let (first, second) = match era {
            "legacy" => {
                let (one, two) = (rig.client.initialize().await, other.initialize().await);
                (one.post(CALL).await, two.post(CALL).await)
            }
            _ => (rig.client.call("count", "{}").await, other.call("count", "{}").await),
        };
        let pid = text_of(&first.json()).split(' ').next().unwrap().to_owned();
        assert_eq!(text_of(&second.json()), format!("{pid} 2"), "{era}");
    }
}

#[tokio::test]
async fn progress_reaches_the_call_that_it_belongs_to_under_the_clients_token() {
    let rig = rig(OPEN, shared(&["modern"])).await;
    let mut pipe = Pipe::open(&rig);
    let meta = MODERN_META.replacen('{', r#"{"progressToken":"mine","#, 1);
    let params = |text: &str| format!(r#""name":"progress","arguments":{{"text":"{text}"}},{meta}"#);
    let one = pipe.request("tools/call", &params("one")).await;
    let mut seen = Vec::new();
    loop {
        let message = pipe.next().await;
        if at(&message, "id") == one {
            break;
        }
        seen.push((at(&message, "params|progressToken"), at(&message, "params|progress")));
    }
    assert_eq!(seen, [("mine".to_owned(), "1".to_owned()), ("mine".to_owned(), "2".to_owned())]);
    // The server never saw the client's token.
    let own = pipe.request("tools/call", &format!(r#""name":"meta","arguments":{{}},{meta}"#)).await;
    assert!(!text_of(&pipe.answer(&own).await).contains("mine"));
}

#[tokio::test]
async fn a_servers_question_reaches_the_client_on_the_pipe() {
    let policy = r#"{"version":"1","default":"allow","server_requests":{"sampling":"allow"}}"#;
    let rig = rig(policy, command(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    let id = pipe.call("ask", "{}").await;
    let question = pipe.next().await;
    assert_eq!(at(&question, "method"), "sampling/createMessage");
    let theirs = at(&question, "id");
    pipe.send(&format!(r#"{{"jsonrpc":"2.0","id":"{theirs}","result":{{"role":"assistant"}}}}"#)).await;
    assert_eq!(text_of(&pipe.answer(&id).await), r#"{"role": "assistant"}"#);
    // What the policy does not allow is refused to the server; the client hears nothing of it.
    let id = pipe.call("ask", r#"{"method":"roots/list"}"#).await;
    let answer = pipe.next().await;
    assert_eq!(at(&answer, "id"), id, "{answer}");
    assert!(text_of(&answer).contains("41001"));
}

#[tokio::test]
async fn over_http_a_question_comes_on_the_stream_of_the_call() {
    let policy = r#"{"version":"1","default":"allow","server_requests":{"sampling":"allow"}}"#;
    let rig = rig(policy, command(&["legacy"])).await;
    let client = rig.client.initialize().await;
    let ask = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask","arguments":{}}}"#;
    let mut stream = client.stream(Method::POST, ask).await;
    let question = stream.next().await.unwrap();
    let id = at(&question, "id");
    client.post(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"role":"user"}}}}"#)).await;
    assert_eq!(text_of(&stream.next().await.unwrap()), r#"{"role": "user"}"#);
}

#[tokio::test]
async fn nobody_can_be_asked_in_a_shared_process() {
    let policy = r#"{"version":"1","default":"allow","server_requests":{"sampling":"allow"}}"#;
    let rig = rig(policy, shared(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    assert!(pipe.text("ask", "{}").await.contains("there is no client that could be asked"));
}

#[tokio::test]
async fn cancelling_reaches_the_program_in_both_eras() {
    for era in ["legacy", "modern"] {
        let directory = tempfile::tempdir().unwrap();
        let notes = file(&directory, "notes");
        let rig = rig(OPEN, command(&[era, &format!("notes={}", notes.display())])).await;
        let noted = || std::fs::read_to_string(&notes).unwrap_or_default();
        let (mut pipe, id) = match era {
            "legacy" => {
                let mut pipe = Pipe::legacy(&rig).await;
                let id = pipe.call("slow", r#"{"seconds":60}"#).await;
                (pipe, id)
            }
            _ => {
                let mut pipe = Pipe::open(&rig);
                let id = pipe.call_modern("slow", r#"{"seconds":60}"#).await;
                (pipe, id)
            }
        };
        until(|| noted().contains("tools/call")).await;
        pipe.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ))
        .await;
        until(|| noted().contains("notifications/cancelled")).await;
        let call = noted().lines().find(|line| line.contains("tools/call")).unwrap().to_owned();
        let cancel =
            noted().lines().find(|line| line.contains("notifications/cancelled")).unwrap().to_owned();
        let (call, cancel) = (crate::client::read(&call), crate::client::read(&cancel));
        assert_eq!(at(&cancel, "params|requestId"), at(&call, "id"), "{era}");
    }
}

#[tokio::test]
async fn a_subscription_on_a_pipe_is_heard_and_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let notes = file(&directory, "notes");
    let rig = rig(OPEN, command(&["modern", &format!("notes={}", notes.display())])).await;
    let mut pipe = Pipe::open(&rig);
    let params = format!(r#""notifications":{{"toolsListChanged":true}},{MODERN_META}"#);
    let id = pipe.request("subscriptions/listen", &params).await;
    let acknowledged = pipe.next().await;
    assert_eq!(at(&acknowledged, "method"), "notifications/subscriptions/acknowledged");
    let changed = pipe.next().await;
    assert_eq!(at(&changed, "method"), "notifications/tools/list_changed");
    assert_eq!(at(&changed, "params|_meta|io.modelcontextprotocol/subscriptionId"), id);
    pipe.send(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    ))
    .await;
    until(|| std::fs::read_to_string(&notes).unwrap().contains("notifications/cancelled")).await;
}

#[tokio::test]
async fn calls_on_a_pipe_do_not_wait_for_each_other() {
    let rig = rig(OPEN, command(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    let slow = pipe.call("slow", r#"{"seconds":0.5}"#).await;
    let quick = pipe.call("echo", r#"{"text":"q"}"#).await;
    assert_eq!(at(&pipe.next().await, "id"), quick);
    assert_eq!(at(&pipe.next().await, "id"), slow);
}

#[tokio::test]
async fn a_line_that_is_no_message_gets_an_error_and_the_pipe_goes_on() {
    let settings = Settings { body_bytes_max: 10_000, ..quick() };
    let rig = rig_with(OPEN, command(&["legacy"]), settings).await;
    let mut pipe = Pipe::open(&rig);
    pipe.send("this is not JSON").await;
    assert_eq!(at(&pipe.next().await, "error|code"), "-32700");
    pipe.send(&"x".repeat(20_000)).await;
    assert_eq!(at(&pipe.next().await, "error|message"), "the message is larger than allowed");
    let early = pipe.ask("tools/list", "").await;
    assert_eq!(at(&early, "error|message"), "send `initialize` first");
    let opened = pipe
        .ask(
            "initialize",
            r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}"#,
        )
        .await;
    assert_eq!(at(&opened, "result|protocolVersion"), "2025-11-25");
    let malformed = rig.records().iter().filter(|record| at(record, "outcome") == "malformed").count();
    assert_eq!(malformed, 3);
}

#[tokio::test]
async fn the_environment_is_exactly_what_is_configured_and_secrets_do_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(&["legacy"]);
    let env = |name: &str, value: &str, is_secret| portcullis_gateway::EnvSpec {
        name: name.to_owned(),
        value: portcullis_state::Secret::from(value),
        is_secret,
    };
    command.env.push(env("API_KEY", "key-for-the-service", true));
    command.env.push(env("ROOT", "/srv/data", false));
    command.cwd = Some(directory.path().to_owned());
    let rig = rig(OPEN, command).await;
    let mut pipe = Pipe::legacy(&rig).await;
    let seen = crate::client::read(&pipe.text("env", "{}").await);
    let mut names: Vec<String> =
        seen.as_object().unwrap().iter().map(|member| member.key.to_string()).collect();
    // What Python itself sets.
    names.retain(|name| name != "LC_CTYPE");
    assert_eq!(names, ["API_KEY", "PATH", "ROOT"]);
    assert_eq!(at(&seen, "API_KEY"), "[REDACTED credential]");
    assert_eq!(at(&seen, "ROOT"), "/srv/data");
    let cwd = std::fs::canonicalize(directory.path()).unwrap();
    assert_eq!(pipe.text("where", "{}").await, cwd.to_str().unwrap());
    pipe.text("loud", r#"{"text":"token key-for-the-service"}"#).await;
    let last = || rig.gateway.output_of("fake").unwrap().last().map(|line| line.text.clone());
    until(|| last().is_some_and(|text| text == "token [REDACTED credential]")).await;
    assert!(rig.gateway.output_of("fake").unwrap().len() <= 1_000);
    assert!(rig.gateway.output_of("nobody").is_none());
}

#[tokio::test]
async fn a_pipe_that_is_told_to_stop_lets_open_calls_finish() {
    let rig = rig(OPEN, command(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    pipe.text("echo", r#"{"text":"warm"}"#).await;
    let id = pipe.call("slow", r#"{"seconds":0.1}"#).await;
    until(|| rig.decisions("tools/call").len() == 2).await;
    pipe.stop.take().unwrap().send(()).unwrap();
    assert_eq!(text_of(&pipe.answer(&id).await), "done");
    assert_eq!(pipe.served.await.unwrap(), PipeEnd::Stopped);
}

/// It is time to leave although there is always something to read.
#[tokio::test]
async fn a_client_that_never_pauses_does_not_keep_a_pipe_open() {
    let rig = rig(OPEN, command(&["legacy"])).await;
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(theirs);
    let (mut read, mut write) = tokio::io::split(ours);
    let flood = tokio::spawn(async move {
        let lines = "no message\n".repeat(1000);
        while write.write_all(lines.as_bytes()).await.is_ok() {}
    });
    let drain = tokio::spawn(async move { tokio::io::copy(&mut read, &mut tokio::io::sink()).await });
    let client = PipeClient { grant: "g_alice".to_owned(), server: "fake".to_owned() };
    let stop = tokio::time::sleep(Duration::from_millis(100));
    let served = serve_pipe(rig.gateway.clone(), client, input, output, stop);
    let ended = tokio::time::timeout(Duration::from_secs(20), served).await;
    assert_eq!(ended.ok(), Some(PipeEnd::Stopped), "it went on reading");
    flood.abort();
    drain.abort();
}
