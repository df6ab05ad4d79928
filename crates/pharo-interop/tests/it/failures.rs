//! Every kind of failure, for every tool: told apart, with `isError`, and no exception at the client.

use std::time::Duration;

use portcullis_testkit::pharo_stand_in::{Age, Fault, StandIn, refused_url};
use serde_json::{Value, json};

use crate::{
    cases,
    sdk::{Client, Outcome, WAYS, Way},
};

/// Larger than what the server reads.
const HUGE: usize = 9 * 1024 * 1024;
const TOOLS: usize = 32;
/// The faults below, each for every tool.
const SCENARIOS: usize = 15 * TOOLS;

/// What goes wrong, the kind it must be, and how the `error` of the earlier server begins.
fn faults(image: &StandIn) -> Vec<(Fault, &'static str, &'static str)> {
    vec![
        (Fault::Hang, "time_limit", "Connection error: "),
        (Fault::Drip(Duration::from_millis(200)), "time_limit", "Connection error: "),
        (Fault::Half, "connection_lost", "Connection error: "),
        (Fault::Close, "connection_lost", "Connection error: "),
        (Fault::Status(500), "http_error", "HTTP error 500: the stand-in refuses"),
        (Fault::Status(404), "endpoint_missing", "HTTP error 404: "),
        (Fault::Redirect(format!("{}/elsewhere", image.url())), "http_error", "HTTP error 302: "),
        (Fault::Html, "wrong_server", "Invalid JSON response: "),
        (Fault::OtherJson, "wrong_server", "Invalid JSON response: "),
        (Fault::NotJson, "invalid_json", "Invalid JSON response: "),
        (Fault::Empty, "invalid_json", "Invalid JSON response: "),
        (Fault::Huge(HUGE), "answer_too_large", "the answer is larger than 8 MiB"),
        (Fault::Raises("Oops: ü".to_owned()), "image_error", ""),
    ]
}

/// Every tool, with this time limit.
fn calls(image: &StandIn, seconds: u64) -> Vec<Value> {
    let mut calls: Vec<_> = cases::all(image)
        .into_iter()
        .map(|case| {
            let mut arguments = case.arguments;
            arguments["timeout_seconds"] = json!(seconds);
            json!({"tool": case.tool, "arguments": arguments})
        })
        .collect();
    calls.push(json!({"tool": "ping_image", "arguments": {"timeout_seconds": seconds}}));
    calls
}

/// In groups that fit through the gate at once, so that none waits behind another.
fn outcomes(client: &mut Client, calls: &[Value]) -> Vec<Outcome> {
    calls.chunks(8).flat_map(|group| client.calls(group.to_vec()).0).collect()
}

fn check_every_failure(way: Way) {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(way, &image);
    client.tools();
    let (patient, hasty) = (calls(&image, 60), calls(&image, 1));
    let mut scenarios = 0;
    for (fault, kind, beginning) in faults(&image) {
        image.misbehave("", fault);
        let calls = if kind == "time_limit" { &hasty } else { &patient };
        for outcome in outcomes(&mut client, calls) {
            let error = &outcome.failure(kind)["error"];
            assert!(kind == "image_error" || error.as_str().unwrap().starts_with(beginning), "{error}");
            scenarios += 1;
        }
    }
    scenarios += check_old_errors(&mut client, &image, &patient);
    scenarios += check_not_serialisable(&mut client, &image, &patient);
    let elsewhere = image.take_recorded().iter().filter(|request| request.path == "/elsewhere").count();
    assert_eq!(elsewhere, 0, "a redirect was followed");
    assert_eq!(scenarios, SCENARIOS);
}

fn check_old_errors(client: &mut Client, image: &StandIn, calls: &[Value]) -> usize {
    image.set_age(Age::PlainTextErrors);
    image.misbehave("", Fault::Raises("old words".to_owned()));
    let outcomes = outcomes(client, calls);
    for outcome in &outcomes {
        assert_eq!(outcome.failure("image_error")["error"], json!("old words"));
    }
    image.set_age(Age::WithExtras);
    outcomes.len()
}

/// On `/eval` the image says success and leaves the result out; elsewhere it says failure.
fn check_not_serialisable(client: &mut Client, image: &StandIn, calls: &[Value]) -> usize {
    image.misbehave("", Fault::NotSerialisable);
    let outcomes = outcomes(client, calls);
    for (call, outcome) in calls.iter().zip(&outcomes) {
        if call["tool"].as_str().unwrap().starts_with("eval") {
            let structured = outcome.failure("not_serialisable");
            assert!(structured["failure"]["next"].as_str().unwrap().contains("printString"));
        } else {
            outcome.failure("image_error");
        }
    }
    outcomes.len()
}

#[test]
fn over_stdio_in_the_older_era() {
    check_every_failure(WAYS[0]);
}

#[test]
fn over_stdio_in_the_newer_era() {
    check_every_failure(WAYS[1]);
}

#[test]
fn over_http_in_the_older_era() {
    check_every_failure(WAYS[2]);
}

#[test]
fn over_http_in_the_newer_era() {
    check_every_failure(WAYS[3]);
}

#[test]
fn an_image_that_is_not_running_is_told_for_every_tool() {
    let image = StandIn::start().unwrap();
    let url = refused_url().unwrap();
    for way in WAYS {
        let mut client = Client::connect_with(way, &[], &[("PHARO_SIS_URL", &url)]);
        for call in calls(&image, 60) {
            let outcome = client.call_with(call);
            let structured = outcome.failure("connection_refused");
            assert!(structured["error"].as_str().unwrap().starts_with("Connection error: "));
            assert!(outcome.text(0).contains(&url) && outcome.text(0).contains("SisServer current start"));
        }
    }
    assert!(image.take_recorded().is_empty());
}

#[test]
fn an_address_that_does_not_resolve_is_unreachable() {
    let url = "http://image.invalid:8086";
    let mut client = Client::connect_with(WAYS[1], &[], &[("PHARO_SIS_URL", url)]);
    client.call("list_packages", json!({})).failure("unreachable");
}

#[test]
fn a_smalltalk_error_keeps_description_stack_and_receiver() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[1], &image);
    let outcome = client.call("eval", json!({"code": "1 / 0"}));
    let error = &outcome.failure("image_error")["error"];
    assert_eq!(error["description"], json!("ZeroDivide"));
    assert_eq!(error["receiver"]["class"], json!("SmallInteger"));
    assert_eq!(error["receiver"]["self"], json!("1"));
    assert!(error["stack_trace"].as_str().unwrap().contains("doIt"));
    assert!(outcome.text(0).starts_with("`eval` failed: ZeroDivide"));
}

#[test]
fn a_newer_tool_on_an_older_image_side_says_what_is_missing() {
    let image = StandIn::start().unwrap();
    image.set_age(Age::Core);
    let mut client = Client::connect(WAYS[1], &image);
    let mut missing = 0;
    for call in calls(&image, 60) {
        let outcome = client.call_with(call);
        if outcome.0["isError"] == json!(true) {
            let failure = &outcome.failure("endpoint_missing")["failure"];
            assert!(failure["next"].as_str().unwrap().contains("newer image side"), "{failure}");
            missing += 1;
        }
    }
    assert_eq!(missing, 8);
}

#[test]
fn an_answer_with_the_wrong_content_type_but_the_right_body_is_taken() {
    let image = StandIn::start().unwrap();
    image.misbehave("", Fault::WrongContentType);
    let mut client = Client::connect(WAYS[1], &image);
    assert_eq!(client.call("eval", json!({"code": "3 + 4"})).result(), &json!(7));
}

#[test]
fn the_server_goes_on_after_every_fault() {
    let image = StandIn::start().unwrap();
    let mut client = Client::connect(WAYS[0], &image);
    for (fault, ..) in faults(&image) {
        image.misbehave("", fault);
        client.call("list_packages", json!({"timeout_seconds": 1}));
        image.behave();
        client.call("list_packages", json!({})).success();
    }
}
