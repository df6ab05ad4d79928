//! HTTP answers: one JSON message, nothing, or a stream of events.

use std::convert::Infallible;

use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use portcullis_mcp::sse::{Event, write_event};
use portcullis_mcp::{ErrorObject, Id, Refused, code, write};

/// An HTTP answer.
pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Events that may wait for a slow reader.
const EVENTS_WAITING_MAX: usize = 16;

/// The header that names a session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

fn with_body(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = status;
    answer
}

/// A status and nothing else.
pub(crate) fn bare(status: StatusCode) -> Answer {
    with_body(status, String::new())
}

/// A status with one message.
pub(crate) fn json(status: StatusCode, message: String) -> Answer {
    let mut answer = with_body(status, message);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// An error about one request, or about none.
pub(crate) fn error(status: StatusCode, id: Option<&Id>, code: i64, message: &str) -> Answer {
    json(status, write::error(id, ErrorObject::new(code, message)))
}

/// What the reader of messages refused.
pub(crate) fn refused(refused: &Refused) -> Answer {
    let unknown_method = refused.refusal.code() == code::METHOD_NOT_FOUND;
    let status = if unknown_method { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
    json(status, write::refusal(refused))
}

/// A stream, and where to put its events.
pub(crate) fn stream() -> (Answer, Events) {
    let (sender, body) = Channel::new(EVENTS_WAITING_MAX);
    let mut answer = Response::new(body.boxed());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (answer, Events(sender))
}

/// Where the events of one stream go.
pub(crate) struct Events(Sender<Bytes, Infallible>);

/// The client has gone.
pub(crate) struct Gone;

impl Events {
    pub(crate) async fn send(&mut self, message: String) -> Result<(), Gone> {
        let event = write_event(&Event::message(message)).map_err(|_| Gone)?;
        self.0.send_data(Bytes::from(event)).await.map_err(|_| Gone)
    }
}
