//! Looking at a server as the gateway would reach it: does it answer, in which era, with which tools.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use portcullis_gateway::ServerSpec;
use portcullis_json::{Object, Value};

use crate::agent::last_message;
use crate::{playground, quick_start};

/// For the whole look.
const LOOK_WAIT: Duration = Duration::from_secs(30);
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Pages of the list of tools.
const PAGES_MAX: usize = 100;

/// Asks the server who it is and what it can do. Not to be called from async code.
pub(super) fn look(mut spec: ServerSpec) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
    runtime.block_on(async {
        if spec.url == playground::URL {
            let running = playground::Running::start()?;
            spec.headers = vec![running.header()];
            spec.url = running.url;
        }
        let looked = tokio::time::timeout(LOOK_WAIT, converse(&spec)).await;
        looked
            .map_err(|_| format!("server `{}` does not answer within {} s", spec.name, LOOK_WAIT.as_secs()))?
    })
}

async fn converse(spec: &ServerSpec) -> Result<Value, String> {
    let mut conversation = Conversation::new(spec)?;
    let discovered = conversation.ask("server/discover", "").await;
    if !discovered.is_ok_and(|answer| answer.get("result").is_some()) {
        conversation.open_session().await?;
    }
    let tools = conversation.tools().await?;
    let answer = Object::new()
        .with("name", spec.name.as_str())
        .with("era", conversation.revision.as_str())
        .with("tools", super::tools::described(&spec.name, &spec.classes, &tools));
    Ok(answer.into())
}

/// One client of one server, in one era.
struct Conversation<'a> {
    spec: &'a ServerSpec,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    revision: String,
    session: Option<String>,
}

impl<'a> Conversation<'a> {
    fn new(spec: &'a ServerSpec) -> Result<Conversation<'a>, String> {
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(provider)
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Conversation { spec, client, revision: "2026-07-28".to_owned(), session: None })
    }

    fn is_modern(&self) -> bool {
        self.revision == "2026-07-28"
    }

    async fn open_session(&mut self) -> Result<(), String> {
        self.revision = "2025-11-25".to_owned();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"portcullis","version":"{}"}}}}}}"#,
            env!("CARGO_PKG_VERSION")
        );
        let answer = self.send("initialize", body).await?;
        let negotiated = answer.get("result").and_then(|result| result.get("protocolVersion"));
        let negotiated = negotiated.and_then(Value::as_str).ok_or_else(|| self.strange(&answer))?;
        self.revision = negotiated.to_owned();
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.send("notifications/initialized", body.to_owned()).await.map(|_| ())
    }

    async fn tools(&mut self) -> Result<Vec<Value>, String> {
        let (mut found, mut params) = (Vec::new(), String::new());
        for _ in 0..PAGES_MAX {
            let answer = self.ask("tools/list", &params).await?;
            let result = answer.get("result").ok_or_else(|| self.strange(&answer))?;
            let tools = result.get("tools").and_then(Value::as_array).unwrap_or_default();
            found.extend(tools.iter().cloned());
            match result.get("nextCursor") {
                Some(cursor @ Value::String(_)) => params = format!(r#""cursor":{cursor},"#),
                _ => return Ok(found),
            }
        }
        Err(format!("server `{}` has more than {PAGES_MAX} pages of tools", self.spec.name))
    }

    /// Asks in the era that holds; `params` are members, each with a comma behind it.
    async fn ask(&mut self, method: &str, params: &str) -> Result<Value, String> {
        let params_legacy = params.trim_end_matches(',');
        let body = match self.is_modern() {
            true => quick_start::request(method, params),
            false => {
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params_legacy}}}}}"#)
            }
        };
        self.send(method, body).await
    }

    async fn send(&mut self, method: &str, body: String) -> Result<Value, String> {
        let unreachable =
            |error: &dyn std::fmt::Display| format!("server `{}` cannot be reached: {error}", self.spec.name);
        let mut request = Request::post(&self.spec.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", &self.revision);
        if self.is_modern() {
            request = request.header("mcp-method", method);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in &self.spec.headers {
            request = request.header(name, value.expose());
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| unreachable(&error))?;
        let response = self.client.request(request).await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        let session = response.headers().get("mcp-session-id").and_then(|value| value.to_str().ok());
        let session = session.map(str::to_owned);
        let bytes = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let bytes = bytes.map_err(|error| unreachable(&error))?.to_bytes();
        self.session = session.or(self.session.take());
        match status {
            StatusCode::ACCEPTED => Ok(Value::Null),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(format!(
                "server `{}` refuses the credential ({status}); set it with `--header` or in the file",
                self.spec.name
            )),
            // What the server wrote is not repeated: it may repeat what we sent.
            _ => last_message(&bytes)
                .map_err(|_| format!("server `{}` answers with {status}, which is not MCP", self.spec.name)),
        }
    }

    fn strange(&self, answer: &Value) -> String {
        let code = answer.get("error").and_then(|error| error.get("code")).map(Value::to_string);
        let code = code.map_or_else(String::new, |code| format!(" (error {code})"));
        format!("server `{}` answers, but not as an MCP server does{code}", self.spec.name)
    }
}
