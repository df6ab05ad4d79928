//! Whose each message of a server is: a request's by its id or its token, a session's, everybody's, nobody's.
//!
//! Nothing here waits: a reader that is too slow for notifications loses them, never an answer.

use std::collections::VecDeque;
use std::time::Duration;

use ahash::HashMap;
use portcullis_json::{Object, Value};
use portcullis_mcp::params::NotificationParams;
use portcullis_mcp::{Era, Id, Message, Notification, Outcome, Request, Response, Subject, code, meta};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::Owner;
use crate::own;
use crate::stop::UpstreamFault;

/// Messages kept for a session whose stream is not open yet.
const BACKLOG_MAX: usize = 16;

/// Somebody who waits for an answer.
pub(super) struct Waiting {
    pub(super) notices: mpsc::Sender<Message>,
    pub(super) answer: oneshot::Sender<Result<Response, UpstreamFault>>,
    /// The client's own token for progress; the server has our id for it.
    pub(super) token: Option<Value>,
    pub(super) in_session: bool,
    pub(super) subject: Subject,
}

/// A session's ear for what belongs to no request.
#[derive(Default)]
struct Part {
    stream: Option<mpsc::Sender<Message>>,
    backlog: VecDeque<Message>,
}

/// What is under way on a connection.
pub(super) struct Traffic {
    pub(super) owner: Owner,
    /// None: nothing was said yet that fixes it.
    pub(super) era: Option<Era>,
    /// The result of `initialize`.
    pub(super) opened: Option<Object>,
    /// Whether the server was told that its session is open.
    pub(super) is_announced: bool,
    pub(super) has_answered: bool,
    waiting: HashMap<Id, Waiting>,
    parts: HashMap<u64, Part>,
    next_part: u64,
    last_used: Instant,
    closed: Option<UpstreamFault>,
}

/// What else is to be done about a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing.
    Done,
    /// The server's tools are others now.
    ToolsChanged,
    /// The server asks something that nobody can answer.
    Refuse(Id),
    /// It is nobody's.
    Stray,
}

impl Traffic {
    pub(super) fn new(owner: Owner) -> Traffic {
        Traffic {
            owner,
            era: None,
            opened: None,
            is_announced: false,
            has_answered: false,
            waiting: HashMap::default(),
            parts: HashMap::default(),
            next_part: 0,
            last_used: Instant::now(),
            closed: None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    pub(super) fn touch(&mut self) {
        self.last_used = Instant::now();
    }

    pub(super) fn idle(&self) -> Option<Duration> {
        self.waiting.is_empty().then(|| self.last_used.elapsed())
    }

    /// From now on an answer under this id is wanted.
    pub(super) fn expect(&mut self, id: Id, waiting: Waiting) -> Result<(), UpstreamFault> {
        if self.is_closed() {
            return Err(UpstreamFault::Unreachable);
        }
        if waiting.in_session {
            self.hand_over_backlog(&waiting.notices);
        }
        self.waiting.insert(id, waiting);
        Ok(())
    }

    /// A request that may carry what waited for a stream.
    fn hand_over_backlog(&mut self, notices: &mpsc::Sender<Message>) {
        for part in self.parts.values_mut().filter(|part| part.stream.is_none()) {
            for message in part.backlog.drain(..) {
                let _ = notices.try_send(message);
            }
        }
    }

    /// Whether somebody waited whose giving up the server is told of.
    pub(super) fn forget(&mut self, id: &Id) -> bool {
        let Some(waiting) = self.waiting.remove(id) else {
            return false;
        };
        if waiting.subject == Subject::Discover {
            // No answer says as much as a refusal: what comes next may fix the era anew.
            self.era = None;
            return false;
        }
        self.era.is_some_and(Era::is_modern) && !self.is_closed()
    }

    pub(super) fn fail(&mut self, id: &Id, fault: UpstreamFault) {
        if let Some(waiting) = self.waiting.remove(id) {
            let _ = waiting.answer.send(Err(fault));
        }
    }

    pub(super) fn fail_all(&mut self, fault: &UpstreamFault) {
        for (_, waiting) in self.waiting.drain() {
            let _ = waiting.answer.send(Err(fault.clone()));
        }
    }

    pub(super) fn close(&mut self, fault: UpstreamFault) {
        self.fail_all(&fault);
        self.parts.clear();
        self.closed.get_or_insert(fault);
    }

    pub(super) fn add_part(&mut self) -> u64 {
        self.next_part += 1;
        self.parts.insert(self.next_part, Part::default());
        self.next_part
    }

    pub(super) fn remove_part(&mut self, part: u64) {
        self.parts.remove(&part);
    }

    /// What waited for a stream goes to it first. A stream that is opened again takes the place of the old.
    pub(super) fn open_stream(&mut self, part: u64, stream: mpsc::Sender<Message>) {
        if let Some(part) = self.parts.get_mut(&part) {
            for message in part.backlog.drain(..) {
                let _ = stream.try_send(message);
            }
            part.stream = Some(stream);
        }
    }

    pub(super) fn arrive(&mut self, message: Message) -> Arrival {
        self.touch();
        match message {
            Message::Response(response) => self.answer(response),
            Message::Request(request) => self.question(request),
            Message::Notification(notice) => {
                let tools_changed = notice.method.subject == Subject::ToolListChanged;
                let arrival = self.notice(notice);
                if tools_changed { Arrival::ToolsChanged } else { arrival }
            }
        }
    }

    fn answer(&mut self, response: Response) -> Arrival {
        self.has_answered = true;
        let id = match &response.id {
            Some(id) => Some(id.clone()),
            // An error about a request that the server could not read: whose, is clear if there is one.
            None => self.only_waiting(|_| true),
        };
        let Some(waiting) = id.and_then(|id| self.waiting.remove(&id)) else {
            return Arrival::Stray;
        };
        self.learn(waiting.subject, &response.outcome);
        let _ = waiting.answer.send(Ok(response));
        Arrival::Done
    }

    /// What an answer to the first requests tells about the connection.
    fn learn(&mut self, subject: Subject, outcome: &Outcome) {
        match (subject, outcome) {
            (Subject::Initialize, Outcome::Result(result)) => {
                self.era = own::revision_in(result).map(Era::Legacy);
                self.opened = Some(result.clone());
            }
            (Subject::Discover, Outcome::Error(error)) if !is_modern_error(error.code) => self.era = None,
            _ => {}
        }
    }

    pub(super) fn only_waiting(&self, wanted: impl Fn(&Waiting) -> bool) -> Option<Id> {
        let mut ids = self.waiting.iter().filter(|(_, waiting)| wanted(waiting)).map(|(id, _)| id);
        let only = ids.next()?;
        ids.next().is_none().then(|| only.clone())
    }

    fn question(&mut self, request: Request) -> Arrival {
        let id = request.id.clone();
        match self.tell_session(Message::Request(request)) {
            true => Arrival::Done,
            false => Arrival::Refuse(id),
        }
    }

    fn notice(&mut self, notice: Notification) -> Arrival {
        if notice.method.subject == Subject::Progress {
            return self.progress(notice);
        }
        if self.era.is_some_and(Era::is_modern) {
            return self.modern_notice(notice);
        }
        if self.owner == Owner::All {
            return self.tell_all(notice);
        }
        match self.tell_session(Message::Notification(notice)) {
            true => Arrival::Done,
            false => Arrival::Stray,
        }
    }

    /// Progress is the request's whose id is its token; the client knows it under its own.
    fn progress(&mut self, mut notice: Notification) -> Arrival {
        let token = notice.params.as_ref().and_then(|params| Id::from_value(params.get("progressToken")?));
        let waiting = token.and_then(|token| self.waiting.get(&token));
        let Some((waiting, token)) = waiting.and_then(|waiting| Some((waiting, waiting.token.clone()?)))
        else {
            return Arrival::Stray;
        };
        if let Some(params) = &mut notice.params {
            params.insert("progressToken", token);
        }
        let _ = waiting.notices.try_send(Message::Notification(notice));
        Arrival::Done
    }

    /// In the modern era a notification names its subscription, or belongs to a request.
    fn modern_notice(&mut self, notice: Notification) -> Arrival {
        if let Ok(NotificationParams::Cancelled(cancelled)) = notice.view() {
            // The server ends a subscription: whoever reads it sees its end.
            let ended = self.waiting.remove(&cancelled.request_id);
            return if ended.is_some() { Arrival::Done } else { Arrival::Stray };
        }
        let subscription = meta::subscription_id(notice.params.as_ref()).ok().flatten();
        let about_a_call = |waiting: &Waiting| waiting.subject != Subject::SubscriptionListen;
        let id = match subscription {
            Some(id) => Some(id),
            // In a shared process nobody can tell whose it is.
            None if self.owner == Owner::All => None,
            None => self.only_waiting(about_a_call),
        };
        let Some(waiting) = id.and_then(|id| self.waiting.get(&id)) else {
            return Arrival::Stray;
        };
        let _ = waiting.notices.try_send(Message::Notification(notice));
        Arrival::Done
    }

    /// Changes of lists and resources are news for every session of a shared process, nothing else is.
    fn tell_all(&mut self, notice: Notification) -> Arrival {
        let is_news = matches!(
            notice.method.subject,
            Subject::ToolListChanged
                | Subject::ResourceListChanged
                | Subject::ResourceUpdated
                | Subject::PromptListChanged
        );
        if !is_news {
            return Arrival::Stray;
        }
        for stream in self.parts.values().filter_map(|part| part.stream.as_ref()) {
            let _ = stream.try_send(Message::Notification(notice.clone()));
        }
        Arrival::Done
    }

    /// To the session's stream; without one to the only call; without that it waits for a stream.
    fn tell_session(&mut self, message: Message) -> bool {
        if self.owner != Owner::Session {
            return false;
        }
        let only_call = self.only_waiting(|waiting| waiting.in_session);
        let call = only_call.and_then(|id| self.waiting.get(&id)).map(|waiting| waiting.notices.clone());
        let Some(part) = self.parts.values_mut().next() else {
            return false;
        };
        part.stream = part.stream.take().filter(|stream| !stream.is_closed());
        if let Some(reader) = part.stream.as_ref().or(call.as_ref()) {
            return reader.try_send(message).is_ok();
        }
        let has_room = part.backlog.len() < BACKLOG_MAX;
        if has_room {
            part.backlog.push_back(message);
        }
        has_room
    }
}

/// What only servers of the modern era answer with.
fn is_modern_error(code: i64) -> bool {
    matches!(code, code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_REVISION)
}
