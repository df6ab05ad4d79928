//! A client that says exactly what a test wants it to say.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use portcullis_json::{Limits, Value, parse};
use portcullis_mcp::sse::{Event, Reader, SseLimits};

pub(crate) struct Client {
    http: HyperClient<HttpConnector, Full<Bytes>>,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        read(&self.text)
    }

    /// The value at a path of keys and numbers, as compact JSON; `-` when there is none.
    pub(crate) fn at(&self, path: &str) -> String {
        at(&self.json(), path)
    }
}

pub(crate) fn read(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::message()).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

pub(crate) fn at(value: &Value, path: &str) -> String {
    let found = path.split('|').try_fold(value, |value, key| match value {
        Value::Array(elements) => elements.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    });
    match found {
        None => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

pub(crate) const MODERN_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

impl Client {
    pub(crate) fn new(url: String, token: &str) -> Client {
        let http = HyperClient::builder(TokioExecutor::new()).build(HttpConnector::new());
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Client { http, url, headers }
    }

    /// The same client with this header set; an empty value takes it away.
    pub(crate) fn with(&self, name: &str, value: &str) -> Client {
        let mut headers: Vec<_> = self.headers.iter().filter(|(known, _)| known != name).cloned().collect();
        if !value.is_empty() {
            headers.push((name.to_owned(), value.to_owned()));
        }
        Client { http: self.http.clone(), url: self.url.clone(), headers }
    }

    pub(crate) async fn send(&self, method: Method, body: &str) -> http::Response<Incoming> {
        let mut request = Request::builder().method(method).uri(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        self.http.request(request).await.unwrap()
    }

    pub(crate) async fn request(&self, method: Method, body: &str) -> Answer {
        let (head, body) = self.send(method, body).await.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, text }
    }

    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.request(Method::POST, body).await
    }

    /// A modern client for this method and name.
    pub(crate) fn modern(&self, method: &str, name: &str) -> Client {
        self.with("mcp-protocol-version", "2026-07-28").with("mcp-method", method).with("mcp-name", name)
    }

    /// A modern `tools/call` with the id 7.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Answer {
        self.modern("tools/call", tool).post(&call_body(tool, arguments)).await
    }

    /// Any other modern request with the id 7; `params` without braces.
    pub(crate) async fn ask(&self, method: &str, name: &str, params: &str) -> Answer {
        self.modern(method, name).post(&body(method, params)).await
    }

    pub(crate) async fn stream(&self, method: Method, body: &str) -> Stream {
        let response = self.send(method, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { body: response.into_body(), reader: Reader::new(SseLimits::default()), ready: Vec::new() }
    }

    /// A legacy client with an open session.
    pub(crate) async fn initialize(&self) -> Client {
        let opened = self.post(INITIALIZE).await;
        assert_eq!(opened.status, StatusCode::OK, "{}", opened.text);
        let session = opened.headers["mcp-session-id"].to_str().unwrap();
        let client = self.with("mcp-session-id", session).with("mcp-protocol-version", "2025-11-25");
        let noted = client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!(noted.status, StatusCode::ACCEPTED, "{}", noted.text);
        client
    }
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"tasks":{}},"clientInfo":{"name":"tester","version":"1"}}}"#;

pub(crate) fn call_body(tool: &str, arguments: &str) -> String {
    body("tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#))
}

pub(crate) fn body(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}{comma}{MODERN_META}}}}}"#)
}

pub(crate) struct Stream {
    body: Incoming,
    reader: Reader,
    ready: Vec<Event>,
}

impl Stream {
    /// The next message; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.event().await.map(|event| read(&event.data))
    }

    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if !self.ready.is_empty() {
                let event = self.ready.remove(0);
                if event.data.is_empty() {
                    continue;
                }
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            self.reader.push(&frame.into_data().unwrap(), &mut self.ready).unwrap();
        }
    }
}
