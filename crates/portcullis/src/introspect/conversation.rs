//! What is said to a server, in either era, until its tools are known.

use std::time::Duration;

use portcullis_json::{Object, Value};
use portcullis_mcp::meta::key;
use portcullis_mcp::{Era, ErrorObject, Id, code, write};

use super::http::Endpoint;
use super::lines::Lines;
use super::sse::OlderEndpoint;
use super::{Fault, Seen, Spoken, Target};

/// How long the answer may take that tells the era, at most; programs are slow to start.
const PROBE_WAIT: Duration = Duration::from_secs(20);
/// How long saying goodbye may take.
const GOODBYE_WAIT: Duration = Duration::from_secs(2);
/// Pages of the list of tools.
const PAGES_MAX: usize = 1_000;
/// Tools of one server.
const TOOLS_MAX: usize = 10_000;
/// What is asked for in the older era.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// What to say to a request of the server: `ping` alone is answered, the rest is declined. Nothing to a notification.
pub(super) fn answer_to(message: &Value) -> Option<String> {
    let id = message.get("id").and_then(Id::from_value)?;
    Some(match message.get("method").and_then(Value::as_str) {
        Some("ping") => write::result(&id, Object::new()),
        _ => write::error(Some(&id), ErrorObject::new(code::METHOD_NOT_FOUND, "not offered")),
    })
}

enum Channel {
    Lines(Lines),
    Http(Box<Endpoint>),
    Sse(Box<OlderEndpoint>),
}

/// A client of one server.
pub(super) struct Conversation<'a> {
    channel: Channel,
    shown: &'a str,
    progress: &'a mut dyn FnMut(&str),
    revision: String,
    last_id: i64,
    about: (Option<String>, Option<String>),
}

impl<'a> Conversation<'a> {
    pub(super) fn open(
        target: Target,
        shown: &'a str,
        progress: &'a mut dyn FnMut(&str),
    ) -> Result<Conversation<'a>, String> {
        let channel = match target {
            Target::Command(command) => {
                progress(&format!("starting {shown}"));
                Channel::Lines(Lines::start(&command, shown)?)
            }
            Target::Url { url, spoken, headers, reach } => {
                progress(&format!("reaching {shown}"));
                match spoken {
                    Spoken::Http => Channel::Http(Box::new(Endpoint::new(&url, &headers, reach, shown)?)),
                    Spoken::Sse => Channel::Sse(Box::new(OlderEndpoint::new(&url, &headers, reach, shown)?)),
                }
            }
        };
        let revision = MODERN.to_owned();
        Ok(Conversation { channel, shown, progress, revision, last_id: 0, about: (None, None) })
    }

    /// Everything, from the first word to the last page.
    pub(super) async fn listing(&mut self, wait: Duration) -> Result<Seen, String> {
        self.find_era(PROBE_WAIT.min(wait / 3)).await.map_err(Fault::into_text)?;
        let tools = self.tools().await.map_err(Fault::into_text)?;
        let noise = match &self.channel {
            Channel::Lines(lines) => lines.noise(),
            Channel::Http(_) | Channel::Sse(_) => 0,
        };
        let (name, version) = self.about.clone();
        Ok(Seen { name, version, revision: self.revision.clone(), tools, noise })
    }

    /// Ends the session or the process.
    pub(super) async fn close(self) {
        match self.channel {
            Channel::Lines(lines) => lines.end().await,
            Channel::Http(endpoint) => {
                let goodbye = tokio::time::timeout(GOODBYE_WAIT, endpoint.end(&self.revision));
                // The server forgets us sooner or later in any case.
                let _ = goodbye.await;
            }
            // The end of the stream is the end of the session.
            Channel::Sse(_) => {}
        }
    }

    /// A result, or an error that only the modern era has, is modern; anything else, and silence, is legacy.
    async fn find_era(&mut self, patience: Duration) -> Result<(), Fault> {
        if matches!(self.channel, Channel::Sse(_)) {
            return self.open_session(None).await;
        }
        let probe = tokio::time::timeout(patience, self.ask("server/discover", Object::new(), None)).await;
        let probe_id = self.last_id;
        match probe {
            Ok(Ok((_, answer))) => self.era_of(&answer).await,
            Ok(Err(Fault::Odd(_))) => self.open_session(None).await,
            Ok(Err(fault)) => Err(fault),
            Err(_) => self.open_session(Some(probe_id)).await,
        }
    }

    async fn era_of(&mut self, answer: &Value) -> Result<(), Fault> {
        if let Some(result) = answer.get("result") {
            self.remember(server_info(result));
            return Ok(());
        }
        let error = answer.get("error");
        let number = error.and_then(|error| error.get("code")).map(Value::to_string);
        let is = |code: i64| number.as_deref() == Some(code.to_string().as_str());
        if is(code::HEADER_MISMATCH) || is(code::MISSING_CAPABILITY) {
            return Ok(());
        }
        let supported = error.and_then(|error| error.get("data")?.get("supported")?.as_array());
        let legacy = |value: &Value| value.as_str().and_then(Era::parse).is_some_and(|era| !era.is_modern());
        match supported {
            Some(list) if is(code::UNSUPPORTED_REVISION) && !list.iter().any(legacy) => {
                Err(Fault::Final(format!(
                    "{} speaks no revision of the protocol that we know; is there an update?",
                    self.shown
                )))
            }
            _ => self.open_session(None).await,
        }
    }

    /// The older era. A server that was slow to start may answer the first question after all.
    async fn open_session(&mut self, unanswered: Option<i64>) -> Result<(), Fault> {
        self.revision = LEGACY.to_owned();
        let params = Object::new()
            .with("protocolVersion", LEGACY)
            .with("capabilities", Object::new())
            .with("clientInfo", client_info());
        let (id, answer) = self.ask("initialize", params, unanswered).await?;
        let result = answer.get("result");
        if Some(id) == unanswered {
            self.revision = MODERN.to_owned();
            self.remember(result.and_then(server_info));
            return Ok(());
        }
        let negotiated = result.and_then(|result| result.get("protocolVersion")?.as_str());
        let negotiated = negotiated.ok_or_else(|| self.strange(&answer))?.to_owned();
        if negotiated != "2024-11-05" && Era::parse(&negotiated).is_none_or(Era::is_modern) {
            return Err(Fault::Final(format!("{} wants a revision that we do not know", self.shown)));
        }
        self.revision = negotiated;
        self.remember(result.and_then(|result| result.get("serverInfo")));
        self.notify("notifications/initialized").await
    }

    fn remember(&mut self, info: Option<&Value>) {
        let text = |key: &str| Some(info?.get(key)?.as_str()?.to_owned());
        self.about = (text("name"), text("version"));
    }

    async fn tools(&mut self) -> Result<Vec<Value>, Fault> {
        let mut tools: Vec<Value> = Vec::new();
        let mut params = Object::new();
        for page in 1..=PAGES_MAX {
            (self.progress)(&format!("listing tools: page {page}, {} so far", tools.len()));
            let (_, answer) = self.ask("tools/list", params.clone(), None).await?;
            let result = answer.get("result").ok_or_else(|| self.strange(&answer))?;
            let found = result.get("tools").and_then(Value::as_array).ok_or_else(|| self.strange(&answer))?;
            tools.extend_from_slice(found);
            if tools.len() > TOOLS_MAX {
                return Err(Fault::Final(format!("{} has more than {TOOLS_MAX} tools", self.shown)));
            }
            match result.get("nextCursor") {
                Some(cursor @ Value::String(_)) if params.get("cursor") == Some(cursor) => {
                    return Err(Fault::Final(format!("{} gives the same page again and again", self.shown)));
                }
                Some(cursor @ Value::String(_)) => params = Object::new().with("cursor", cursor.clone()),
                _ => return Ok(tools),
            }
        }
        Err(Fault::Final(format!("{} has more than {PAGES_MAX} pages of tools", self.shown)))
    }

    /// Asks, and waits for the answer; one to the question before (`also`) counts if it is a result.
    async fn ask(
        &mut self,
        method: &str,
        mut params: Object,
        also: Option<i64>,
    ) -> Result<(i64, Value), Fault> {
        self.last_id += 1;
        let id = self.last_id;
        let modern = self.revision == MODERN;
        if modern {
            params = params.with("_meta", meta());
        }
        let text = write::request(&Id::from(id), method, Some(params));
        match &mut self.channel {
            Channel::Lines(lines) => lines.ask(&text, id, also).await,
            Channel::Http(endpoint) => {
                let answer = endpoint.ask(text, id, method, &self.revision, modern).await?;
                Ok((id, answer))
            }
            Channel::Sse(endpoint) => Ok((id, endpoint.ask(text, id).await?)),
        }
    }

    async fn notify(&mut self, method: &str) -> Result<(), Fault> {
        let text = write::notification(method, None);
        match &mut self.channel {
            Channel::Lines(lines) => lines.send(&text).await,
            Channel::Http(endpoint) => endpoint.notify(text, &self.revision).await,
            Channel::Sse(endpoint) => endpoint.say(text).await,
        }
    }

    fn strange(&self, answer: &Value) -> Fault {
        let code = answer.get("error").and_then(|error| error.get("code")).map(Value::to_string);
        let code = code.map_or_else(String::new, |code| format!(" (error {code})"));
        Fault::Final(format!("{} answers, but not as an MCP server does{code}", self.shown))
    }
}

fn server_info(result: &Value) -> Option<&Value> {
    result.get("_meta")?.get(key::SERVER_INFO)
}

fn client_info() -> Object {
    Object::new().with("name", "portcullis").with("version", env!("CARGO_PKG_VERSION"))
}

fn meta() -> Object {
    Object::new()
        .with(key::PROTOCOL_VERSION, MODERN)
        .with(key::CLIENT_CAPABILITIES, Object::new())
        .with(key::CLIENT_INFO, client_info())
}
