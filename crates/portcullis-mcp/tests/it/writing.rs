//! What leaves: written from values, under the right id.

use portcullis_mcp::{ErrorObject, Id, Message, Refusal, Refused, Sender, write};

use crate::{LEGACY, object, read, request};

#[test]
fn messages_are_written() {
    let params = || Some(object(r#"{"b":1.0,"a":"é\n"}"#));
    let rows = [
        (
            write::request(&Id::from(7), "tools/call", params()),
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"b":1.0,"a":"é\n"}}"#,
        ),
        (write::request(&Id::from(7), "ping", None), r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#),
        (
            write::notification("notifications/progress", params()),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"b":1.0,"a":"é\n"}}"#,
        ),
        (write::result(&Id::from("x\""), object("{}")), r#"{"jsonrpc":"2.0","id":"x\"","result":{}}"#),
        (
            write::error(
                None,
                ErrorObject { code: -32700, message: "m".to_owned(), data: Some(true.into()) },
            ),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":true}}"#,
        ),
        (
            write::refusal(&Refused { refusal: Refusal::UnknownMethod, id: Some(Id::from("q")) }),
            r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"method not found"}}"#,
        ),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
}

/// White space, escapes and the sender's id stay behind; digits stay as they were spelled.
#[test]
fn requests_leave_under_our_id() {
    let request = request(
        "tools/call",
        r#"{ "name" : "\u0061", "arguments":{"n": 10000000000000000999, "f":1.000000000000000005, "e":1e-300} }"#,
    );
    assert_eq!(
        request.into_text(&Id::from(42)),
        r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"a","arguments":{"n":10000000000000000999,"f":1.000000000000000005,"e":1e-300}}}"#
    );
}

#[test]
fn responses_return_under_the_asker_s_id() {
    for (input, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":42,"result":{"a":7.0}}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{"a":7.0}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":42,"error":{"message":"m","code":-1,"extra":1}}"#,
            r#"{"jsonrpc":"2.0","id":"1","error":{"code":-1,"message":"m"}}"#,
        ),
    ] {
        let message = read(input.as_bytes(), Sender::Server, LEGACY).unwrap();
        let Message::Response(response) = message else {
            panic!("{message:?}");
        };
        assert_eq!(response.into_text(&Id::from("1")), expected);
    }
}
