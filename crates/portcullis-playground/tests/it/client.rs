//! A playground on a free port, and a client that says exactly what a test wants it to say.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use portcullis_json::{Limits, Value, parse};
use portcullis_mcp::sse::{Event, Reader, SseLimits};
use portcullis_playground::{KEY_HEADER, Playground, serve};
use tokio::net::{TcpListener, TcpStream};

const KEY: &str = "a-key-for-tests";

pub(crate) struct Client {
    address: std::net::SocketAddr,
}

/// What came back, read to its end.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) session: Option<String>,
    /// One for JSON, one per event for a stream.
    pub(crate) messages: Vec<Value>,
    pub(crate) streamed: bool,
}

impl Reply {
    pub(crate) fn last(&self) -> &Value {
        self.messages.last().expect("a message")
    }

    pub(crate) fn result(&self) -> &Value {
        self.last().get("result").unwrap_or_else(|| panic!("a result in {}", self.last()))
    }

    pub(crate) fn error_code(&self) -> i64 {
        let error = self.last().get("error").unwrap_or_else(|| panic!("an error in {}", self.last()));
        error.get("code").and_then(Value::as_number).and_then(|code| code.as_i64()).expect("a code")
    }

    pub(crate) fn tool_text(&self) -> (&str, bool) {
        let content = self.result().get("content").and_then(Value::as_array).expect("content");
        let text = content[0].get("text").and_then(Value::as_str).expect("text");
        (text, self.result().get("isError").and_then(Value::as_bool).expect("isError"))
    }
}

impl Client {
    pub(crate) async fn start() -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let playground = Arc::new(Playground::new(KEY.to_owned()));
        tokio::spawn(serve(listener, playground, std::future::pending()));
        Client { address }
    }

    /// Sends a request with the key; headers given here come on top or replace.
    pub(crate) async fn open(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.expect("a connection");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        let mut request = Request::builder().method(verb).uri("/mcp");
        for (name, value) in [("host", "127.0.0.1"), (KEY_HEADER, KEY), ("content-type", "application/json")]
        {
            if !headers.iter().any(|(given, _)| *given == name) {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
        sender.send_request(request).await.expect("a response")
    }

    pub(crate) async fn send(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let response = self.open(verb, headers, body).await;
        let status = response.status();
        let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
        let session = header("mcp-session-id");
        let streamed = header(CONTENT_TYPE.as_str()).as_deref() == Some("text/event-stream");
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        let messages = match streamed {
            true => events(&bytes).iter().map(|event| read(event.data.as_bytes())).collect(),
            false if bytes.is_empty() => Vec::new(),
            false => vec![read(&bytes)],
        };
        Reply { status, session, messages, streamed }
    }

    /// A POST of the modern era with the headers it must have.
    pub(crate) async fn modern(&self, method: &str, name: Option<&str>, params: &str) -> Reply {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info","progressToken":"p"}"#;
        let comma = if params.is_empty() { "" } else { "," };
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}{meta}}}}}"#);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.send("POST", &headers, &body).await
    }
}

pub(crate) fn events(bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    Reader::new(SseLimits::default()).push(bytes, &mut events).expect("events");
    events
}

fn read(bytes: &[u8]) -> Value {
    parse(bytes, &Limits::message()).expect("JSON")
}
