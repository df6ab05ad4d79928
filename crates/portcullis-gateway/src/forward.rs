//! The only module that talks to servers. INVARIANT: permit required.
//!
//! INVARIANT: judged is sent. Body and headers are written from the message in the permit; nothing of the
//! client's bytes, and none of its headers except trace context, gets here.

mod duplex;
mod legacy_sse;

pub use legacy_sse::sse_address;

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use portcullis_mcp::headers::{self, ParamHeaders};
use portcullis_mcp::{Era, Id, Message, Response, Subject};
use portcullis_state::log::Ending;
use tokio::time::{Instant, timeout_at};

use crate::budget::{Spent, Unread};
use crate::duplex::Attachment;
use crate::events::{EventSource, read_message};
use crate::gateway::Gateway;
use crate::own::UpstreamSession;
use crate::record::{self, Closing, Outgoing, OutgoingKind, Permit, Receipt};
use crate::server::Server;
use crate::shown::Verbatim;
use crate::snapshot::Transport;
use crate::stop::{Stop, UpstreamFault};

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// A longer event id is nobody's.
pub(crate) const EVENT_ID_BYTES_MAX: usize = 1024;
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// A longer session id is nobody's.
const SESSION_ID_BYTES_MAX: usize = 1024;

/// What a server answered.
pub(crate) struct Reply {
    pub(crate) payload: Payload,
    /// The session that it opened.
    pub(crate) session: Option<UpstreamSession>,
    /// The words of a list of tools, to be recognised the next time.
    pub(crate) said: Option<Verbatim>,
    /// To be finished when the answer is complete.
    pub(crate) receipt: Receipt,
}

pub(crate) enum Payload {
    /// One response.
    Message(Response),
    /// A list of tools in the very words of one that was read before.
    Again(Verbatim),
    /// A stream.
    Stream(EventSource),
    /// Taken without an answer.
    Accepted,
}

/// Sends what the permit permits.
pub(crate) async fn forward(gateway: &Arc<Gateway>, permit: Permit) -> Result<Reply, Stop> {
    let (server, outgoing, mut receipt) = permit.spend();
    let deadline = Instant::now() + server.answer_timeout(&gateway.settings);
    let nudge = receipt.take_nudge();
    let opens_stream = matches!(outgoing.kind, OutgoingKind::OpenStream { .. });
    // Apart from its caller: what one way of sending needs is large, and each call is one task that is moved.
    let exchanged = match (&server.config.transport, &server.pool) {
        _ if gateway.is_over() => Err(UpstreamFault::Unreachable),
        (Transport::Http(url), _) => {
            let sending = Box::pin(over_http(gateway, &server, url, outgoing, deadline));
            nudging(sending, nudge).await
        }
        (_, Some(pool)) => {
            let sending = duplex::Sending { gateway, server: &server, pool, deadline };
            nudging(pin!(sending.exchange(outgoing)), nudge).await
        }
        (_, None) => Err(UpstreamFault::Unreachable),
    };
    match exchanged {
        Ok(Exchanged { payload, session, said, status }) => {
            receipt.note_status(status.map(|status| status.as_u16()));
            Ok(Reply { payload, session, said, receipt })
        }
        Err(fault) => {
            // A server need not have a stream of its own, and says so in this way.
            if opens_stream && matches!(fault, UpstreamFault::Status(404 | 405)) {
                tracing::debug!(server = server.name(), fault = %fault.text(), "a server offers no stream");
            } else {
                tracing::warn!(server = server.name(), fault = %fault.text(), "a server failed");
                if matches!(fault, UpstreamFault::NotMcp(_) | UpstreamFault::Status(_)) {
                    server.eras.forget();
                }
            }
            receipt.finish_by(Some(&fault));
            Err(fault.into())
        }
    }
}

/// Waits for the answer; the nudge is given, by dropping it, once the message is on its way.
async fn nudging<T, N>(mut sending: impl Future<Output = T> + Unpin, nudge: Option<N>) -> T {
    if nudge.is_some() {
        tokio::select! {
            biased;
            answer = &mut sending => return answer,
            // Whoever writes to the connection had a turn then.
            () = tokio::task::yield_now() => drop(nudge),
        }
    }
    sending.await
}

impl Reply {
    /// Notes in the log that the answer is complete.
    pub(crate) fn close(mut self) -> (Payload, Option<UpstreamSession>) {
        let session = self.session.take();
        (self.complete().0, session)
    }

    /// The answer is complete: what it is, and what writes that down once it was given to the client.
    pub(crate) fn complete(self) -> (Payload, Closing) {
        let ending = match &self.payload {
            Payload::Message(response) => record::ending_of(&response.outcome),
            Payload::Again(_) | Payload::Stream(_) | Payload::Accepted => Ending::Answered,
        };
        (self.payload, self.receipt.closing(ending))
    }
}

/// What came back, whatever the way.
struct Exchanged {
    payload: Payload,
    session: Option<UpstreamSession>,
    said: Option<Verbatim>,
    status: Option<StatusCode>,
}

impl Exchanged {
    fn of(payload: Payload) -> Exchanged {
        Exchanged { payload, session: None, said: None, status: None }
    }

    fn in_session(payload: Payload, attachment: Arc<Attachment>) -> Exchanged {
        Exchanged { session: Some(UpstreamSession::Attached(attachment)), ..Exchanged::of(payload) }
    }
}

async fn over_http(
    gateway: &Gateway,
    server: &Server,
    url: &Uri,
    outgoing: Outgoing,
    deadline: Instant,
) -> Result<Exchanged, UpstreamFault> {
    let era = outgoing.place.era;
    let in_session = outgoing.place.session.is_some();
    let expected = expected_id(&outgoing.kind);
    let lists_tools = lists_tools(&outgoing.kind);
    let request = build(server, url, outgoing)?;
    let answered = timeout_at(deadline, gateway.upstream(server).request(request)).await;
    let answer = answered.map_err(|_| UpstreamFault::TimedOut)?.map_err(|error| {
        // The address of the server and the cause are for the operator alone.
        tracing::warn!(server = server.name(), %error, "a request failed");
        if error.is_connect() { UpstreamFault::Unreachable } else { UpstreamFault::Broken }
    })?;
    let (head, body) = answer.into_parts();
    check_status(head.status, era, in_session)?;
    let session = session_id(&head.headers)?;
    let mut said = None;
    let payload = match media_type(&head.headers)? {
        _ if matches!(head.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => Payload::Accepted,
        Some(Media::Events) if head.status.is_success() => {
            Payload::Stream(EventSource::new(body, era, gateway.settings.event_bytes_max))
        }
        // Whatever is said to a notification, nobody waits for it.
        Some(Media::Json) if expected.is_none() && head.status.is_success() => Payload::Accepted,
        Some(Media::Json) => {
            let (bytes, spent) = collect(gateway, body, deadline).await?;
            if lists_tools && head.status.is_success() {
                let list = expected.as_ref().and_then(|id| Verbatim::of(&bytes, era, id));
                said = list.map(|list| list.holding(spent));
            }
            match said.take_if(|said| server.shown.has_read(said)) {
                Some(said) => Payload::Again(said),
                None => {
                    let response = read_response(gateway, &bytes, era, expected.as_ref());
                    // A page of some proxy in between is better told by its status.
                    Payload::Message(response.map_err(|fault| match head.status.is_success() {
                        true => fault,
                        false => UpstreamFault::Status(head.status.as_u16()),
                    })?)
                }
            }
        }
        _ if expected.is_none() && head.status.is_success() => Payload::Accepted,
        _ if head.status.is_success() => return Err(UpstreamFault::NotMcp("neither JSON nor events")),
        _ => return Err(UpstreamFault::Status(head.status.as_u16())),
    };
    let session = session.map(UpstreamSession::Named);
    Ok(Exchanged { payload, session, said, status: Some(head.status) })
}

fn lists_tools(kind: &OutgoingKind) -> bool {
    match kind {
        OutgoingKind::Message { message: Message::Request(request), .. } => {
            request.method.subject == Subject::ToolList
        }
        _ => false,
    }
}

/// Reads words that were recognised, where what was made of them before is of no use.
pub(crate) fn read_again(gateway: &Gateway, said: &Verbatim) -> Result<Response, UpstreamFault> {
    read_response(gateway, &said.text, said.era, Some(&said.id))
}

fn read_response(
    gateway: &Gateway,
    bytes: &[u8],
    era: Era,
    expected: Option<&Id>,
) -> Result<Response, UpstreamFault> {
    own_response(read_message(bytes, era, gateway.settings.result_bytes_max)?, expected)
}

fn expected_id(kind: &OutgoingKind) -> Option<Id> {
    match kind {
        OutgoingKind::Message { message: Message::Request(request), .. } => Some(request.id.clone()),
        _ => None,
    }
}

/// A response under any other id than ours is not for us.
fn own_response(message: Message, expected: Option<&Id>) -> Result<Response, UpstreamFault> {
    match message {
        Message::Response(response) if response.id.is_none() || response.id.as_ref() == expected => {
            Ok(response)
        }
        _ => Err(UpstreamFault::NotMcp("not the answer to this request")),
    }
}

fn check_status(status: StatusCode, era: Era, in_session: bool) -> Result<(), UpstreamFault> {
    match status.as_u16() {
        300..=399 => Err(UpstreamFault::Redirect),
        401 | 403 => Err(UpstreamFault::CredentialRefused),
        404 if in_session && era.has_sessions() => Err(UpstreamFault::SessionGone),
        _ => Ok(()),
    }
}

fn session_id(headers: &HeaderMap) -> Result<Option<String>, UpstreamFault> {
    let Some(value) = headers.get(SESSION_ID) else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
    let text = text.filter(|text| !text.is_empty() && text.len() <= SESSION_ID_BYTES_MAX);
    text.map(|text| Some(text.to_owned())).ok_or(UpstreamFault::NotMcp("an illegal session id"))
}

enum Media {
    Json,
    Events,
}

fn media_type(headers: &HeaderMap) -> Result<Option<Media>, UpstreamFault> {
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(UpstreamFault::NotMcp("an encoding that was not asked for"));
    }
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    Ok(match () {
        () if essence.eq_ignore_ascii_case("application/json") => Some(Media::Json),
        () if essence.eq_ignore_ascii_case("text/event-stream") => Some(Media::Events),
        () => None,
    })
}

async fn collect(
    gateway: &Gateway,
    body: Incoming,
    deadline: Instant,
) -> Result<(Bytes, Spent), UpstreamFault> {
    let reading = gateway.bodies.collect(body, gateway.settings.result_bytes_max);
    let read = timeout_at(deadline, reading).await.map_err(|_| UpstreamFault::TimedOut)?;
    read.map_err(|unread| match unread {
        Unread::TooLarge | Unread::NoRoom => UpstreamFault::TooLarge,
        Unread::Broken => UpstreamFault::Broken,
    })
}

fn build(server: &Server, url: &Uri, outgoing: Outgoing) -> Result<Request<Full<Bytes>>, UpstreamFault> {
    let unwritable = |_| UpstreamFault::NotMcp("a header that cannot be written");
    let (method, accept, body, extra) = match outgoing.kind {
        OutgoingKind::Message { message, tool } => {
            let mirrored = tool.as_ref().and_then(|tool| tool.headers.as_ref());
            let extra = match outgoing.place.era {
                Era::Modern => headers::for_server(&message, mirrored.unwrap_or(&ParamHeaders::default())),
                Era::Legacy(_) => legacy_headers(&message, outgoing.place.era),
            };
            (Method::POST, BOTH, into_text(message), extra)
        }
        OutgoingKind::OpenStream { last_event_id } => {
            let mut extra = vec![version_header(outgoing.place.era)];
            extra.extend(last_event_id.map(|id| (LAST_EVENT_ID.to_string(), id)));
            (Method::GET, EVENTS, String::new(), extra)
        }
        OutgoingKind::EndSession => {
            (Method::DELETE, BOTH, String::new(), vec![version_header(outgoing.place.era)])
        }
    };
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, accept);
    if method == Method::POST {
        headers.insert(CONTENT_TYPE, JSON);
    }
    let session = match outgoing.place.session {
        Some(UpstreamSession::Named(id)) => Some((SESSION_ID.to_string(), id)),
        _ => None,
    };
    for (name, value) in extra.into_iter().chain(session) {
        let name: HeaderName = name.parse().map_err(|_| UpstreamFault::NotMcp("a header name"))?;
        headers.insert(name, HeaderValue::from_str(&value).map_err(unwritable)?);
    }
    headers.extend(outgoing.trace);
    headers.extend(server.config.headers.iter().cloned());
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = method;
    *request.uri_mut() = url.clone();
    *request.headers_mut() = headers;
    Ok(request)
}

fn version_header(era: Era) -> (String, String) {
    (PROTOCOL_VERSION.to_string(), era.as_str().to_owned())
}

/// The first request of a session has no version header yet.
fn legacy_headers(message: &Message, era: Era) -> Vec<(String, String)> {
    match message {
        Message::Request(request) if request.method.name == "initialize" => Vec::new(),
        _ => vec![version_header(era)],
    }
}

fn into_text(message: Message) -> String {
    match message {
        Message::Request(request) => {
            let id = request.id.clone();
            request.into_text(&id)
        }
        Message::Notification(notification) => notification.into_text(),
        Message::Response(response) => {
            // A response without an id answers nothing; none of ours is without.
            let id = response.id.clone().unwrap_or_else(|| Id::from(""));
            response.into_text(&id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_nudge_is_given_behind_the_message_and_not_behind_its_answer() {
        let nudge = Arc::new(());
        let held = nudge.clone();
        // Stands for whoever writes to the connection: woken by the sending, before the nudge is given.
        let (send, message) = tokio::sync::oneshot::channel();
        let (seen, writer_saw) = tokio::sync::oneshot::channel();
        let writer_held = nudge.clone();
        tokio::spawn(async move {
            let () = message.await.unwrap();
            seen.send(Arc::strong_count(&writer_held)).unwrap();
        });
        tokio::task::yield_now().await;
        let sending = Box::pin(async move {
            send.send(()).unwrap();
            std::future::pending::<()>().await
        });
        let waiting = tokio::spawn(nudging(sending, Some(held)));
        assert_eq!(writer_saw.await.unwrap(), 3, "the message goes first");
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(Arc::strong_count(&nudge), 1, "nobody waits for the answer with it");
        waiting.abort();
    }
}
