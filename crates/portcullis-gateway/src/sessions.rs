//! Sessions of legacy clients: ours, each bound to one grant and one server, with the server's own behind.
//!
//! A session id proves nothing about who shows it: the right id with another grant's token, or at another
//! server, is answered as one that does not exist.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ahash::HashMap;
use jiff::Timestamp;
use portcullis_mcp::{Era, Id, LegacyRevision, Subject};
use portcullis_policy::Detectors;
use tokio::sync::watch;

use crate::own::{Place, UpstreamSession};
use crate::server::Server;
use crate::settings::Settings;
use crate::stop::{GatewayFault, Stop};

/// Answered calls of one session whose answer may be asked for again.
const ANSWERED_MAX: usize = 64;

/// One session.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) grant: String,
    pub(crate) server: Arc<Server>,
    pub(crate) revision: LegacyRevision,
    pub(crate) client: Option<String>,
    /// The server's own session.
    upstream: Option<UpstreamSession>,
    last_used_ms: AtomicI64,
    traffic: Mutex<Traffic>,
    over: watch::Sender<bool>,
}

/// What is under way in a session.
#[derive(Default)]
struct Traffic {
    /// Calls by our id, oldest first.
    calls: VecDeque<Call>,
    /// Calls that were answered lately: a client that lost the answer may come back for it.
    answered: VecDeque<Call>,
    /// Questions of the server by our number, oldest first.
    questions: VecDeque<Question>,
    next_question: i64,
}

/// A request of the client that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Ours, as the server knows it.
    pub(crate) our_id: Id,
    /// The client's.
    pub(crate) client_id: Id,
    pub(crate) subject: Subject,
    pub(crate) redact: Detectors,
}

/// A question of the server that the client has not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    our_id: Id,
    pub(crate) server_id: Id,
    pub(crate) method: &'static str,
    asked: Instant,
}

impl Session {
    /// Where messages of this session go.
    pub(crate) fn place(&self) -> Place {
        let owner = Some(Arc::from(self.grant.as_str()));
        Place { era: Era::Legacy(self.revision), session: self.upstream.clone(), owner }
    }

    /// Whether nobody used it for so long that it has ended.
    fn is_idle(&self, settings: &Settings, now: Timestamp) -> bool {
        let idle_ms = now.as_millisecond().saturating_sub(self.last_used_ms.load(Ordering::Relaxed));
        u64::try_from(idle_ms).unwrap_or_default() > settings.session_idle_timeout_ms
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call; a call that was forgotten for it can still be answered on its own stream.
    pub(crate) fn open_call(&self, call: Call, calls_max: usize) {
        let mut traffic = self.traffic();
        if traffic.calls.len() >= calls_max {
            traffic.calls.pop_front();
        }
        traffic.calls.push_back(call);
    }

    /// The call with this id of ours; it is answered now.
    pub(crate) fn close_call(&self, our_id: &Id) -> Option<Call> {
        let mut traffic = self.traffic();
        let index = traffic.calls.iter().position(|call| call.our_id == *our_id)?;
        let call = traffic.calls.remove(index)?;
        if traffic.answered.len() >= ANSWERED_MAX {
            traffic.answered.pop_front();
        }
        traffic.answered.push_back(call.clone());
        Some(call)
    }

    /// Whether the call with this id of ours waits for its answer.
    pub(crate) fn is_open(&self, our_id: &Id) -> bool {
        self.traffic().calls.iter().any(|call| call.our_id == *our_id)
    }

    /// The call with this id of ours, if it was answered lately.
    pub(crate) fn answered_call(&self, our_id: &Id) -> Option<Call> {
        self.traffic().answered.iter().find(|call| call.our_id == *our_id).cloned()
    }

    /// What is to be blanked out for any of the calls that are under way.
    pub(crate) fn redact(&self) -> Detectors {
        let traffic = self.traffic();
        traffic.calls.iter().fold(Detectors::default(), |all, call| all.union(call.redact))
    }

    /// Our id of the client's request.
    pub(crate) fn our_id_of(&self, client_id: &Id) -> Option<Id> {
        let traffic = self.traffic();
        traffic.calls.iter().find(|call| call.client_id == *client_id).map(|call| call.our_id.clone())
    }

    /// Notes a question of the server and gives it an id of ours; none when too many wait.
    pub(crate) fn open_question(
        &self,
        server_id: Id,
        method: &'static str,
        questions_max: usize,
    ) -> Option<Id> {
        let mut traffic = self.traffic();
        if traffic.questions.len() >= questions_max {
            return None;
        }
        traffic.next_question += 1;
        let our_id = Id::from(format!("question-{}", traffic.next_question).as_str());
        let asked = Instant::now();
        traffic.questions.push_back(Question { our_id: our_id.clone(), server_id, method, asked });
        Some(our_id)
    }

    /// The question that the client answers.
    pub(crate) fn close_question(&self, our_id: &Id) -> Option<Question> {
        let mut traffic = self.traffic();
        let index = traffic.questions.iter().position(|question| question.our_id == *our_id)?;
        traffic.questions.remove(index)
    }

    /// The question that the server takes back.
    pub(crate) fn withdraw_question(&self, server_id: &Id) -> Option<Id> {
        let mut traffic = self.traffic();
        let index = traffic.questions.iter().position(|question| question.server_id == *server_id)?;
        traffic.questions.remove(index).map(|question| question.our_id)
    }

    /// Drops the questions that have waited longer than this; the server's ids of them.
    pub(crate) fn expire_questions(&self, patience: Duration) -> Vec<Id> {
        let mut traffic = self.traffic();
        let waiting = traffic.questions.iter().take_while(|question| question.asked.elapsed() >= patience);
        let expired = waiting.count();
        traffic.questions.drain(..expired).map(|question| question.server_id).collect()
    }

    /// Resolves when the session has ended.
    pub(crate) async fn is_over(&self) {
        // That nobody can say it any more means the same.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }

    fn end(&self) {
        self.over.send_replace(true);
    }

    /// Whether the server waits for the client: then it is not the server that is slow.
    pub(crate) fn has_questions(&self) -> bool {
        !self.traffic().questions.is_empty()
    }
}

/// Sessions that ended here and wait to be ended at their servers; beyond, they are left to idle out there.
const ENDED_MAX: usize = 10_000;

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<String, Arc<Session>>>,
    /// Ended by us and not by the client: their servers do not know yet.
    ended: Mutex<VecDeque<Arc<Session>>>,
}

/// What a new session is made of.
pub(crate) struct Opening {
    pub(crate) grant: String,
    pub(crate) server: Arc<Server>,
    pub(crate) revision: LegacyRevision,
    pub(crate) client: Option<String>,
    pub(crate) upstream: Option<UpstreamSession>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is room for one more of this grant. Looked at before the server is asked for a session.
    pub(crate) fn check_room(&self, grant: &str, settings: &Settings, now: Timestamp) -> Result<(), Stop> {
        self.make_room(&mut self.lock(), grant, settings, now)
    }

    pub(crate) fn open(
        &self,
        opening: Opening,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Arc<Session>, Stop> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|_| GatewayFault::NoRandomness)?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let session = Arc::new(Session {
            id: id.clone(),
            grant: opening.grant,
            server: opening.server,
            revision: opening.revision,
            client: opening.client,
            upstream: opening.upstream,
            last_used_ms: AtomicI64::new(now.as_millisecond()),
            traffic: Mutex::default(),
            over: watch::Sender::new(false),
        });
        let mut sessions = self.lock();
        // Others may have opened theirs while the server was asked.
        self.make_room(&mut sessions, &session.grant, settings, now)?;
        sessions.insert(id, session.clone());
        Ok(session)
    }

    /// The session with this id, if it is this grant's at this server.
    pub(crate) fn find(
        &self,
        id: &str,
        grant: &str,
        server: &Arc<Server>,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Arc<Session>> {
        let mut sessions = self.lock();
        let session = sessions.get(id)?;
        if session.is_idle(settings, now) {
            self.retire(sessions.remove(id));
            return None;
        }
        // Another server under the same name is another server.
        let ours = session.grant == grant && Arc::ptr_eq(&session.server, server);
        ours.then(|| {
            session.last_used_ms.fetch_max(now.as_millisecond(), Ordering::Relaxed);
            session.clone()
        })
    }

    pub(crate) fn close(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.lock().remove(id);
        session.inspect(|session| session.end())
    }

    /// Ends what no grant or server is left for.
    pub(crate) fn retain(&self, keep: impl Fn(&Session) -> bool) {
        let mut sessions = self.lock();
        self.retire(sessions.extract_if(|_, session| !keep(session)).map(|(_, session)| session));
    }

    /// Ends what idled too long.
    pub(crate) fn retire_idle(&self, settings: &Settings, now: Timestamp) {
        self.retain(|session| !session.is_idle(settings, now));
    }

    fn retire(&self, sessions: impl IntoIterator<Item = Arc<Session>>) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = sessions.into_iter().inspect(|session| session.end());
        // One that the server never named needs no ending there.
        ended.extend(sessions.filter(|session| session.upstream.is_some()));
        ended.truncate(ENDED_MAX);
    }

    /// The next session that its server is to be told of.
    pub(crate) fn next_ended(&self) -> Option<Arc<Session>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Whether there is one.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Room for one more of this grant; what idled too long makes room first.
    fn make_room(
        &self,
        sessions: &mut HashMap<String, Arc<Session>>,
        grant: &str,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<(), Stop> {
        let is_full = |sessions: &HashMap<String, Arc<Session>>| {
            let of_grant = || sessions.values().filter(|session| session.grant == grant).count();
            sessions.len() >= settings.sessions_max || of_grant() >= settings.sessions_per_grant_max
        };
        if is_full(sessions) {
            let idle = sessions.extract_if(|_, session| session.is_idle(settings, now));
            self.retire(idle.map(|(_, session)| session));
        }
        match is_full(sessions) {
            true => Err(GatewayFault::Full("sessions").into()),
            false => Ok(()),
        }
    }
}
