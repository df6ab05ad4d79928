//! Answers and stops to HTTP and JSON-RPC. INVARIANT: one translation. Only this module knows codes.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use portcullis_json::{Object, Value};
use portcullis_mcp::result::tool_result;
use portcullis_mcp::{Era, ErrorObject, Id, Refusal as WireRefusal, Subject, write};
use tokio::sync::mpsc;

use crate::body::Body;
use crate::forward::SESSION_ID;
use crate::record::{Closing, Trail};
use crate::sessions::Call;
use crate::stop::{ClientFault, Denial, DenialKind, GatewayFault, Refusal, Stop};

/// Codes of our own, outside the range that the protocol keeps.
pub(crate) mod code {
    /// Denied by policy.
    pub(crate) const DENIED: i64 = 41001;
    /// A person would have to approve.
    pub(crate) const APPROVAL: i64 = 41002;
    /// A limit is reached.
    pub(crate) const LIMIT: i64 = 41003;
    /// Client and server speak different eras.
    pub(crate) const ERA: i64 = 41004;
    /// The server is unavailable.
    pub(crate) const UPSTREAM: i64 = 41006;
}

/// What goes back when nothing was in the way.
pub(crate) enum Answer {
    /// One message; the session that was opened with it; the code if it is a modern server's error; what
    /// writes down that it was given.
    Message { text: String, session: Option<String>, modern_error: Option<i64>, closing: Option<Closing> },
    /// A stream of events.
    Stream(mpsc::Receiver<Bytes>),
    /// Taken; there is nothing to say.
    Accepted,
    /// The session has ended.
    Ended,
}

impl Answer {
    /// A result that is written already.
    pub(crate) fn of_result(id: &Id, result: &str) -> Answer {
        let text = write::written_result(id, result);
        Answer::Message { text, session: None, modern_error: None, closing: None }
    }

    /// The same, which is written down when it was given.
    pub(crate) fn closed_by(self, closing: Closing) -> Answer {
        match self {
            Answer::Message { text, session, modern_error, .. } => {
                Answer::Message { text, session, modern_error, closing: Some(closing) }
            }
            other => other,
        }
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The response to an exchange that went through.
pub(crate) fn answer(answer: Answer) -> Response<Body> {
    match answer {
        Answer::Message { text, session, modern_error, closing } => {
            // Who writes to the connection is not ours to wait for.
            drop(closing);
            let mut response = with_body(error_status(modern_error), JSON, text);
            if let Some(id) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
                response.headers_mut().insert(SESSION_ID, id);
            }
            response
        }
        Answer::Stream(events) => {
            let mut response = plain(StatusCode::OK, Body::Stream(events));
            response.headers_mut().insert(CONTENT_TYPE, EVENTS);
            response.headers_mut().insert(NO_BUFFERING, HeaderValue::from_static("no"));
            response
        }
        Answer::Accepted => plain(StatusCode::ACCEPTED, Body::empty()),
        Answer::Ended => plain(StatusCode::NO_CONTENT, Body::empty()),
    }
}

/// A page of the gateway itself: health and metrics.
pub(crate) fn page(healthy: bool, text: String) -> Response<Body> {
    let status = if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    with_body(status, PLAIN, text)
}

/// The response to an exchange that was stopped.
pub(crate) fn stop(stop: &Stop, trail: &Trail) -> Response<Body> {
    let mut response = with_body(status(stop, trail), JSON, stop_message(stop, trail));
    add_headers(stop, &mut response);
    response
}

/// The message that says why an exchange was stopped.
pub(crate) fn stop_message(stop: &Stop, trail: &Trail) -> String {
    if let (Stop::Refused(Refusal::Denied(denial)), true, Some(id), Some(era)) =
        (stop, trail.is_tool_call, &trail.id, trail.era)
    {
        return denied_result(denial, Some(trail), id, era);
    }
    let mut error = error_object(stop);
    if let Stop::Refused(Refusal::Denied(denial)) = stop {
        error.data = Some(decision(denial, Some(trail)).into());
    }
    write::error(trail.id.as_ref(), error)
}

/// A stop inside a stream, as a message: there is no status left to say it with.
pub(crate) fn stop_text(stop: &Stop, call: &Call, era: Era) -> String {
    match stop {
        Stop::Refused(Refusal::Denied(denial)) if call.subject == Subject::ToolCall => {
            denied_result(denial, None, &call.client_id, era)
        }
        _ => error_text(Some(&call.client_id), stop),
    }
}

pub(crate) fn error_text(id: Option<&Id>, stop: &Stop) -> String {
    write::error(id, error_object(stop))
}

/// A denied call is a result, so that the agent can reason about it.
fn denied_result(denial: &Denial, trail: Option<&Trail>, id: &Id, era: Era) -> String {
    let meta = Object::new().with("portcullis/decision", decision(denial, trail));
    let text = format!("[POLICY DENIED] {}", denial.message);
    write::result(id, tool_result(era, &text, true, Some(meta)))
}

fn decision(denial: &Denial, trail: Option<&Trail>) -> Object {
    let mut decision = Object::new();
    if let Some(trail) = trail {
        decision.insert("id", trail.request.as_str().into());
    }
    decision.insert("outcome", "denied".into());
    decision.insert("rule", Value::from(&*denial.rule));
    if let Some(policy) = trail.and_then(|trail| trail.policy.as_ref()) {
        decision.insert("policy", policy.name.as_str().into());
        decision.insert("policy_version", i64::from(policy.version).into());
    }
    decision.insert("retryable", denial.retryable.into());
    if let Some(seconds) = denial.retry_after_s {
        decision.insert("retry_after_s", i64::try_from(seconds).unwrap_or(i64::MAX).into());
    }
    decision
}

/// The JSON-RPC error for a stop.
pub(crate) fn error_object(stop: &Stop) -> ErrorObject {
    match stop {
        Stop::Refused(Refusal::Denied(denial)) => {
            let code = match denial.kind {
                DenialKind::Rule => code::DENIED,
                DenialKind::Limit => code::LIMIT,
                DenialKind::Approval => code::APPROVAL,
            };
            let error = ErrorObject::new(code, format!("[POLICY DENIED] {}", denial.message));
            error.with_data(decision(denial, None))
        }
        Stop::Refused(Refusal::UnknownTool { name, .. }) => {
            ErrorObject::new(portcullis_mcp::code::INVALID_PARAMS, format!("Unknown tool: {name}"))
        }
        Stop::Client(ClientFault::Malformed(refusal)) => ErrorObject::from(refusal),
        Stop::Client(fault) => {
            let error = ErrorObject::new(client_code(fault), client_text(fault));
            ErrorObject { data: client_data(fault).map(Value::from), ..error }
        }
        Stop::Gateway(fault) => ErrorObject::new(portcullis_mcp::code::INTERNAL, gateway_text(fault)),
        Stop::Upstream(fault) => ErrorObject::new(code::UPSTREAM, fault.text()),
    }
}

/// What the protocol wants to be said with an error, beyond its code.
fn client_data(fault: &ClientFault) -> Option<Object> {
    match fault {
        ClientFault::UnsupportedRevision { requested, supported } => {
            Some(portcullis_mcp::revisions(supported, requested.as_deref()))
        }
        ClientFault::TasksUndeclared => {
            let extensions = Object::new().with(portcullis_mcp::meta::key::TASKS, Object::new());
            Some(Object::new().with("requiredCapabilities", Object::new().with("extensions", extensions)))
        }
        _ => None,
    }
}

fn client_code(fault: &ClientFault) -> i64 {
    match fault {
        ClientFault::UnsupportedRevision { .. } => portcullis_mcp::code::UNSUPPORTED_REVISION,
        ClientFault::TasksUndeclared => portcullis_mcp::code::MISSING_CAPABILITY,
        ClientFault::EraMismatch { .. } => code::ERA,
        ClientFault::NotOffered(_) => portcullis_mcp::code::METHOD_NOT_FOUND,
        ClientFault::UnknownTask => portcullis_mcp::code::INVALID_PARAMS,
        ClientFault::WrongRevisionHeader => portcullis_mcp::code::HEADER_MISMATCH,
        _ => portcullis_mcp::code::INVALID_REQUEST,
    }
}

fn client_text(fault: &ClientFault) -> String {
    let text = match fault {
        ClientFault::NotFound => "there is nothing here for this token; check the server's name in the URL",
        ClientFault::WrongVerb(_) => "this path does not take this method",
        ClientFault::ForbiddenHost => "the `Host` header names another host; add it to the allowed hosts",
        ClientFault::ForbiddenOrigin => "the `Origin` header names a page that may not call",
        ClientFault::Unauthenticated => "send a valid token as `Authorization: Bearer …`",
        ClientFault::NotAcceptable => "the client must accept `application/json` and `text/event-stream`",
        ClientFault::WrongMediaType => "the body must be plain `application/json`",
        ClientFault::BodyTooLarge => "the message is larger than allowed",
        ClientFault::BodyTooSlow => "the body did not arrive in time",
        ClientFault::BodyBroken => "the body broke off",
        ClientFault::Malformed(refusal) => return refusal.public_message(),
        ClientFault::SessionMissing => "send `initialize` first, then its `Mcp-Session-Id` with each request",
        ClientFault::NotOpened => "send `initialize` first",
        ClientFault::SessionUnknown => "the session does not exist or has ended; send `initialize` again",
        ClientFault::WrongRevisionHeader => "`MCP-Protocol-Version` does not fit the message",
        ClientFault::EraMismatch { client } => return era_text(*client),
        ClientFault::UnknownTask => "unknown task",
        ClientFault::TasksUndeclared => "the client has not declared the tasks extension",
        ClientFault::UnsupportedRevision { .. } => "unsupported protocol version",
        ClientFault::NotOffered(why) => why,
    };
    text.to_owned()
}

/// A client's fault in words, for the log.
pub(crate) fn error_object_text(fault: &ClientFault) -> String {
    client_text(fault)
}

fn era_text(client: Era) -> String {
    let server = match client {
        Era::Modern => "the protocol up to 2025-11-25",
        Era::Legacy(_) => "the protocol 2026-07-28",
    };
    format!("the client speaks {client}, the server only {server}; use a client of the same era")
}

fn gateway_text(fault: &GatewayFault) -> String {
    match fault {
        GatewayFault::LogUnavailable => {
            "audit_unavailable: the decision log cannot be written, so nothing is let through".to_owned()
        }
        GatewayFault::PinsUnavailable => {
            "the pins of tools cannot be read or written, so nothing is let through".to_owned()
        }
        GatewayFault::ServerChanged => {
            "the configuration of the server has changed; open a new session where there was one, and try again"
                .to_owned()
        }
        GatewayFault::Full(what) => format!("too many {what} at once; try again in a moment"),
        GatewayFault::NoRandomness => "the gateway's system gives no random numbers".to_owned(),
    }
}

fn status(stop: &Stop, trail: &Trail) -> StatusCode {
    let is_modern = trail.era.is_some_and(Era::is_modern);
    match stop {
        Stop::Refused(_) => StatusCode::OK,
        // The client must open a session anew.
        Stop::Upstream(crate::stop::UpstreamFault::SessionGone) => StatusCode::NOT_FOUND,
        // There is no message to answer, only a stream that does not come about.
        Stop::Upstream(_) if trail.method == "GET" => StatusCode::BAD_GATEWAY,
        Stop::Upstream(_) => StatusCode::OK,
        Stop::Gateway(
            GatewayFault::Full(_)
            | GatewayFault::LogUnavailable
            | GatewayFault::PinsUnavailable
            | GatewayFault::ServerChanged,
        ) => StatusCode::SERVICE_UNAVAILABLE,
        Stop::Gateway(GatewayFault::NoRandomness) => StatusCode::INTERNAL_SERVER_ERROR,
        Stop::Client(fault) => client_status(fault, is_modern),
    }
}

fn client_status(fault: &ClientFault, is_modern: bool) -> StatusCode {
    match fault {
        ClientFault::NotFound | ClientFault::SessionUnknown => StatusCode::NOT_FOUND,
        ClientFault::WrongVerb(_) => StatusCode::METHOD_NOT_ALLOWED,
        ClientFault::ForbiddenHost | ClientFault::ForbiddenOrigin => StatusCode::FORBIDDEN,
        ClientFault::Unauthenticated => StatusCode::UNAUTHORIZED,
        ClientFault::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
        ClientFault::WrongMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ClientFault::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ClientFault::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
        ClientFault::Malformed(WireRefusal::UnknownMethod) | ClientFault::NotOffered(_) => match is_modern {
            true => StatusCode::NOT_FOUND,
            // To a legacy client 404 means that its session is gone.
            false => StatusCode::OK,
        },
        ClientFault::EraMismatch { .. } | ClientFault::UnknownTask => StatusCode::OK,
        ClientFault::BodyBroken
        | ClientFault::Malformed(_)
        | ClientFault::SessionMissing
        | ClientFault::NotOpened
        | ClientFault::TasksUndeclared
        | ClientFault::UnsupportedRevision { .. }
        | ClientFault::WrongRevisionHeader => StatusCode::BAD_REQUEST,
    }
}

fn add_headers(stop: &Stop, response: &mut Response<Body>) {
    let headers = response.headers_mut();
    match stop {
        Stop::Client(ClientFault::Unauthenticated) => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"portcullis\""));
        }
        Stop::Client(ClientFault::WrongVerb(allowed)) => {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        Stop::Gateway(GatewayFault::Full(_)) => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
}

/// The status that the modern era wants with an error of a server.
fn error_status(modern_error: Option<i64>) -> StatusCode {
    use portcullis_mcp::code;
    match modern_error {
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_REVISION) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

fn with_body(status: StatusCode, media: HeaderValue, text: String) -> Response<Body> {
    let mut response = plain(status, Body::text(text));
    response.headers_mut().insert(CONTENT_TYPE, media);
    response
}

fn plain(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
