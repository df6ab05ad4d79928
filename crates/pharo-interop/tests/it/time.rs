//! Time: limits, signs of life, cancellation, and calls that do not wait for each other.
//! No test here measures how long something takes; they look at what happened.

use portcullis_testkit::pharo_stand_in::{Fault, StandIn};
use serde_json::{Value, json};

use crate::sdk::{Client, Transport, WAYS};

fn eval(code: &str) -> Value {
    json!({"tool": "eval", "arguments": {"code": code}})
}

#[test]
fn signs_of_life_come_while_the_image_works() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let mut call = eval("(Delay forMilliseconds: 5000) wait");
        call["progress"] = json!(true);
        let outcome = client.call_with(call);
        assert_eq!(outcome.result(), &json!("waited"));
        let beats = outcome.beats();
        assert!(beats.len() >= 2, "{way:?} {beats:?}");
        assert!(beats[0]["progress"].as_f64() < beats[1]["progress"].as_f64());
        assert_eq!(beats[0]["total"], serde_json::from_str::<Value>("120.0").unwrap());
        assert!(beats[0]["message"].as_str().unwrap().contains("the image is working on it"));
    }
}

#[test]
fn a_slow_call_does_not_hold_up_the_others() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let mut calls = vec![eval("(Delay forMilliseconds: 3000) wait")];
        calls.extend((0..20).map(|number| eval(&format!("{number} + 1"))));
        let (outcomes, order) = client.calls(calls);
        assert_eq!(order.last(), Some(&0), "{way:?}: the slow one comes last");
        for (number, outcome) in outcomes.iter().enumerate().skip(1) {
            assert_eq!(outcome.result(), &json!(number));
        }
    }
}

#[test]
fn a_call_that_was_given_up_is_remembered() {
    let image = StandIn::start().unwrap();
    for way in WAYS {
        let mut client = Client::connect(way, &image);
        let mut call = eval("self halt");
        call["cancel_after"] = json!(0.5);
        let outcome = client.call_with(call);
        assert_eq!(outcome.0["cancelled"], json!(true), "{way:?}");
        wait_until(|| image.under_way() == 0);
        let report = client.call("ping_image", json!({}));
        let given_up = report.result()["given_up_calls"].as_array().unwrap();
        assert_eq!((given_up.len(), &given_up[0]["tool"]), (1, &json!("eval")), "{way:?}");

        let mut late = eval("self halt");
        late["arguments"]["timeout_seconds"] = json!(1);
        let outcome = client.call_with(late);
        let next = outcome.failure("time_limit")["failure"]["next"].as_str().unwrap();
        assert!(next.contains("may still be working on it"), "{next}");
        let report = client.call("ping_image", json!({}));
        assert_eq!(report.result()["given_up_calls"].as_array().unwrap().len(), 2);
    }
}

/// The connection to the image is dropped when the call is given up.
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("it does not happen");
}

#[test]
fn ping_works_while_calls_hang() {
    let image = StandIn::start().unwrap();
    image.misbehave("/list-packages", Fault::Hang);
    for way in WAYS.into_iter().filter(|way| way.transport == Transport::Stdio) {
        let mut client = Client::connect(way, &image);
        let hanging = json!({"tool": "list_packages", "arguments": {"timeout_seconds": 3}});
        let mut calls = vec![hanging; 10];
        calls.push(json!({"tool": "ping_image", "arguments": {}}));
        let (outcomes, order) = client.calls(calls);
        assert_eq!(order.first(), Some(&10), "{way:?}: the ping comes first");
        outcomes[10].success();
    }
}

#[test]
fn calls_beyond_the_gate_say_that_they_wait() {
    let image = StandIn::start().unwrap();
    image.misbehave("/list-packages", Fault::Hang);
    let mut client = Client::connect(WAYS[1], &image);
    let call = |seconds: u64| json!({"tool": "list_packages", "arguments": {"timeout_seconds": seconds}, "progress": true});
    let mut calls = vec![call(5); 8];
    calls.push(call(3));
    let (outcomes, _) = client.calls(calls);
    for outcome in &outcomes[..8] {
        outcome.failure("time_limit");
    }
    outcomes[8].failure("busy");
    let message = outcomes[8].beats()[0]["message"].as_str().unwrap();
    assert_eq!(message, "waiting behind other calls to this image");
    assert_eq!(image.take_recorded().len(), 8, "the ninth was never sent");
}

#[test]
fn a_queue_that_is_full_refuses_at_once() {
    let image = StandIn::start().unwrap();
    image.misbehave("/list-packages", Fault::Hang);
    let mut client = Client::connect(WAYS[1], &image);
    let call = json!({"tool": "list_packages", "arguments": {"timeout_seconds": 2}});
    let (outcomes, order) = client.calls(vec![call; 73]);
    let first = usize::try_from(order[0]).unwrap();
    let structured = outcomes[first].failure("busy");
    assert_eq!(structured["error"], json!("64 calls wait for the image already"));
}

#[test]
fn limits_come_from_the_environment() {
    let image = StandIn::start().unwrap();
    let url = image.url();
    let environment =
        [("PHARO_SIS_URL", url.as_str()), ("PHARO_MCP_TIMEOUT", "1"), ("PHARO_MCP_TIMEOUT_EVAL_CODE", "60")];
    for way in WAYS {
        let mut client = Client::connect_with(way, &[], &environment);
        let slow = json!({"code": "(Delay forMilliseconds: 1500) wait"});
        let outcome = client.call("eval", slow.clone());
        assert!(outcome.failure("time_limit")["failure"]["what"].as_str().unwrap().contains("within 1 s"));
        client.call("eval_code", slow.clone()).success();
        let mut longer = slow;
        longer["timeout_seconds"] = json!(60);
        client.call("eval", longer).success();
    }
}
