//! Sending on a connection that carries messages of both sides: whose connection, then what comes back.

use std::sync::Arc;

use portcullis_json::Object;
use portcullis_mcp::{Message, Notification, Outcome, Request, Response, Subject};
use tokio::time::{Instant, timeout_at};

use super::{Exchanged, Payload, into_text, legacy_sse};
use crate::duplex::{Attachment, Connection, Messages, Opened, Owner, Pool};
use crate::events::EventSource;
use crate::gateway::Gateway;
use crate::own::{self, Place, UpstreamSession};
use crate::process;
use crate::record::{Outgoing, OutgoingKind};
use crate::server::Server;
use crate::snapshot::Transport;
use crate::stop::UpstreamFault;
use crate::transport::ProcessMode;

/// What sending needs to know.
pub(super) struct Sending<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    pub(super) server: &'a Arc<Server>,
    pub(super) pool: &'a Pool,
    pub(super) deadline: Instant,
}

impl Sending<'_> {
    pub(super) async fn exchange(&self, outgoing: Outgoing) -> Result<Exchanged, UpstreamFault> {
        let place = outgoing.place;
        match outgoing.kind {
            OutgoingKind::Message { message, .. } => self.message(place, message).await,
            OutgoingKind::OpenStream { .. } => {
                let listening = attachment(&place)?.listen();
                let payload = listening.map_or(Payload::Accepted, |messages| {
                    Payload::Stream(EventSource::of_messages(messages))
                });
                Ok(Exchanged::of(payload))
            }
            OutgoingKind::EndSession => {
                attachment(&place)?.end();
                Ok(Exchanged::of(Payload::Accepted))
            }
        }
    }

    async fn message(&self, place: Place, message: Message) -> Result<Exchanged, UpstreamFault> {
        match message {
            Message::Request(request) if request.method.subject == Subject::Initialize => {
                // Once for each session; other calls shall not be as large as this.
                Box::pin(self.open(place, request)).await
            }
            Message::Request(request) => {
                let (connection, in_session) = self.connection(&place)?;
                self.ask(&connection, place, request, in_session).await.map(Exchanged::of)
            }
            Message::Notification(notice) if is_said_already(&place, &notice) => {
                Ok(Exchanged::of(Payload::Accepted))
            }
            other => self.tell(&place, other).await,
        }
    }

    /// A notification or an answer: for a connection that is there, or for nobody.
    async fn tell(&self, place: &Place, message: Message) -> Result<Exchanged, UpstreamFault> {
        let connection = match &place.session {
            Some(_) => Some(attachment(place)?.connection.clone()),
            None => self.pool.modern_if_open(place.owner.as_ref()),
        };
        if let Some(connection) = connection {
            connection.send(into_text(message), self.deadline).await?;
        }
        Ok(Exchanged::of(Payload::Accepted))
    }

    /// The connection of a request; whether what the server says by itself may belong to it.
    fn connection(&self, place: &Place) -> Result<(Arc<Connection>, bool), UpstreamFault> {
        if place.session.is_some() {
            let attachment = attachment(place)?;
            return Ok((attachment.connection.clone(), !attachment.is_guest()));
        }
        if place.era.has_sessions() {
            return Err(UpstreamFault::SessionGone);
        }
        let processes_max = self.gateway.settings.processes_per_server_max;
        let start = |owner| self.start(owner);
        self.pool.modern(place.owner.as_ref(), processes_max, start).map(|connection| (connection, false))
    }

    /// Asked here once more: whoever waited for a turn may have got it by the end of the program before.
    fn start(&self, owner: Owner) -> Result<Arc<Connection>, UpstreamFault> {
        if self.gateway.is_over() {
            return Err(UpstreamFault::Unreachable);
        }
        match &self.server.config.transport {
            Transport::Command(spec) => process::start(self.gateway, self.server, spec, owner),
            Transport::Http(_) | Transport::Sse(_) => Err(UpstreamFault::Unreachable),
        }
    }

    /// `initialize`: a session of its own, or a part in one that is open.
    async fn open(&self, place: Place, request: Request) -> Result<Exchanged, UpstreamFault> {
        let _turn = self.pool.turn(self.deadline).await?;
        let opened = self.opened(place.owner.is_none()).await?;
        let attachment = match opened {
            Opened::Again(attachment, result) => {
                let response = Response { id: Some(request.id), outcome: Outcome::Result(result) };
                return Ok(Exchanged::in_session(Payload::Message(response), Arc::new(attachment)));
            }
            Opened::Fresh(attachment) => Arc::new(attachment),
        };
        let request = if self.is_shared() { without_client(request) } else { request };
        let session = Some(UpstreamSession::Attached(attachment.clone()));
        let payload = self.ask(&attachment.connection, Place { session, ..place }, request, false).await?;
        Ok(Exchanged::in_session(payload, attachment))
    }

    async fn opened(&self, is_own: bool) -> Result<Opened, UpstreamFault> {
        let connections_max = self.gateway.settings.processes_per_server_max;
        let Transport::Sse(url) = &self.server.config.transport else {
            return self.pool.open_session(is_own, connections_max, |owner| self.start(owner));
        };
        if let Some(opened) = self.pool.open_again().filter(|_| is_own) {
            return Ok(opened);
        }
        let connection = legacy_sse::connect(self.gateway, self.server, url, self.deadline).await?;
        self.pool.add(connection, connections_max)
    }

    fn is_shared(&self) -> bool {
        match &self.server.config.transport {
            Transport::Command(spec) => spec.process == ProcessMode::Shared,
            Transport::Http(_) | Transport::Sse(_) => false,
        }
    }

    /// Sends, and waits for the first thing that comes back: most often it is the answer.
    async fn ask(
        &self,
        connection: &Arc<Connection>,
        place: Place,
        request: Request,
        in_session: bool,
    ) -> Result<Payload, UpstreamFault> {
        let id = request.id.clone();
        let mut messages = connection.ask(request, in_session, self.deadline).await?;
        let (gateway, server) = (self.gateway.clone(), self.server.clone());
        messages.on_giving_up(move || own::give_up(&gateway, server, place, id));
        let first = timeout_at(self.deadline, messages.next()).await;
        match first.map_err(|_| UpstreamFault::TimedOut)?? {
            Some(Message::Response(response)) => Ok(Payload::Message(response)),
            Some(other) => Ok(Payload::Stream(stream(messages, other))),
            None => Err(UpstreamFault::Ended),
        }
    }
}

fn stream(mut messages: Messages, first: Message) -> EventSource {
    messages.put_back(first);
    EventSource::of_messages(messages)
}

/// The part in a connection that this place is; gone when the connection is.
fn attachment(place: &Place) -> Result<&Arc<Attachment>, UpstreamFault> {
    match &place.session {
        Some(UpstreamSession::Attached(attachment)) if !attachment.connection.is_closed() => Ok(attachment),
        _ => Err(UpstreamFault::SessionGone),
    }
}

/// A server is told once that its session is open, however many take part in it.
fn is_said_already(place: &Place, notice: &Notification) -> bool {
    match &place.session {
        Some(UpstreamSession::Attached(attachment)) if notice.method.subject == Subject::Initialized => {
            !attachment.connection.announce()
        }
        _ => false,
    }
}

/// Where all share one process no client's abilities may be promised: nobody could tell whom to ask.
fn without_client(mut request: Request) -> Request {
    let params = request.params.get_or_insert_default();
    params.insert("capabilities", Object::new().into());
    params.insert("clientInfo", own::own_info().into());
    request
}
