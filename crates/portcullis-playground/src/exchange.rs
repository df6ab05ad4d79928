//! One exchange: an HTTP request in, its era found, its message answered.

use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming as Body;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method as Verb, Request as HttpRequest, StatusCode};
use portcullis_json::Limits;
use portcullis_mcp::headers::{self, ParamPolicy};
use portcullis_mcp::params::NotificationParams;
use portcullis_mcp::{
    Claim, Era, Incoming, LegacyRevision, Message, Notification, Refusal, Refused, Sender, code,
};

use crate::answer::{self, Answer, SESSION};
use crate::respond::{initialize, respond};
use crate::session::Session;
use crate::{KEY_HEADER, Playground};

const LIMITS: Limits = Limits { bytes_max: 1 << 20, depth_max: 64 };

/// Who a message comes from.
pub(crate) enum Caller {
    Legacy(LegacyRevision, Arc<Session>),
    Modern,
}

impl Caller {
    pub(crate) fn era(&self) -> Era {
        match self {
            Caller::Legacy(revision, _) => Era::Legacy(*revision),
            Caller::Modern => Era::Modern,
        }
    }
}

/// Answers one HTTP request.
pub(crate) async fn answer(playground: Arc<Playground>, request: HttpRequest<Body>) -> Answer {
    let (head, body) = request.into_parts();
    if !is_for_us(&head.headers, &playground.key) {
        return answer::bare(StatusCode::FORBIDDEN);
    }
    if head.uri.path() != "/mcp" {
        return answer::bare(StatusCode::NOT_FOUND);
    }
    match head.method {
        Verb::POST => match Limited::new(body, LIMITS.bytes_max).collect().await {
            Ok(body) => post(&playground, &head.headers, &body.to_bytes()),
            Err(_) => answer::bare(StatusCode::PAYLOAD_TOO_LARGE),
        },
        Verb::DELETE => match text(&head.headers, SESSION.as_str()) {
            Some(id) if playground.sessions.close(id) => answer::bare(StatusCode::OK),
            _ => answer::bare(StatusCode::NOT_FOUND),
        },
        // There is nothing that this server would say unasked.
        _ => answer::bare(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// The right key, no web page, and a loopback name: a name that was pointed here by somebody else is refused.
fn is_for_us(headers: &HeaderMap, key: &str) -> bool {
    let host = text(headers, HOST.as_str()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = matches!(name, "127.0.0.1" | "localhost" | "[::1]");
    local && !headers.contains_key(ORIGIN) && text(headers, KEY_HEADER) == Some(key)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn post(playground: &Arc<Playground>, headers: &HeaderMap, body: &[u8]) -> Answer {
    match read(playground, headers, body) {
        Ok(answer) => answer,
        Err(refused) => answer::refused(&refused),
    }
}

fn read(playground: &Arc<Playground>, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Refused> {
    let incoming = Incoming::read(body, Sender::Client, &LIMITS)?;
    let caller = match incoming.claim()? {
        Claim::Initialize => return initialize(playground, incoming),
        Claim::Modern => Caller::Modern,
        Claim::Unsaid => match session(playground, headers) {
            Ok(caller) => caller,
            Err(answer) => return Ok(*answer),
        },
    };
    let message = incoming.place(caller.era())?;
    if caller.era().is_modern() {
        compare_headers(headers, &message)?;
    }
    Ok(match message {
        Message::Request(request) => respond(playground, &caller, request),
        Message::Notification(notification) => take_note(&caller, &notification),
        Message::Response(_) => answer::bare(StatusCode::ACCEPTED),
    })
}

fn session(playground: &Playground, headers: &HeaderMap) -> Result<Caller, Box<Answer>> {
    let Some(id) = text(headers, SESSION.as_str()) else {
        let message = "send `initialize` first, or name your session in `Mcp-Session-Id`";
        return Err(Box::new(answer::error(StatusCode::BAD_REQUEST, None, code::INVALID_REQUEST, message)));
    };
    let session = playground.sessions.find(id).ok_or_else(|| {
        let message = "there is no such session; send `initialize` again";
        Box::new(answer::error(StatusCode::NOT_FOUND, None, code::INVALID_REQUEST, message))
    })?;
    let revision = session.revision;
    let named = text(headers, headers::PROTOCOL_VERSION);
    if named.is_some_and(|named| named != revision.as_str()) {
        let message = "`MCP-Protocol-Version` is not the revision of this session";
        return Err(Box::new(answer::error(StatusCode::BAD_REQUEST, None, code::INVALID_REQUEST, message)));
    }
    Ok(Caller::Legacy(revision, session))
}

fn compare_headers(headers: &HeaderMap, message: &Message) -> Result<(), Refused> {
    let pairs: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let id = match message {
        Message::Request(request) => Some(request.id.clone()),
        Message::Notification(_) | Message::Response(_) => None,
    };
    headers::compare(&pairs, message, ParamPolicy::NotCompared)
        .map_err(|mismatch| Refused { refusal: Refusal::Headers(mismatch), id })
}

fn take_note(caller: &Caller, notification: &Notification) -> Answer {
    if let (Caller::Legacy(_, session), Ok(NotificationParams::Cancelled(cancelled))) =
        (caller, notification.view())
    {
        session.cancel(&cancelled.request_id);
    }
    answer::bare(StatusCode::ACCEPTED)
}
