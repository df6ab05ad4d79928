//! Several images behind one server.

use portcullis_testkit::pharo_stand_in::{Fault, StandIn, refused_url};
use serde_json::json;

use crate::sdk::{Client, WAYS};

#[test]
fn an_argument_chooses_the_image() {
    let (first, second) = (StandIn::start().unwrap(), StandIn::start().unwrap());
    let gone = refused_url().unwrap();
    let flags = [
        "--image",
        &format!("dev={}", first.url()),
        "--image",
        &format!("ci={}", second.url()),
        "--image",
        &format!("gone={gone}"),
    ];
    for way in WAYS {
        let mut client = Client::connect_with(way, &flags, &[("PHARO_SIS_URL", "http://ignored.invalid")]);
        for tool in client.tools() {
            let image = &tool["inputSchema"]["properties"]["image"];
            assert_eq!((&image["enum"], &image["default"]), (&json!(["dev", "ci", "gone"]), &json!("dev")));
        }
        let outcome = client.call("eval", json!({"code": "3 + 4"}));
        assert_eq!(outcome.success()["image"], json!("dev"));
        assert_eq!((first.take_recorded().len(), second.take_recorded().len()), (1, 0));

        client.call("eval", json!({"code": "3 + 4", "image": "ci"})).success();
        assert_eq!((first.take_recorded().len(), second.take_recorded().len()), (0, 1));

        let outcome = client.call("ping_image", json!({"image": "gone"}));
        assert_eq!(outcome.failure("connection_refused")["image"], json!("gone"));
        assert!(outcome.text(0).contains(&format!("image `gone` at {gone}")));

        let outcome = client.call("eval", json!({"code": "3 + 4", "image": "prod"}));
        let what = &outcome.failure("invalid_argument")["failure"]["what"];
        assert_eq!(what, &json!("argument `image` must be one of `dev`, `ci`, `gone`"));
        assert_eq!((first.take_recorded().len(), second.take_recorded().len()), (0, 0));
    }
}

#[test]
fn a_hanging_image_does_not_hold_up_another() {
    let (first, second) = (StandIn::start().unwrap(), StandIn::start().unwrap());
    first.misbehave("", Fault::Hang);
    let flags = ["--image", &format!("a={}", first.url()), "--image", &format!("b={}", second.url())];
    let mut client = Client::connect_with(WAYS[1], &flags, &[]);
    let mut calls = vec![json!({"tool": "list_packages", "arguments": {"timeout_seconds": 3}}); 20];
    calls.push(json!({"tool": "list_packages", "arguments": {"image": "b"}}));
    let (outcomes, order) = client.calls(calls);
    assert_eq!(order.first(), Some(&20));
    outcomes[20].success();
}
