//! Requests that the gateway makes by itself: asking for the era, listing tools, ending sessions.
//!
//! They go through `record` and `forward` like any other, without a grant.

use std::sync::Arc;

use portcullis_json::Object;
use portcullis_mcp::{
    Era, ErrorObject, Id, LegacyRevision, Message, Method, Notification, Outcome, Refusal, Request, Response,
    meta, write,
};

use crate::duplex::Attachment;
use crate::events::EventSource;
use crate::forward::{self, Payload, Reply};
use crate::gateway::Gateway;
use crate::record::{self, Outgoing, OutgoingKind};
use crate::server::Server;
use crate::sessions::Session;
use crate::stop::{Stop, UpstreamFault};

/// In which era, and in which session of the server, a message is sent.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) era: Era,
    pub(crate) session: Option<UpstreamSession>,
    /// The grant on whose behalf; none: the gateway's own.
    pub(crate) owner: Option<Arc<str>>,
}

impl Place {
    pub(crate) fn modern() -> Place {
        Place { era: Era::Modern, session: None, owner: None }
    }
}

/// A session at a server.
#[derive(Clone)]
pub(crate) enum UpstreamSession {
    /// The id that the server gave it, over HTTP.
    Named(String),
    /// A part in a connection. The last one to let go of it ends the session.
    Attached(Arc<Attachment>),
}

/// What came back.
pub(crate) struct Answered {
    pub(crate) outcome: Outcome,
    /// The session that the server opened.
    pub(crate) session: Option<UpstreamSession>,
}

/// Sends a request of ours and waits for its answer.
pub(crate) async fn request(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    place: Place,
    method: &str,
    mut params: Object,
) -> Result<Answered, Stop> {
    if place.era.is_modern() {
        params.insert("_meta", own_meta().into());
    }
    let id = server.next_id();
    let method = Method::find(method).ok_or(Refusal::UnknownMethod)?;
    let message = Message::Request(Request { id: id.clone(), method, params: Some(params) });
    let (outcome, session) = match send(gateway, server, place, message).await? {
        Reply { payload: Payload::Stream(events), session, receipt, .. } => {
            let answered = answer_in(events, &id, server, gateway).await;
            receipt.finish_with(&answered);
            (answered?, session)
        }
        reply => match reply.close() {
            (Payload::Message(response), session) => (response.outcome, session),
            (Payload::Again(said), session) => (forward::read_again(gateway, &said)?.outcome, session),
            _ => return Err(UpstreamFault::NotMcp("no answer to a request").into()),
        },
    };
    Ok(Answered { outcome, session })
}

/// Opens a session of our own, so that we can list.
pub(crate) async fn open_session(gateway: &Arc<Gateway>, server: &Arc<Server>) -> Result<Place, Stop> {
    let revision = Era::Legacy(LegacyRevision::NEWEST);
    // A server may show some tools only to clients that can answer its questions; we want to know all.
    let empty = Object::new;
    let capabilities = empty().with("sampling", empty()).with("elicitation", empty()).with("roots", empty());
    let params = empty()
        .with("protocolVersion", revision.as_str())
        .with("capabilities", capabilities)
        .with("clientInfo", own_info());
    let place = Place { era: revision, session: None, owner: None };
    let answered = request(gateway, server, place, "initialize", params).await?;
    let Outcome::Result(result) = answered.outcome else {
        return Err(UpstreamFault::NotMcp("it refused to open a session").into());
    };
    let era = revision_in(&result).map(Era::Legacy);
    let era = era.ok_or(UpstreamFault::NotMcp("a revision that is not known"))?;
    let place = Place { era, session: answered.session, owner: None };
    notify(gateway, server, place.clone(), "notifications/initialized", None).await?;
    Ok(place)
}

/// The revision that a server answered `initialize` with. Servers of 2024-11-05 are spoken to as of the next
/// one, which asks nothing else of them.
pub(crate) fn revision_in(result: &Object) -> Option<LegacyRevision> {
    match result.get("protocolVersion")?.as_str()? {
        "2024-11-05" => Some(LegacyRevision::March2025),
        text => LegacyRevision::parse(text),
    }
}

/// Sends a notification of ours.
pub(crate) async fn notify(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    place: Place,
    method: &str,
    params: Option<Object>,
) -> Result<(), Stop> {
    let method = Method::find(method).ok_or(Refusal::UnknownMethod)?;
    let message = Message::Notification(Notification { method, params });
    send(gateway, server, place, message).await.map(|reply| drop(reply.close()))
}

/// Answers a question of the server, ourselves.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    place: Place,
    id: Id,
    outcome: Result<Object, ErrorObject>,
) -> Result<(), Stop> {
    let outcome = outcome.map_or_else(Outcome::Error, Outcome::Result);
    let message = Message::Response(Response { id: Some(id), outcome });
    send(gateway, server, place, message).await.map(|reply| drop(reply.close()))
}

/// Tells the server of a legacy session that nobody waits for this answer any more, in a task of its own.
pub(crate) fn cancel(gateway: &Arc<Gateway>, session: Arc<Session>, our_id: Id) {
    let gateway = gateway.clone();
    let params =
        Object::new().with("requestId", our_id.to_value()).with("reason", "the gateway stopped waiting");
    tokio::spawn(async move {
        session.close_call(&our_id);
        let method = "notifications/cancelled";
        let told = notify(&gateway, &session.server, session.place(), method, Some(params)).await;
        if let Err(stop) = told {
            tracing::debug!(?stop, "a server was not told that a call is cancelled");
        }
    });
}

/// Tells a server that nobody waits for this answer any more, where the connection itself does not tell.
pub(crate) fn give_up(gateway: &Arc<Gateway>, server: Arc<Server>, place: Place, our_id: Id) {
    let (gateway, runtime) = (gateway.clone(), tokio::runtime::Handle::try_current());
    let params = Object::new().with("requestId", our_id.to_value());
    let told = async move {
        let method = "notifications/cancelled";
        if let Err(stop) = notify(&gateway, &server, place, method, Some(params)).await {
            tracing::debug!(?stop, "a server was not told that a call is cancelled");
        }
    };
    if let Ok(runtime) = runtime {
        runtime.spawn(told);
    }
}

/// Ends a session at the server. That it cannot be ended is no trouble: it will idle out.
pub(crate) async fn end_session(gateway: &Arc<Gateway>, server: &Arc<Server>, place: Place) {
    let outgoing = Outgoing::new(OutgoingKind::EndSession, place);
    let ended = match record::own(gateway, server, outgoing, "DELETE").await {
        Ok(permit) => forward::forward(gateway, permit).await.map(|reply| drop(reply.close())),
        Err(stop) => Err(stop),
    };
    if let Err(stop) = ended {
        tracing::debug!(server = server.name(), ?stop, "the server did not end a session");
    }
}

async fn send(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    place: Place,
    message: Message,
) -> Result<Reply, Stop> {
    let method = match &message {
        Message::Request(request) => request.method.name,
        Message::Notification(notification) => notification.method.name,
        Message::Response(_) => "response",
    };
    let outgoing = Outgoing::new(OutgoingKind::Message { message, tool: None }, place);
    let permit = record::own(gateway, server, outgoing, method).await?;
    forward::forward(gateway, permit).await
}

/// The answer in a stream; what else is in it is for nobody.
pub(crate) async fn answer_in(
    mut events: EventSource,
    id: &Id,
    server: &Server,
    gateway: &Gateway,
) -> Result<Outcome, UpstreamFault> {
    let patience = server.answer_timeout(&gateway.settings);
    let read = async {
        while let Some(arrived) = events.next().await? {
            if let Some(Message::Response(response)) = arrived.message
                && (response.id.as_ref() == Some(id) || response.id.is_none())
            {
                return Ok(response.outcome);
            }
        }
        Err(UpstreamFault::NotMcp("the stream ended without an answer"))
    };
    tokio::time::timeout(patience, read).await.unwrap_or(Err(UpstreamFault::TimedOut))
}

pub(crate) fn own_info() -> Object {
    Object::new().with("name", "portcullis").with("version", env!("CARGO_PKG_VERSION"))
}

fn own_meta() -> Object {
    Object::new()
        .with(meta::key::PROTOCOL_VERSION, Era::Modern.as_str())
        .with(meta::key::CLIENT_INFO, own_info())
        .with(meta::key::CLIENT_CAPABILITIES, Object::new())
}

/// A notification of ours to a client, as text.
pub(crate) fn notice_text(method: &str, params: Option<Object>) -> String {
    write::notification(method, params)
}
