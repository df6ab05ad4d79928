//! Programs that misbehave: every open request gets an answer, every record its outcome, and nothing is left.

use std::path::PathBuf;
use std::time::Duration;

use portcullis_gateway::{CommandSpec, PipeEnd, Settings, TransportSpec};
use portcullis_json::Value;

use crate::client::{INITIALIZE, at};
use crate::local::{
    Pipe, command, exists, file, pids, quick, rig, rig_with, shared, snapshot, spec, text_of, until,
};
use crate::rig::{OPEN, OTHER_TOKEN, Rig};

const ENDED: &str = "the server's program ended before it answered";

/// A program that notes its process id, and where.
fn noted(directory: &tempfile::TempDir, options: &[&str]) -> (CommandSpec, PathBuf) {
    let started = file(directory, "pids");
    let pid = format!("pid={}", started.display());
    let options: Vec<&str> = options.iter().copied().chain([pid.as_str()]).collect();
    (command(&options), started)
}

fn is_outcome(record: &Value) -> bool {
    at(record, "kind") == "outcome"
}

/// How the calls of tools ended, by the log.
fn endings(rig: &Rig) -> Vec<String> {
    let records = rig.records();
    let of_tools = records.iter().filter(|record| is_outcome(record) && at(record, "tool") != "-");
    of_tools.map(|record| at(record, "outcome")).collect()
}

/// Each decision that let something through has its outcome.
fn every_call_has_its_outcome(rig: &Rig) -> bool {
    let records = rig.records();
    let allowed = records.iter().filter(|record| at(record, "outcome") == "allowed");
    let mut allowed = allowed.map(|record| at(record, "request"));
    allowed.all(|request| records.iter().any(|record| is_outcome(record) && at(record, "request") == request))
}

async fn nothing_is_left(started: &PathBuf) {
    assert!(!pids(started).is_empty());
    until(|| pids(started).iter().all(|pid| !exists(*pid))).await;
}

#[tokio::test]
async fn a_program_that_ends_at_once_is_answered_for_and_not_started_over_and_over() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy", "exit"]);
    let rig = rig(OPEN, command).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        let answer = rig.client.post(INITIALIZE).await;
        answers.push(answer.at("error|message"));
    }
    assert_eq!(answers[..2], [ENDED, ENDED]);
    assert!(answers[3].starts_with("the server's program keeps ending"), "{answers:?}");
    assert!(pids(&started).len() < 4);
    nothing_is_left(&started).await;
    assert!(every_call_has_its_outcome(&rig));
}

#[tokio::test]
async fn a_program_that_is_not_there_gets_a_clear_answer() {
    let mut command = command(&["legacy"]);
    command.command = vec!["/nonexistent/server".to_owned()];
    let rig = rig(OPEN, command).await;
    let answer = rig.client.post(INITIALIZE).await;
    assert_eq!(
        answer.at("error|message"),
        "the server's program cannot be started; ask the gateway's operator"
    );
    let output = rig.gateway.output_of("fake").unwrap();
    assert!(output[0].text.starts_with("portcullis: `/nonexistent/server` cannot be started: "));
    let ended: Vec<String> = rig
        .records()
        .iter()
        .filter(|record| is_outcome(record))
        .map(|record| at(record, "outcome"))
        .collect();
    assert_eq!(ended, ["not_sent"]);
}

#[tokio::test]
async fn when_a_program_ends_in_the_middle_every_open_call_is_answered() {
    for how in ["die", "half"] {
        let directory = tempfile::tempdir().unwrap();
        let (command, started) = noted(&directory, &["legacy"]);
        let rig = rig(OPEN, command).await;
        let mut pipe = Pipe::legacy(&rig).await;
        pipe.text("echo", "{}").await;
        let slow = pipe.call("slow", r#"{"seconds":60}"#).await;
        until(|| rig.decisions("tools/call").len() == 2).await;
        let fatal = pipe.call(how, "{}").await;
        let mut answered = [pipe.next().await, pipe.next().await].map(|answer| {
            assert_eq!(text_of(&answer), ENDED);
            at(&answer, "id")
        });
        answered.sort();
        assert_eq!(answered, [slow, fatal]);
        assert!(pipe.next_or_end().await.is_none());
        assert_eq!(pipe.served.await.unwrap(), PipeEnd::ServerGone);
        assert_eq!(endings(&rig), ["answered", "unknown", "unknown"]);
        nothing_is_left(&started).await;
        assert!(every_call_has_its_outcome(&rig));
    }
}

#[tokio::test]
async fn over_http_the_next_session_gets_a_new_process() {
    let rig = rig(OPEN, command(&["legacy"])).await;
    let client = rig.client.initialize().await;
    let call = |tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
        )
    };
    assert_eq!(text_of(&client.post(&call("die")).await.json()), ENDED);
    assert_eq!(client.post(&call("count")).await.status, 404);
    let client = rig.client.initialize().await;
    assert!(text_of(&client.post(&call("count")).await.json()).ends_with(" 1"));
}

#[tokio::test]
async fn in_the_modern_era_the_next_call_gets_a_new_process() {
    let rig = rig(OPEN, command(&["modern"])).await;
    let mut pipe = Pipe::open(&rig);
    assert_eq!(pipe.text_modern("die", "{}").await, ENDED);
    assert!(pipe.text_modern("count", "{}").await.ends_with(" 1"));
}

#[tokio::test]
async fn a_program_that_says_nothing_is_given_up_and_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy", "mute"]);
    let settings = Settings { upstream_answer_timeout_ms: 300, ..quick() };
    let rig = rig_with(OPEN, command, settings).await;
    let answer = rig.client.post(INITIALIZE).await;
    assert_eq!(answer.at("error|message"), "the server did not answer in time");
    rig.gateway.end_processes().await;
    assert!(pids(&started).iter().all(|pid| !exists(*pid)));
    assert!(every_call_has_its_outcome(&rig));
}

#[tokio::test]
async fn what_is_no_message_is_passed_over_and_its_call_answered() {
    let rig = rig(OPEN, command(&["legacy", "noise"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    assert_eq!(pipe.text("echo", r#"{"text":"through the noise"}"#).await, "through the noise");
    assert_eq!(
        pipe.text("garbage", "{}").await,
        "the server's answer is not valid MCP: a message that cannot be read"
    );
    assert_eq!(pipe.text("wrong", "{}").await, "right");
    assert_eq!(pipe.text("twice", "{}").await, "first");
    assert_eq!(pipe.text("echo", r#"{"text":"still there"}"#).await, "still there");
    let output = rig.gateway.output_of("fake").unwrap();
    assert!(output.iter().any(|line| line.text.contains("no message on standard output")));
    assert!(output.iter().any(|line| line.text.contains("belongs to nobody")));
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_costs_no_memory_and_not_the_process() {
    let rig = rig(OPEN, command(&["legacy"])).await;
    let mut pipe = Pipe::legacy(&rig).await;
    assert!(pipe.text("count", "{}").await.ends_with(" 1"));
    let huge = format!(r#"{{"bytes":{}}}"#, 100 << 20);
    assert_eq!(pipe.text("huge", &huge).await, "the server's answer is larger than allowed");
    assert!(pipe.text("count", "{}").await.ends_with(" 2"));
}

#[tokio::test]
async fn a_program_that_does_not_want_to_end_is_killed_with_its_children() {
    for options in [["legacy", "stubborn"], ["legacy", "fork"]] {
        let directory = tempfile::tempdir().unwrap();
        let (command, started) = noted(&directory, &options);
        let rig = rig(OPEN, command).await;
        let mut pipe = Pipe::legacy(&rig).await;
        assert_eq!(pipe.text("echo", r#"{"text":"x"}"#).await, "x");
        pipe.close().await;
        assert_eq!(pipe.served.await.unwrap(), PipeEnd::InputClosed);
        rig.gateway.end_processes().await;
        assert_eq!(pids(&started).len(), if options[1] == "fork" { 2 } else { 1 });
        nothing_is_left(&started).await;
    }
}

#[tokio::test]
async fn a_child_that_holds_the_pipes_does_not_hide_that_the_program_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy", "fork"]);
    let rig = rig(OPEN, command).await;
    let mut pipe = Pipe::legacy(&rig).await;
    assert_eq!(pipe.text("die", "{}").await, ENDED);
    assert_eq!(pipe.served.await.unwrap(), PipeEnd::ServerGone);
    nothing_is_left(&started).await;
}

/// The end is noticed although the client says nothing after `initialize`.
#[tokio::test]
async fn a_program_that_ends_as_soon_as_its_session_is_open_ends_the_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy"]);
    let rig = rig(OPEN, command).await;
    let mut pipe = Pipe::open(&rig);
    let client =
        r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}"#;
    assert_eq!(at(&pipe.ask("initialize", client).await, "result|protocolVersion"), "2025-11-25");
    for pid in pids(&started) {
        let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(killed.unwrap().success());
    }
    let served = tokio::time::timeout(Duration::from_secs(20), pipe.served).await;
    assert_eq!(served.expect("nobody noticed").unwrap(), PipeEnd::ServerGone);
    nothing_is_left(&started).await;
}

#[tokio::test]
async fn a_client_that_goes_in_the_middle_of_a_call_leaves_a_record_and_no_process() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy"]);
    let rig = rig(OPEN, command).await;
    let mut pipe = Pipe::legacy(&rig).await;
    pipe.text("echo", "{}").await;
    pipe.call("slow", r#"{"seconds":60}"#).await;
    until(|| rig.decisions("tools/call").len() == 2).await;
    pipe.close().await;
    assert_eq!(pipe.served.await.unwrap(), PipeEnd::InputClosed);
    assert_eq!(endings(&rig), ["answered", "cancelled"]);
    nothing_is_left(&started).await;
    assert!(every_call_has_its_outcome(&rig));
}

#[tokio::test]
async fn processes_are_bounded_and_what_is_over_the_bound_is_not_charged() {
    let settings = Settings { processes_per_server_max: 1, ..quick() };
    let rig = rig_with(OPEN, command(&["legacy"]), settings).await;
    let first = rig.client.initialize().await;
    let second = rig.client.post(INITIALIZE).await;
    assert!(second.at("error|message").starts_with("too many processes of this server"), "{}", second.text);
    first.request(http::Method::DELETE, "").await;
    until(|| rig.records().iter().any(|record| at(record, "outcome") == "not_sent")).await;
    loop {
        let again = rig.client.post(INITIALIZE).await;
        if again.at("result|protocolVersion") == "2025-11-25" {
            break;
        }
    }
}

#[tokio::test]
async fn an_idle_process_is_ended_and_its_session_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy"]);
    let rig = rig(OPEN, CommandSpec { idle_timeout_s: Some(1), ..command }).await;
    let client = rig.client.initialize().await;
    nothing_is_left(&started).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    until(|| rig.gateway.output_of("fake").is_some()).await;
    assert_eq!(client.post(list).await.status, 404);
}

#[tokio::test]
async fn a_changed_configuration_ends_the_old_processes() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy"]);
    let rig = rig(OPEN, command).await;
    let client = rig.client.initialize().await;
    let (other, _) = noted(&directory, &["legacy", "noise"]);
    rig.gateway.replace(snapshot(vec![spec(TransportSpec::Command(other))], OPEN));
    nothing_is_left(&started).await;
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.status, 404);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn limits_hold_for_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let (command, started) = noted(&directory, &["legacy"]);
    let command = CommandSpec { memory_max_mb: Some(512), open_files_max: Some(77), ..command };
    let rig = rig(OPEN, command).await;
    rig.client.initialize().await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pids(&started)[0])).unwrap();
    let row = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().rev().skip(1).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("Max open files"), ["77", "77"]);
    assert_eq!(row("Max data size"), [(512 << 20).to_string(), (512 << 20).to_string()]);
}

/// Whoever waits until another program has started gets its turn when that one is ended; by then none may start.
#[tokio::test]
async fn whoever_waited_for_its_turn_starts_no_program_after_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let started = file(&directory, "pids");
    let silent = format!("echo $$ >> '{}'; exec sleep 1000", started.display());
    let words = ["/bin/sh", "-c", &silent].map(str::to_owned).to_vec();
    let rig = rig(OPEN, CommandSpec { command: words, ..shared(&[]) }).await;
    let other = rig.client_at("/mcp/fake", OTHER_TOKEN);
    let end = async {
        until(|| !pids(&started).is_empty() && rig.decisions("initialize").len() == 2).await;
        // Both are in the log; from there the second one is at its turn in no time.
        tokio::time::sleep(Duration::from_millis(50)).await;
        rig.gateway.end_processes().await;
    };
    let (one, two, ()) = tokio::join!(rig.client.post(INITIALIZE), other.post(INITIALIZE), end);
    for said in [ENDED, "the server cannot be reached"] {
        assert!(one.text.contains(said) || two.text.contains(said), "{} {}", one.text, two.text);
    }
    assert_eq!(pids(&started).len(), 1, "a program was started that nobody ends");
}
