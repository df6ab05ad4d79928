//! The reader against what attackers and careless senders write: input, refusal, code.

use portcullis_json::Limits;
use portcullis_mcp::{Era, Id, Incoming, Message, Outcome, Refusal, Sender};

use crate::{LEGACY, read, refusal};

fn check(input: &str, expected: Option<(Refusal, i64)>) {
    check_bytes(input.as_bytes(), Sender::Client, LEGACY, expected);
}

fn check_server(input: &str, expected: Option<(Refusal, i64)>) {
    check_bytes(input.as_bytes(), Sender::Server, LEGACY, expected);
}

fn check_bytes(input: &[u8], sender: Sender, era: Era, expected: Option<(Refusal, i64)>) {
    let found = refusal(input, sender, era).map(|refusal| {
        let code = refusal.code();
        (refusal, code)
    });
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(input));
}

#[test]
fn ordinary_messages_pass() {
    for input in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}"#,
        r#" {"method":"ping","id":"x","jsonrpc":"2.0"} "#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"ok":true}}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","id":-5,"method":"tools/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"tools/list","params":{"vendorField":1}}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"tools/list","params":{"_meta":{"com.example/x":1}}}"#,
    ] {
        check(input, None);
    }
}

#[test]
fn what_is_not_json_is_refused() {
    let not_json = Some((Refusal::NotJson, -32700));
    for input in [
        "",
        "  ",
        "{",
        "nul",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        r#"{'jsonrpc':"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    ] {
        check(input, not_json.clone());
    }
    let invalid = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}";
    check_bytes(invalid, Sender::Client, LEGACY, not_json);
}

#[test]
fn bounds_hold() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{}1{}}}}}"#,
        r#"{"a":"#.repeat(127),
        "}".repeat(127)
    );
    check(&deep, Some((Refusal::TooDeep, -32600)));
    let number = "9".repeat(500);
    check(
        &format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping"}}"#),
        Some((Refusal::NumberTooLarge, -32600)),
    );
    let small = Limits { bytes_max: 20, depth_max: 8 };
    let refused = Incoming::read(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Sender::Client, &small);
    assert_eq!(refused.unwrap_err().refusal, Refusal::TooLarge);
}

#[test]
fn duplicate_keys_are_refused_at_any_depth() {
    for input in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","\u006eame":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":{"y":1,"y":2}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[{"y":1,"\u0079":2}]}}}"#,
    ] {
        check(input, Some((Refusal::DuplicateKey, -32600)));
    }
}

#[test]
fn envelopes_that_do_not_hold_are_refused() {
    use Refusal::*;
    let rows: &[(&str, Refusal, i64)] = &[
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Batch, -32600),
        ("[]", Batch, -32600),
        (r#""ping""#, NotAnObject, -32600),
        ("null", NotAnObject, -32600),
        (r#"{"id":1,"method":"ping"}"#, WrongVersion, -32600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, WrongVersion, -32600),
        (r#"{"jsonrpc":"2.0 ","id":1,"method":"ping"}"#, WrongVersion, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, WrongVersion, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, BadMethod, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, BadMethod, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, BadParams, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, BadParams, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}"#, UnknownKey, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, BadShape, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, BadShape, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}"#, BadShape, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, BadShape, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{}}"#, BadShape, -32600),
        (r#"{"jsonrpc":"2.0","result":{}}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":[]}"#, BadResult, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, BadResult, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, BadError, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}"#, BadError, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"no"}}"#, BadError, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#, BadId, -32600),
        (r#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#, BadId, -32600),
    ];
    for (input, refusal, code) in rows {
        check(input, Some((refusal.clone(), *code)));
    }
    let long = "i".repeat(257);
    check(&format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#), Some((BadId, -32600)));
}

#[test]
fn method_variants_are_not_found() {
    for method in [
        "Tools/call",
        "tools/Call",
        "TOOLS/CALL",
        "tools/call ",
        " tools/call",
        "tools//call",
        "tools/call/",
        "/tools/call",
        "tools.call",
        "tools/call\\u0000",
        "tools\\u200b/call",
        "",
        "tools/calⅼ",
        "rpc.discover",
        "tools/execute",
        "notifications/unknown",
        "tools\\u2215call",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        check(&text, Some((Refusal::UnknownMethod, -32601)));
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        check(&text, Some((Refusal::UnknownMethod, -32601)));
    }
}

#[test]
fn requests_need_ids_and_notifications_have_none() {
    check(
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"rm"}}"#,
        Some((Refusal::NeedsId, -32600)),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}"#,
        Some((Refusal::NeedsNoId, -32600)),
    );
}

#[test]
fn a_method_of_the_other_side_is_not_found() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#,
        Some((Refusal::UnknownMethod, -32601)),
    );
    check_server(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
        Some((Refusal::UnknownMethod, -32601)),
    );
    check_server(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#, None);
}

#[test]
fn clients_respond_only_in_the_legacy_era() {
    let input = br#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#;
    check_bytes(input, Sender::Client, LEGACY, None);
    check_bytes(input, Sender::Client, Era::Modern, Some((Refusal::ResponseForbidden, -32600)));
    check_bytes(input, Sender::Server, Era::Modern, None);
}

#[test]
fn servers_may_fail_without_an_id() {
    for input in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#,
    ] {
        let message = read(input.as_bytes(), Sender::Server, LEGACY).unwrap();
        let Message::Response(response) = message else {
            panic!("{message:?}");
        };
        assert_eq!(response.id, None);
        assert!(matches!(response.outcome, Outcome::Error(error) if error.code == -32700));
    }
    check_server(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, Some((Refusal::BadId, -32600)));
}

#[test]
fn a_refusal_carries_the_id_when_there_is_one() {
    let rows = [
        (r#"{"jsonrpc":"2.0","id":"a","method":"nope"}"#, Some(Id::from("a"))),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","x":1}"#, Some(Id::from(7))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, None),
    ];
    for (input, id) in rows {
        let refused = read(input.as_bytes(), Sender::Client, LEGACY).unwrap_err();
        assert_eq!(refused.id, id, "{input}");
    }
}

#[test]
fn ids_keep_their_type_and_spelling() {
    let id = |text: &str| Id::from_value(&crate::value(text)).unwrap();
    assert_ne!(id("1"), id("\"1\""));
    assert_ne!(id("0"), id("-0"));
    assert_eq!(id("1"), Id::from(1));
    for spelling in ["10000000000000000999", "-0", "\"a\\nb\"", "\"\""] {
        assert_eq!(id(spelling).to_value().to_string(), spelling);
    }
}

/// Nothing that a sender wrote comes back in what we say about it.
#[test]
fn refusals_do_not_echo() {
    let canary = "canary7531";
    for input in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{canary}"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","{canary}":1}}"#),
        format!(r#"{{"jsonrpc":"{canary}","id":1,"method":"ping"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":"{canary}"}}"#),
        format!(r#"{{"a":{{"{canary}":1,"{canary}":2}}}}"#),
        canary.to_owned(),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{canary}"}}}}}}"#
        ),
    ] {
        let refused = Incoming::read(input.as_bytes(), Sender::Client, &Limits::message())
            .and_then(|incoming| incoming.claim())
            .unwrap_err();
        let answer = portcullis_mcp::write::refusal(&refused);
        assert!(!answer.contains(canary), "{answer}");
    }
}
