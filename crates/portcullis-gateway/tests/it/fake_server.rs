//! An MCP server over real sockets that plays what a test tells it to, and notes what it received.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use portcullis_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::client::{at, read};

/// One request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) verb: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn at(&self, path: &str) -> String {
        if self.body.is_empty() { "-".to_owned() } else { at(&read(&self.body), path) }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("-", |value| value.to_str().unwrap())
    }

    fn id(&self) -> Value {
        read(&self.body).get("id").cloned().unwrap_or(Value::Null)
    }
}

/// What to answer.
pub(crate) enum Play {
    /// A result, as JSON text.
    Result(String),
    /// An error object, as JSON text.
    Error(String),
    /// Status, content type, body.
    Raw(u16, &'static str, String),
    /// Status, headers, body: whatever a server can be made to say.
    Custom(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Where to go instead.
    Redirect(String),
    /// A stream; the test writes to it.
    Stream(mpsc::UnboundedReceiver<String>),
    /// Nothing, ever.
    Silence,
}

pub(crate) type Script = Arc<dyn Fn(&Received) -> Option<Play> + Send + Sync>;

pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    pub(crate) received: Arc<Mutex<Vec<Received>>>,
    accepting: tokio::task::JoinHandle<()>,
}

pub(crate) const TOOLS: &str = r#"{"tools":[
  {"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
  {"name":"write","inputSchema":{"type":"object"}},
  {"name":"secret","inputSchema":{"type":"object"}},
  {"name":"region","inputSchema":{"type":"object","properties":{"where":{"type":"string","x-mcp-header":"Where"}}}}],
  "nextCursor":"two","resultType":"complete","ttlMs":600000,"cacheScope":"public"}"#;
pub(crate) const MORE_TOOLS: &str = r#"{"tools":[{"name":"late","inputSchema":{"type":"object"},"odd":{"kept":[1,2.50]}}],"resultType":"complete"}"#;

impl FakeServer {
    /// `script` may answer first; the rest is answered like an ordinary server of the era.
    pub(crate) async fn start(modern: bool, script: Script) -> FakeServer {
        FakeServer::start_with(modern, script, true).await
    }

    pub(crate) async fn start_with(modern: bool, script: Script, keep_alive: bool) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let notes = received.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (notes, script) = (notes.clone(), script.clone());
                let service =
                    service_fn(move |request| answer(request, modern, notes.clone(), script.clone()));
                // Without keep-alive the gateway must connect for each request: `stop` is then noticed.
                let mut builder = http1::Builder::new();
                builder.keep_alive(keep_alive);
                tokio::spawn(builder.serve_connection(TokioIo::new(socket), service));
            }
        });
        FakeServer { address, received, accepting }
    }

    /// What came with this method, oldest first.
    pub(crate) fn got(&self, method: &str) -> Vec<Received> {
        let all = self.received.lock().unwrap();
        all.iter().filter(|received| received.at("method") == method).cloned().collect()
    }

    /// From now on connections are refused.
    pub(crate) async fn stop(&mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }

    pub(crate) fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

async fn answer(
    request: Request<Incoming>,
    modern: bool,
    notes: Arc<Mutex<Vec<Received>>>,
    script: Script,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let received = Received { verb: head.method, headers: head.headers, body };
    notes.lock().unwrap().push(received.clone());
    let play = script(&received).unwrap_or_else(|| ordinary(&received, modern));
    // What is written out in full has no session of its own.
    let session = received.at("method") == "initialize" && !matches!(play, Play::Raw(..));
    let mut response = perform(&received, play).await;
    if session {
        // Every fake server hands out the same id: they must not get each other's calls.
        response.headers_mut().insert("mcp-session-id", "the-one-session".parse().unwrap());
    }
    Ok(response)
}

async fn perform(received: &Received, play: Play) -> Response<BoxBody<Bytes, Infallible>> {
    let envelope =
        |key: &str, value: &str| format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":{value}}}"#, received.id());
    let (status, media, text) = match play {
        Play::Result(result) => (200, "application/json", envelope("result", &result)),
        Play::Error(error) => (200, "application/json", envelope("error", &error)),
        Play::Raw(status, media, text) => (status, media, text),
        Play::Custom(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            return response.body(Full::new(Bytes::from(body)).boxed()).unwrap();
        }
        Play::Redirect(location) => {
            let body = Full::new(Bytes::new()).boxed();
            return Response::builder().status(307).header("location", location).body(body).unwrap();
        }
        Play::Silence => std::future::pending().await,
        Play::Stream(events) => {
            let frames = futures_util::stream::unfold(events, |mut events| async {
                let text = events.recv().await?;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(text))), events))
            });
            let body = StreamBody::new(frames).boxed();
            return Response::builder().header("content-type", "text/event-stream").body(body).unwrap();
        }
    };
    let body = Full::new(Bytes::from(text)).boxed();
    Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header("content-type", media)
        .body(body)
        .unwrap()
}

fn ordinary(received: &Received, modern: bool) -> Play {
    let result = |text: &str| Play::Result(text.to_owned());
    if received.verb != Method::POST {
        return Play::Raw(405, "text/plain", String::new());
    }
    match received.at("method").as_str() {
        "server/discover" if modern => result(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28","1999-01-01"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":5,"cacheScope":"public"}"#,
        ),
        "server/discover" => {
            let error =
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}"#;
            Play::Raw(400, "application/json", error.to_owned())
        }
        "initialize" if modern => Play::Error(r#"{"code":-32022,"message":"unsupported"}"#.to_owned()),
        "initialize" => result(
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"fake","version":"1"}}"#,
        ),
        "tools/list" if received.at("params|cursor") == "two" => result(MORE_TOOLS),
        "tools/list" => result(TOOLS),
        "tools/call" => {
            let text = format!("called {} {}", received.at("params|name"), received.at("params|arguments"));
            let text = Value::from(text.as_str()).to_string();
            Play::Result(format!(
                r#"{{"resultType":"complete","content":[{{"type":"text","text":{text}}}],"isError":false,"extra":1.50}}"#
            ))
        }
        "resources/list" => result(
            r#"{"resultType":"complete","resources":[{"uri":"doc://open/a","name":"a"},{"uri":"doc://shut/b","name":"b"}]}"#,
        ),
        "resources/templates/list" => result(
            r#"{"resultType":"complete","resourceTemplates":[{"uriTemplate":"doc://open/{x}","name":"a"},{"uriTemplate":"doc://shut/{x}","name":"b"}]}"#,
        ),
        "prompts/list" => result(r#"{"resultType":"complete","prompts":[{"name":"greet"},{"name":"obey"}]}"#),
        _ if received.at("id") == "-" || received.at("method") == "-" => {
            Play::Raw(202, "text/plain", String::new())
        }
        _ => result(r#"{"resultType":"complete","done":true}"#),
    }
}

/// One event with one message.
pub(crate) fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}
