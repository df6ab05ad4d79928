//! Messages over streamable HTTP. Redirects are not followed: a credential goes only where it was meant to go.

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use portcullis_gateway::{Reach, Resolver};
use portcullis_json::{Limits, Value, parse};
use portcullis_mcp::sse::{Reader, SseLimits};
use portcullis_state::Secret;

use super::{Fault, MESSAGE_BYTES_MAX, MESSAGE_DEPTH_MAX, MESSAGES_MAX};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// A client that speaks HTTP and HTTPS.
pub(crate) type HttpClient = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

/// An address that is talked to.
pub(super) struct Endpoint {
    client: HttpClient,
    url: Uri,
    headers: HeaderMap,
    session: Option<HeaderValue>,
    shown: String,
}

/// A client for both schemes, with the roots that browsers trust.
pub(crate) fn client(reach: Reach) -> Result<HttpClient, String> {
    let mut http = HttpConnector::new_with_resolver(Resolver(reach));
    http.enforce_http(false);
    let provider = rustls::crypto::ring::default_provider();
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(provider)
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

/// An absolute address, and nothing else.
pub(crate) fn address(url: &str) -> Result<Uri, String> {
    let wrong = || "the address is no absolute http or https address".to_owned();
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    if known && uri.host().is_some_and(|host| !host.is_empty()) { Ok(uri) } else { Err(wrong()) }
}

/// The innermost cause, which says most.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    last.to_string()
}

impl Endpoint {
    pub(super) fn new(
        url: &str,
        headers: &[(String, Secret)],
        reach: Reach,
        shown: &str,
    ) -> Result<Endpoint, String> {
        let mut sent = HeaderMap::new();
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        sent.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        sent.extend(header_map(headers)?);
        let (client, url) = (client(reach)?, address(url)?);
        Ok(Endpoint { client, url, headers: sent, session: None, shown: shown.to_owned() })
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(
        &mut self,
        text: String,
        id: i64,
        method: &str,
        revision: &str,
        modern: bool,
    ) -> Result<Value, Fault> {
        let mut extra = HeaderMap::new();
        // The first request of a session has no version header yet.
        if method != "initialize" {
            insert(&mut extra, VERSION, revision);
        }
        if modern {
            insert(&mut extra, "mcp-method", method);
        }
        let response = self.send(Method::POST, text, extra).await?;
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION) {
            self.session = Some(session.clone());
        }
        let events = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let answer = match events.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            true => self.streamed_answer(response.into_body(), id).await,
            false => self.whole_answer(response.into_body()).await,
        };
        // What the server wrote is not repeated: it may repeat what we sent.
        answer.map_err(|fault| match fault {
            // Servers of the older transport take no message where their stream is.
            Fault::Odd(_) if status.is_client_error() => Fault::Odd(format!(
                "{} answers with {status}, which is not MCP; if it speaks HTTP with SSE, say `--transport sse`",
                self.shown
            )),
            Fault::Odd(_) => Fault::Odd(format!("{} answers with {status}, which is not MCP", self.shown)),
            other => other,
        })
    }

    pub(super) async fn notify(&mut self, text: String, revision: &str) -> Result<(), Fault> {
        let mut extra = HeaderMap::new();
        insert(&mut extra, VERSION, revision);
        self.send(Method::POST, text, extra).await.map(|_| ())
    }

    /// Ends the session, if there is one.
    pub(super) async fn end(self, revision: &str) {
        if self.session.is_some() {
            let mut extra = HeaderMap::new();
            insert(&mut extra, VERSION, revision);
            // A server may decline; then it forgets us in its own time.
            let _ = self.send(Method::DELETE, String::new(), extra).await;
        }
    }

    async fn send(
        &self,
        method: Method,
        text: String,
        extra: HeaderMap,
    ) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::new(Full::new(Bytes::from(text)));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        headers.extend(extra);
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        let response = self.client.request(request).await.map_err(|error| self.unreachable(&error))?;
        check_status(response, &self.shown)
    }

    async fn whole_answer(&self, body: Incoming) -> Result<Value, Fault> {
        match Limited::new(body, MESSAGE_BYTES_MAX).collect().await {
            Ok(bytes) => message(&bytes.to_bytes()).ok_or_else(|| Fault::Odd(String::new())),
            Err(error) => Err(self.unreachable(error.as_ref())),
        }
    }

    /// The answer may stand among other messages, and the stream may stay open behind it.
    async fn streamed_answer(&self, body: Incoming, id: i64) -> Result<Value, Fault> {
        let limits = SseLimits { line_bytes_max: MESSAGE_BYTES_MAX + 16, event_bytes_max: MESSAGE_BYTES_MAX };
        let (mut reader, mut body) = (Reader::new(limits), Limited::new(body, 2 * MESSAGE_BYTES_MAX));
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| self.unreachable(error.as_ref()))?;
            let mut events = Vec::new();
            let chunk = frame.data_ref().map(Bytes::as_ref).unwrap_or_default();
            reader.push(chunk, &mut events).map_err(|_| Fault::Odd(String::new()))?;
            read += events.len();
            for event in events.iter().filter(|event| event.is_message()) {
                let found = message(event.data.as_bytes()).ok_or_else(|| Fault::Odd(String::new()))?;
                if found.get("method").is_none() && found.get("id") == Some(&Value::from(id)) {
                    return Ok(found);
                }
            }
            if read > MESSAGES_MAX {
                break;
            }
        }
        Err(Fault::Odd(String::new()))
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> Fault {
        Fault::Final(format!("{} cannot be reached: {}", self.shown, cause(error)))
    }
}

/// What is sent along; no value of it is ever printed.
pub(super) fn header_map(headers: &[(String, Secret)]) -> Result<HeaderMap, String> {
    let mut sent = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || format!("the header `{name}` cannot be sent: its name or value is not allowed");
        let header: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        sent.insert(header, value);
    }
    Ok(sent)
}

/// An answer of somebody who takes our credential and is where we think.
pub(super) fn check_status(response: Response<Incoming>, shown: &str) -> Result<Response<Incoming>, Fault> {
    let status = response.status();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Fault::Final(format!(
            "{shown} refuses the credential ({status}); set it with `--header` or in the file"
        ))),
        _ if status.is_redirection() => Err(Fault::Final(format!(
            "{shown} sends us elsewhere ({status}); give the address where it really is"
        ))),
        _ => Ok(response),
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

pub(super) fn message(bytes: &[u8]) -> Option<Value> {
    let limits = Limits { bytes_max: MESSAGE_BYTES_MAX, depth_max: MESSAGE_DEPTH_MAX };
    parse(bytes, &limits).ok().filter(|value| value.as_object().is_some())
}
