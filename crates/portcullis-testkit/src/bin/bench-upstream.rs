//! An MCP server over HTTP, as fast as a plain one can be: what `cargo xtask bench gateway` puts behind nginx and
//! behind the gateway. Both eras, any number of tools (`/tools/COUNT`), answers as JSON or as events.
//!
//! It prints its address and runs until it is killed.

use std::convert::Infallible;
use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How long the tool `slow` takes.
const SLOW: Duration = Duration::from_millis(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout().lock(), "{}", listener.local_addr()?)?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(answer)));
    }
}

type Answer = Response<Full<Bytes>>;

async fn answer(request: Request<Incoming>) -> Result<Answer, Infallible> {
    if request.method() != Method::POST {
        // No stream of its own, and nothing to end.
        return Ok(reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new()));
    }
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let message = body.ok().and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let Some(message) = message else {
        return Ok(reply(StatusCode::BAD_REQUEST, "text/plain", String::new()));
    };
    let Some(id) = message.get("id") else {
        return Ok(reply(StatusCode::ACCEPTED, "text/plain", String::new()));
    };
    let method = text(&message, "/method");
    let tool = text(&message, "/params/name");
    if tool == "slow" {
        tokio::time::sleep(SLOW).await;
    }
    let result = result(method, &path, &message);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    Ok(match tool {
        "read_events" => {
            reply(StatusCode::OK, "text/event-stream", format!("event: message\ndata: {answer}\n\n"))
        }
        _ => reply(StatusCode::OK, "application/json", answer),
    })
}

fn reply(status: StatusCode, media: &'static str, body: String) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", http::HeaderValue::from_static(media));
    response
}

fn text<'a>(message: &'a Value, pointer: &str) -> &'a str {
    message.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn result(method: &str, path: &str, message: &Value) -> Value {
    let info = json!({"name": "bench-upstream", "version": "1"});
    match method {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info,
            "resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"
        }),
        "initialize" => json!({
            "protocolVersion": text(message, "/params/protocolVersion"),
            "capabilities": {"tools": {}}, "serverInfo": info
        }),
        "tools/list" => json!({"tools": tools(path), "resultType": "complete"}),
        _ => json!({
            "content": [{"type": "text", "text": "The note says what was asked for."}], "resultType": "complete"
        }),
    }
}

/// The tools that are called, or as many as the path says.
fn tools(path: &str) -> Vec<Value> {
    let counted = path.strip_prefix("/tools/").and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
    match counted {
        Some(count) => (0..count).map(|number| tool(&format!("read_entry_{number}"), true)).collect(),
        None => [("read_note", true), ("read_events", true), ("slow", true), ("write_note", false)]
            .map(|(name, read_only)| tool(name, read_only))
            .to_vec(),
    }
}

fn tool(name: &str, read_only: bool) -> Value {
    let does = if read_only { "Reads a note" } else { "Writes a note" };
    json!({
        "name": name,
        "description": format!("{does} and says what is in it, with the time at which it was last changed."),
        "inputSchema": {"type": "object", "properties": {
            "title": {"type": "string", "description": "Which note."},
            "count": {"type": "integer", "description": "How many lines of it."},
            "text": {"type": "string", "description": "More of it."}
        }, "required": ["title"]},
        "annotations": {"readOnlyHint": read_only}
    })
}
