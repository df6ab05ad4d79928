//! A small agent: says what a client of the modern era says, over plain HTTP, and reads the answer.
//!
//! For `demo`. It knows nothing of policies; what it learns, it learns from answers.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use portcullis_json::{Limits, Object, Value, parse};
use portcullis_mcp::sse::{Reader, SseLimits};
use tokio::net::TcpStream;

use crate::quick_start;

/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Somebody with a token.
pub(crate) struct Agent {
    pub(crate) gateway: SocketAddr,
    pub(crate) path: String,
    pub(crate) token: String,
}

impl Agent {
    /// The names of the tools that it is shown.
    pub(crate) async fn list(&self) -> Result<Vec<String>, String> {
        let body = quick_start::request("tools/list", "");
        let answer = self.send("tools/list", None, body).await?;
        let tools = answer.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array);
        let tools = tools.ok_or_else(|| format!("no list of tools came back: {answer}"))?;
        Ok(tools.iter().filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned)).collect())
    }

    /// What a call gives: the text for the model, and what the gateway says of its decision.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Result<Said, String> {
        let answer = self.send("tools/call", Some(tool), quick_start::call(tool, arguments)).await?;
        Said::read(&answer).ok_or_else(|| format!("not an answer to a call: {answer}"))
    }

    async fn send(&self, method: &str, name: Option<&str>, body: String) -> Result<Value, String> {
        let text = |error: &dyn std::fmt::Display| format!("the gateway cannot be reached: {error}");
        let stream = TcpStream::connect(self.gateway).await.map_err(|error| text(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| text(&error))?;
        tokio::spawn(connection);
        let mut request = Request::post(&self.path)
            .header("host", self.gateway.to_string())
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| text(&error))?;
        let response = sender.send_request(request).await.map_err(|error| text(&error))?;
        let bytes = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        last_message(&bytes.map_err(|error| text(&error))?.to_bytes())
    }
}

/// The one message, or the last one of a stream.
fn last_message(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = parse(bytes, &Limits::message()) {
        return Ok(value);
    }
    let mut events = Vec::new();
    let read = Reader::new(SseLimits::default()).push(bytes, &mut events);
    let last = events.iter().rev().find(|event| event.is_message());
    match (read, last) {
        (Ok(()), Some(event)) => {
            parse(event.data.as_bytes(), &Limits::message()).map_err(|fault| fault.to_string())
        }
        _ => Err(format!("not an answer: `{}`", String::from_utf8_lossy(bytes).trim())),
    }
}

/// What came back from a call.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) went_well: bool,
    /// What the gateway decided, where it says so.
    pub(crate) decision: Option<Object>,
}

impl Said {
    fn read(answer: &Value) -> Option<Said> {
        if let Some(error) = answer.get("error") {
            let text = error.get("message")?.as_str()?.to_owned();
            return Some(Said { text, went_well: false, decision: None });
        }
        let result = answer.get("result")?;
        let text = result.get("content")?.as_array()?.first()?.get("text")?.as_str()?.to_owned();
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        let decision = result.get("_meta").and_then(|meta| meta.get("portcullis/decision"));
        Some(Said { text, went_well: !is_error, decision: decision.and_then(Value::as_object).cloned() })
    }

    /// The rule that decided, if it was one.
    pub(crate) fn rule(&self) -> Option<&str> {
        self.decision.as_ref()?.get("rule")?.as_str()
    }
}
