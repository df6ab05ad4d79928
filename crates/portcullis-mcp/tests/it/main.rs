//! Messages, headers, lists and streams, seen from outside.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod confusables;
mod eras;
mod headers;
mod lists;
mod methods;
mod params;
mod properties;
mod reading;
mod sse;
mod writing;

use portcullis_json::{Limits, Object, Value, parse};
use portcullis_mcp::{Era, Incoming, LegacyRevision, Message, Refusal, Refused, Request, Sender};

const LEGACY: Era = Era::Legacy(LegacyRevision::November2025);

fn value(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::message()).expect(text)
}

fn object(text: &str) -> Object {
    match value(text) {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn read(bytes: &[u8], sender: Sender, era: Era) -> Result<Message, Refused> {
    Incoming::read(bytes, sender, &Limits::message())?.place(era)
}

/// A legacy request of a client, which must be readable.
fn request(method: &str, params: &str) -> Request {
    request_in(LEGACY, method, params)
}

fn request_in(era: Era, method: &str, params: &str) -> Request {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    match read(text.as_bytes(), Sender::Client, era) {
        Ok(Message::Request(request)) => request,
        other => panic!("{text}: {other:?}"),
    }
}

fn refusal(bytes: &[u8], sender: Sender, era: Era) -> Option<Refusal> {
    read(bytes, sender, era).err().map(|refused| refused.refusal)
}

/// The `_meta` that every modern request needs.
const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
