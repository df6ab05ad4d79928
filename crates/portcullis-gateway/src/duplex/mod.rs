//! One connection on which messages of both sides run mixed: a program's pipes, or HTTP with SSE.
//!
//! `traffic.rs` tells whose each message is, `pool.rs` which connections a server has, `source.rs` is what
//! the asker reads. Bytes are moved by `process/` and `legacy_sse.rs`; only `forward` sends.

mod pool;
mod source;
mod traffic;

pub(crate) use pool::{Opened, Pool};
pub(crate) use source::{Expectation, Messages};
pub(crate) use traffic::Arrival;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use portcullis_json::{Object, Value};
use portcullis_mcp::{Era, Id, LegacyRevision, Message, Refused, Request, meta};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Duration, Instant, timeout_at};

use crate::stop::UpstreamFault;
use traffic::{Traffic, Waiting};

/// Messages that wait to be written to a server.
const WRITES_MAX: usize = 64;

/// How many messages may wait for a reader.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) notices_max: usize,
}

/// Whose a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody's yet: the gateway asked something on it, at most.
    Nobody,
    /// One legacy session's.
    Session,
    /// One grant's, in the era without sessions.
    Grant(Arc<str>),
    /// Everybody's.
    All,
}

/// A connection to a server.
pub(crate) struct Connection {
    out: mpsc::Sender<Bytes>,
    traffic: Mutex<Traffic>,
    bounds: Bounds,
    end: watch::Sender<bool>,
    over: watch::Sender<bool>,
}

impl Connection {
    /// A connection, and what is to be written to it.
    pub(crate) fn new(owner: Owner, bounds: Bounds) -> (Arc<Connection>, mpsc::Receiver<Bytes>) {
        let (out, writes) = mpsc::channel(WRITES_MAX);
        let connection = Connection {
            out,
            traffic: Mutex::new(Traffic::new(owner)),
            bounds,
            end: watch::Sender::new(false),
            over: watch::Sender::new(false),
        };
        (Arc::new(connection), writes)
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for its end; whoever moves its bytes sees to it.
    pub(crate) fn end(&self) {
        self.end.send_replace(true);
    }

    /// Resolves when its end is wanted.
    pub(crate) async fn end_wanted(&self) {
        // The sender is ours: it cannot be gone.
        let _ = self.end.subscribe().wait_for(|end| *end).await;
    }

    /// It is over: who waits is told why.
    pub(crate) fn close(&self, fault: UpstreamFault) {
        self.end.send_replace(true);
        self.traffic().close(fault);
    }

    /// Nothing is left of it.
    pub(crate) fn set_over(&self) {
        self.over.send_replace(true);
    }

    /// Resolves when nothing is left of it.
    pub(crate) async fn is_over(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    /// Whether nothing can be sent on it any more.
    pub(crate) fn is_closed(&self) -> bool {
        *self.end.borrow() || self.traffic().is_closed()
    }

    /// The era to read the server's messages in.
    pub(crate) fn era(&self) -> Era {
        self.traffic().era.unwrap_or(Era::Legacy(LegacyRevision::NEWEST))
    }

    /// Whether the server ever answered anything on it.
    pub(crate) fn has_answered(&self) -> bool {
        self.traffic().has_answered
    }

    /// How long nothing went over it; none while somebody waits for an answer.
    pub(crate) fn idle(&self) -> Option<Duration> {
        self.traffic().idle()
    }

    /// Whether only the gateway itself has used it.
    pub(crate) fn is_spare(&self) -> bool {
        self.traffic().owner == Owner::Nobody
    }

    /// A message came from the server.
    pub(crate) fn arrive(&self, message: Message) -> Arrival {
        self.traffic().arrive(message)
    }

    /// Something came that is no message; if it names a request, that one is answered with it.
    pub(crate) fn arrive_garbled(&self, refused: &Refused) {
        let fault = UpstreamFault::NotMcp("a message that cannot be read");
        if let Some(id) = &refused.id {
            self.traffic().fail(id, fault);
        }
    }

    /// Something came that was too large to read: any of the open requests may have been meant.
    pub(crate) fn arrive_too_large(&self) {
        self.traffic().fail_all(&UpstreamFault::TooLarge);
    }

    /// Sends a request and gives what comes back for it. `in_session`: what the server says without
    /// naming a request may belong to it.
    pub(crate) async fn ask(
        self: &Arc<Connection>,
        mut request: Request,
        in_session: bool,
        deadline: Instant,
    ) -> Result<Messages, UpstreamFault> {
        let (notices, to_read) = mpsc::channel(self.bounds.notices_max);
        let (answer, answered) = oneshot::channel();
        let (id, subject) = (request.id.clone(), request.method.subject);
        let token = own_token(&mut request);
        let waiting = Waiting { notices, answer, token, in_session, subject };
        self.traffic().expect(id.clone(), waiting)?;
        let expectation = Expectation::new(self.clone(), id.clone());
        self.send(request.into_text(&id), deadline).await?;
        Ok(Messages::of_call(to_read, answered, expectation))
    }

    /// Sends a message as one piece.
    pub(crate) async fn send(&self, text: String, deadline: Instant) -> Result<(), UpstreamFault> {
        self.traffic().touch();
        match timeout_at(deadline, self.out.send(Bytes::from(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(UpstreamFault::Unreachable),
            Err(_) => Err(UpstreamFault::TimedOut),
        }
    }

    /// Nobody waits for this any more; whether somebody had, in the era where the server is told.
    fn forget(&self, id: &Id) -> bool {
        self.traffic().forget(id)
    }

    /// Whether this is the connection of this grant; the gateway asks on any.
    fn is_modern_for(&self, owner: Option<&Arc<str>>) -> bool {
        let traffic = self.traffic();
        let ours = match (&traffic.owner, owner) {
            (Owner::All, _) | (Owner::Nobody | Owner::Grant(_), None) => true,
            (Owner::Grant(grant), Some(owner)) => grant == owner,
            (Owner::Nobody | Owner::Session, _) => false,
        };
        ours && !traffic.is_closed() && traffic.era == Some(Era::Modern)
    }

    /// Takes a connection that is nobody's yet; whether it could be had.
    fn claim_modern(&self, owner: Option<&Arc<str>>) -> bool {
        let mut traffic = self.traffic();
        let is_free = matches!(traffic.owner, Owner::Nobody | Owner::All) && !traffic.is_closed();
        let fits = matches!(traffic.era, None | Some(Era::Modern)) && traffic.opened.is_none();
        if is_free && fits {
            traffic.era = Some(Era::Modern);
            if let (Owner::Nobody, Some(owner)) = (&traffic.owner, owner) {
                traffic.owner = Owner::Grant(owner.clone());
            }
        }
        is_free && fits
    }

    /// Takes a connection for a session on which nothing was said that fixed the era.
    fn claim_for_session(&self) -> bool {
        let mut traffic = self.traffic();
        let is_free = matches!(traffic.owner, Owner::Nobody | Owner::All) && !traffic.is_closed();
        let fits = traffic.era.is_none() && traffic.opened.is_none() && traffic.idle().is_some();
        if is_free && fits && traffic.owner == Owner::Nobody {
            traffic.owner = Owner::Session;
        }
        is_free && fits
    }

    /// Notes that the server hears that its session is open; whether it is for the first time.
    pub(crate) fn announce(&self) -> bool {
        !std::mem::replace(&mut self.traffic().is_announced, true)
    }

    fn speak_modern(&self) {
        self.traffic().era = Some(Era::Modern);
    }

    /// What the server said when the session was opened, if it was.
    pub(crate) fn opened(&self) -> Option<Object> {
        self.traffic().opened.clone()
    }
}

/// Tokens of progress must be told apart on one connection: the server gets our id for it.
fn own_token(request: &mut Request) -> Option<Value> {
    let token = meta::progress_token(request.params.as_ref()).ok()??;
    let params = request.params.as_mut()?;
    meta::set(params, meta::key::PROGRESS_TOKEN, request.id.to_value());
    Some(token.to_value())
}

/// A session's part in a connection.
pub(crate) struct Attachment {
    pub(crate) connection: Arc<Connection>,
    /// Under which number it hears what belongs to no request; none: it does not.
    part: Option<u64>,
    /// Whether the connection goes on without it.
    is_guest: bool,
}

impl Attachment {
    /// A session that has the connection to itself.
    fn whole(connection: Arc<Connection>) -> Attachment {
        let part = Some(connection.traffic().add_part());
        Attachment { connection, part, is_guest: false }
    }

    /// One of several sessions.
    fn one_of_many(connection: Arc<Connection>) -> Attachment {
        let part = Some(connection.traffic().add_part());
        Attachment { connection, part, is_guest: true }
    }

    /// Somebody who only asks.
    pub(crate) fn guest(connection: Arc<Connection>) -> Attachment {
        Attachment { connection, part: None, is_guest: true }
    }

    pub(crate) fn is_guest(&self) -> bool {
        self.is_guest
    }

    /// What the server says without naming a request, from now on.
    pub(crate) fn listen(&self) -> Option<Messages> {
        let (stream, to_read) = mpsc::channel(self.connection.bounds.notices_max);
        self.connection.traffic().open_stream(self.part?, stream);
        Some(Messages::of_session(to_read))
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        match (self.is_guest, self.part) {
            (false, _) => self.connection.end(),
            (true, Some(part)) => self.connection.traffic().remove_part(part),
            (true, None) => {}
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.end();
    }
}
