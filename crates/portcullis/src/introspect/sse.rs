//! Messages over the older HTTP with server-sent events: what a server says comes on one stream, which also
//! names the address to speak to.

use std::collections::VecDeque;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use portcullis_gateway::{Reach, sse_address};
use portcullis_json::Value;
use portcullis_mcp::sse::{Event, Reader, SseLimits};
use portcullis_state::Secret;

use super::conversation::answer_to;
use super::http::{self, HttpClient};
use super::{Fault, MESSAGE_BYTES_MAX, MESSAGES_MAX};

/// Bytes of one stream, over all messages.
const STREAM_BYTES_MAX: usize = 4 * MESSAGE_BYTES_MAX;

/// A server that is talked to.
pub(super) struct OlderEndpoint {
    client: HttpClient,
    url: Uri,
    headers: HeaderMap,
    shown: String,
    stream: Option<Stream>,
}

/// The stream of a server, and where to speak.
struct Stream {
    body: Limited<Incoming>,
    reader: Reader,
    events: VecDeque<Event>,
    speak_at: Uri,
}

impl OlderEndpoint {
    pub(super) fn new(
        url: &str,
        headers: &[(String, Secret)],
        reach: Reach,
        shown: &str,
    ) -> Result<OlderEndpoint, String> {
        let (client, url, headers) = (http::client(reach)?, http::address(url)?, http::header_map(headers)?);
        Ok(OlderEndpoint { client, url, headers, shown: shown.to_owned(), stream: None })
    }

    /// Asks, and waits for the answer; the stream is opened first.
    pub(super) async fn ask(&mut self, text: String, id: i64) -> Result<Value, Fault> {
        if self.stream.is_none() {
            self.stream = Some(self.open().await?);
        }
        self.say(text).await?;
        for _ in 0..MESSAGES_MAX {
            let message = self.message().await?;
            if message.get("method").is_some() {
                self.answer(&message).await?;
            } else if message.get("id") == Some(&Value::from(id)) {
                return Ok(message);
            }
        }
        Err(Fault::Final(format!("{} says much and answers nothing", self.shown)))
    }

    pub(super) async fn say(&mut self, text: String) -> Result<(), Fault> {
        let Some(stream) = &self.stream else {
            return Err(self.ended());
        };
        let mut request = Request::new(Full::new(Bytes::from(text)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = stream.speak_at.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.send(request).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(Fault::Final(format!("{} does not take a message ({status})", self.shown))),
        }
    }

    async fn open(&self) -> Result<Stream, Fault> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = self.send(request).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !response.status().is_success() || !is_stream {
            let (shown, status) = (&self.shown, response.status());
            return Err(Fault::Final(format!("{shown} opens no stream of events ({status})")));
        }
        let limits = SseLimits { line_bytes_max: MESSAGE_BYTES_MAX + 16, event_bytes_max: MESSAGE_BYTES_MAX };
        let body = Limited::new(response.into_body(), STREAM_BYTES_MAX);
        let (reader, events) = (Reader::new(limits), VecDeque::new());
        let mut stream = Stream { body, reader, events, speak_at: self.url.clone() };
        loop {
            let event = self.event(&mut stream).await?;
            if event.name.as_deref() == Some("endpoint") {
                // A server must not lead what we say, and our credential, elsewhere.
                let named = sse_address(&self.url, event.data.trim());
                stream.speak_at = named.ok_or_else(|| {
                    Fault::Final(format!("{} names an address of another origin to speak to", self.shown))
                })?;
                return Ok(stream);
            }
        }
    }

    async fn message(&mut self) -> Result<Value, Fault> {
        let Some(mut stream) = self.stream.take() else {
            return Err(self.ended());
        };
        let event = loop {
            let event = self.event(&mut stream).await?;
            if event.is_message() {
                break event;
            }
        };
        self.stream = Some(stream);
        http::message(event.data.as_bytes())
            .ok_or_else(|| Fault::Final(format!("{} sent a message that cannot be read", self.shown)))
    }

    async fn event(&self, stream: &mut Stream) -> Result<Event, Fault> {
        loop {
            if let Some(event) = stream.events.pop_front() {
                return Ok(event);
            }
            let frame = stream.body.frame().await.ok_or_else(|| self.ended())?;
            let frame = frame.map_err(|_| self.ended())?;
            let mut events = Vec::new();
            let chunk = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
            stream.reader.push(chunk, &mut events).map_err(|_| self.ended())?;
            stream.events.extend(events);
        }
    }

    async fn answer(&mut self, message: &Value) -> Result<(), Fault> {
        match answer_to(message) {
            Some(text) => self.say(text).await,
            None => Ok(()),
        }
    }

    async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        request.headers_mut().extend(self.headers.clone());
        let response = self.client.request(request).await.map_err(|error| {
            Fault::Final(format!("{} cannot be reached: {}", self.shown, http::cause(&error)))
        })?;
        http::check_status(response, &self.shown)
    }

    fn ended(&self) -> Fault {
        Fault::Final(format!("{} ended the stream of events", self.shown))
    }
}
