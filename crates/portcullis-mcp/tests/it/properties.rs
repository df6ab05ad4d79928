//! For any bytes: an answer. For any message that passes: what leaves is what was read.

use proptest::prelude::*;

use portcullis_json::{Limits, Object, Value, compact};
use portcullis_mcp::headers::{decode, encode};
use portcullis_mcp::{Era, Id, Incoming, Message, Sender, write};

use crate::{LEGACY, read};

fn look_at_everything(bytes: &[u8]) {
    for sender in [Sender::Client, Sender::Server] {
        for era in [LEGACY, Era::Modern] {
            match read(bytes, sender, era) {
                Ok(Message::Request(request)) => drop(request.view()),
                Ok(Message::Notification(notification)) => drop(notification.view()),
                Ok(Message::Response(_)) => {}
                Err(refused) => drop(write::refusal(&refused)),
            }
        }
    }
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn any_object(keys: &'static str) -> impl Strategy<Value = Value> {
    prop::collection::vec((keys, any_scalar()), 0..6).prop_map(|members| {
        let fold = |object: Object, (key, value): (String, Value)| object.with(&key, value);
        members.into_iter().fold(Object::new(), fold).into()
    })
}

/// Objects with the right keys and any values: near misses of messages.
fn nearly_a_message() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        any_scalar(),
        Just(Value::from("2.0")),
        Just(Value::from("tools/call")),
        Just(Value::from("notifications/cancelled")),
        any_object("(name|arguments|uri|_meta|taskId|code|message|requestId|Name)"),
    ];
    let keys = "(jsonrpc|id|method|params|result|error|Id|x)";
    prop::collection::vec((keys, value), 0..6).prop_map(|members| {
        let fold = |object: Object, (key, value): (String, Value)| object.with(&key, value);
        members.into_iter().fold(Object::new().with("jsonrpc", "2.0"), fold).into()
    })
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        look_at_everything(&bytes);
    }

    #[test]
    fn near_misses_get_an_answer(value in nearly_a_message()) {
        look_at_everything(compact(&value).as_bytes());
    }

    #[test]
    fn tool_calls_leave_as_they_were_judged(
        name in "[^\\p{Cc}]{1,40}",
        arguments in any_object(".{0,12}"),
        id in any::<String>(),
    ) {
        let params = Object::new().with("name", name.as_str()).with("arguments", arguments);
        let text = write::request(&Id::from(id.as_str()), "tools/call", Some(params.clone()));
        let incoming = Incoming::read(text.as_bytes(), Sender::Client, &Limits::message());
        prop_assume!(id.len() <= portcullis_mcp::ID_BYTES_MAX);
        let Ok(Message::Request(request)) = incoming.and_then(|incoming| incoming.place(LEGACY)) else {
            panic!("refused: {text}");
        };
        prop_assert_eq!(&request.id, &Id::from(id.as_str()));
        prop_assert_eq!(request.into_text(&Id::from(1)), write::request(&Id::from(1), "tools/call", Some(params)));
    }

    #[test]
    fn header_values_survive(value in any::<String>()) {
        let header = encode(&value);
        prop_assert_eq!(decode(header.as_bytes()), Some(value));
    }
}
