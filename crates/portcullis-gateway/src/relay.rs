//! Streams: a server's events to a client, each parsed, judged and written anew.
//!
//! One task per stream. It ends when the server ends, the client goes, the grant ends, the answer has come
//! or time is up. In the modern era the end of this task closes the connection to the server, and that
//! cancels the request.

mod answers;
mod lifetime;
mod messages;
mod resume;

pub(crate) use lifetime::Lists;
pub(crate) use messages::wanted_lists;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis_mcp::sse::{self, Event};
use portcullis_mcp::{Era, Id};
use portcullis_policy::Detectors;
use portcullis_state::log::Ending;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::authenticate::{Caller, CutOff, Door};
use crate::events::{Arrived, EventSource};
use crate::gateway::Gateway;
use crate::own;
use crate::record::Receipt;
use crate::respond;
use crate::room::Held;
use crate::sessions::{Call, Session};
use crate::settings::milliseconds;
use crate::stop::{Stop, UpstreamFault};
use answers::Answers;
use lifetime::Lifetime;
use resume::Place;

/// What a stream is for.
pub(crate) enum Purpose {
    /// The answer to one request, and what belongs to it.
    Call(Call),
    /// A modern subscription, until somebody ends it; which changed lists it wants to hear of.
    Listen(Call, Lists),
    /// The stream of a legacy session; whether the client comes back for what it missed.
    Session { resumes: bool },
}

impl Purpose {
    fn call(&self) -> Option<&Call> {
        match self {
            Purpose::Call(call) | Purpose::Listen(call, _) => Some(call),
            Purpose::Session { .. } => None,
        }
    }

    fn wanted_lists(&self) -> Lists {
        match self {
            Purpose::Call(_) => Lists::default(),
            Purpose::Listen(_, wanted) => *wanted,
            Purpose::Session { .. } => Lists::ALL,
        }
    }

    fn ends_by_itself(&self) -> bool {
        matches!(self, Purpose::Call(_))
    }
}

/// A stream being relayed.
pub(crate) struct Relay {
    gateway: Arc<Gateway>,
    caller: Caller,
    era: Era,
    purpose: Purpose,
    out: mpsc::Sender<Bytes>,
    lifetime: Lifetime,
    answers: Answers,
    place: Place,
}

/// Why a stream ended.
enum End {
    /// The server is done with it, or the session is over.
    Done,
    /// The answer was given; an error is one.
    Answered(Ending),
    ClientGone,
    /// The grant may not go on, or not at this server.
    CutOff(CutOff),
    Failed(UpstreamFault),
}

/// Starts relaying; gives what the client reads. `source`: none for a stream that only we write to. `held`
/// was taken before anything left: a call that has run must not find that there is no room for its answer.
pub(crate) fn start(
    gateway: &Arc<Gateway>,
    caller: Caller,
    era: Era,
    purpose: Purpose,
    source: Option<EventSource>,
    receipt: Option<Receipt>,
    held: Held,
) -> Result<mpsc::Receiver<Bytes>, Stop> {
    let (out, read) = mpsc::channel(gateway.settings.stream_events_max.max(1));
    let lifetime = Lifetime::new(gateway, &caller, purpose.wanted_lists());
    // From here on every change is heard; one that came just before is seen now.
    let caller = caller.again(gateway)?;
    let (answers, place) = (Answers::new(), Place::default());
    let relay = Relay { gateway: gateway.clone(), caller, era, purpose, out, lifetime, answers, place };
    tokio::spawn(relay.run(source, receipt, held));
    Ok(read)
}

impl Relay {
    async fn run(mut self, source: Option<EventSource>, receipt: Option<Receipt>, _held: Held) {
        // The events of a session's stream begin when they do; the client wants to know that it is open.
        let _ = self.send_comment().await;
        if source.is_none() {
            let _ = self.acknowledge().await;
        }
        let end = self.pump(source).await;
        for receipt in receipt.into_iter().chain(self.place.receipt.take()) {
            match &end {
                End::Done => receipt.finish(Ending::Answered, None),
                End::Answered(ending) => receipt.finish(*ending, None),
                End::ClientGone => drop(receipt),
                End::CutOff(why) => receipt.finish(Ending::Cancelled, Some(why.text())),
                End::Failed(fault) => receipt.finish_by(Some(fault)),
            }
        }
        self.cancel_at_server(&end);
        self.say_goodbye(end).await;
    }

    /// In the legacy era closing the connection does not cancel: a call that we give up must be told so.
    fn cancel_at_server(&self, end: &End) {
        let given_up = matches!(end, End::CutOff(_) | End::Failed(UpstreamFault::TimedOut));
        if let (true, Purpose::Call(call), Some(session)) = (given_up, &self.purpose, &self.caller.session) {
            own::cancel(&self.gateway, session.clone(), call.our_id.clone());
        }
    }

    async fn pump(&mut self, mut source: Option<EventSource>) -> End {
        let started = Instant::now();
        let ceiling = started + milliseconds(self.gateway.settings.call_timeout_ms);
        let silence = self.caller.server.answer_timeout(&self.gateway.settings);
        let keep_alive = milliseconds(self.gateway.settings.keep_alive_ms.max(1));
        let mut last_event = started;
        let mut next_comment = started + keep_alive;
        let session = self.caller.session.clone();
        loop {
            // Asked each time: whoever opens late is not woken by the change that closed the others.
            if self.gateway.is_closing() && !self.purpose.ends_by_itself() {
                return End::Done;
            }
            // Also asked each time: events that come without a pause leave no time for a clock to strike.
            if let Some(why) = self.lifetime.expired() {
                return End::CutOff(why);
            }
            let deadline = self.deadline(last_event, silence, ceiling);
            tokio::select! {
                arrived = next_event(&mut source) => match arrived {
                    Ok(Some(arrived)) => {
                        last_event = Instant::now();
                        self.place.note(&arrived.event);
                        match self.relay(arrived).await {
                            Ok(None) => {}
                            Ok(Some(ending)) => return End::Answered(ending),
                            Err(end) => return end,
                        }
                    }
                    Ok(None) | Err(_) if self.outlives_source() => source = None,
                    Ok(None) if self.can_resume() => match self.resume(ceiling).await {
                        Ok(rest) => (source, last_event) = (Some(rest), Instant::now()),
                        Err(end) => return end,
                    },
                    Ok(None) => return self.ended_early(),
                    Err(fault) => return End::Failed(fault),
                },
                () = self.out.closed() => return End::ClientGone,
                () = is_over(session.as_deref()), if self.is_of_session() => return End::Done,
                changed = self.lifetime.changed() => match changed {
                    Err(why) => return End::CutOff(why),
                    Ok(caller) => if let Err(end) = self.changed(caller).await { return end },
                },
                () = sleep_until(deadline), if self.purpose.ends_by_itself() => {
                    match self.sign_of_life(&source, last_event, silence) {
                        Some(at) if Instant::now() < ceiling => last_event = at,
                        _ => return End::Failed(UpstreamFault::TimedOut),
                    }
                }
                () = sleep_until(next_comment) => {
                    next_comment = Instant::now() + keep_alive;
                    let kept = match self.give_up_questions() {
                        Ok(()) => self.send_comment().await,
                        Err(end) => Err(end),
                    };
                    if let Err(end) = kept {
                        return end;
                    }
                }
            }
        }
    }

    fn deadline(&self, last_event: Instant, silence: Duration, ceiling: Instant) -> Instant {
        (last_event + silence).min(ceiling)
    }

    fn is_of_session(&self) -> bool {
        matches!(self.purpose, Purpose::Session { .. })
    }

    /// Since when the server is silent, if not too long yet: comments count, and so does waiting for an
    /// answer of the client.
    fn sign_of_life(
        &self,
        source: &Option<EventSource>,
        last_event: Instant,
        silence: Duration,
    ) -> Option<Instant> {
        let now = Instant::now();
        let waits_for_client = self.caller.session.as_ref().is_some_and(|session| session.has_questions());
        let heard = source.as_ref().and_then(EventSource::heard).filter(|heard| *heard > last_event);
        if waits_for_client { Some(now) } else { heard.filter(|heard| *heard + silence > now) }
    }

    /// What is blanked out on this stream. What comes on the stream of a session may belong to any of its
    /// calls.
    fn redact(&self) -> Detectors {
        match (&self.purpose, &self.caller.session) {
            (Purpose::Call(call) | Purpose::Listen(call, _), _) => call.redact,
            (Purpose::Session { .. }, session) => {
                let policy = self.caller.policy.as_ref();
                let always = policy.map_or_else(Detectors::default, |active| active.policy.redact_always());
                session.as_ref().map_or(always, |session| always.union(session.redact()))
            }
        }
    }

    /// A client on a pipe cannot come back for another stream: its session's goes on with our own news.
    fn outlives_source(&self) -> bool {
        self.caller.door == Door::Pipe && self.is_of_session()
    }

    /// A legacy server may close a stream and go on with it when the client comes back for the rest.
    fn ended_early(&self) -> End {
        match (&self.purpose, self.era) {
            // A session's stream without its source would look open and say nothing: the client comes back.
            (Purpose::Listen(..) | Purpose::Session { .. }, _) => End::Done,
            (Purpose::Call(call), Era::Legacy(_)) if self.is_open(&call.our_id) => {
                End::Failed(UpstreamFault::Broken)
            }
            _ => End::Failed(UpstreamFault::NotMcp("the stream ended without an answer")),
        }
    }

    fn is_open(&self, our_id: &Id) -> bool {
        self.caller.session.as_ref().is_some_and(|session| session.is_open(our_id))
    }

    /// What the client still has to hear. After this the stream is closed.
    async fn say_goodbye(&self, end: End) {
        let stop = match end {
            End::Done | End::Answered(_) | End::ClientGone => return,
            // A legacy client comes back for the rest, with the id of the last event; on a pipe it cannot.
            End::Failed(UpstreamFault::Broken)
                if self.era.has_sessions() && self.caller.door == Door::Http =>
            {
                return;
            }
            End::Failed(fault) => Stop::Upstream(fault),
            End::CutOff(why) => why.into(),
        };
        if let Purpose::Call(call) = &self.purpose {
            let _ = self.send_message(respond::error_text(Some(&call.client_id), &stop), None).await;
        }
    }

    /// The configuration changed under us.
    async fn changed(&mut self, caller: Caller) -> Result<(), End> {
        let changed = self.lifetime.changed_lists(&caller);
        self.caller = caller;
        self.tell_changed(changed).await
    }

    /// A pipe needs no sign of life.
    async fn send_comment(&self) -> Result<(), End> {
        match self.caller.door {
            Door::Http => self.send_text(sse::comment().to_owned()).await,
            Door::Pipe => Ok(()),
        }
    }

    async fn send_message(&self, text: String, event: Option<Event>) -> Result<(), End> {
        if self.caller.door == Door::Pipe {
            return self.send_text(text + "\n").await;
        }
        // Event ids are the server's, for coming back to it; a modern stream has none.
        let event = event.filter(|_| self.era.has_sessions()).unwrap_or_default();
        let event = Event { id: self.clean_id(event.id), retry_ms: event.retry_ms, ..Event::message(text) };
        match sse::write_event(&event) {
            Ok(text) => self.send_text(text).await,
            Err(_) => Err(End::Failed(UpstreamFault::NotMcp("an illegal event id"))),
        }
    }

    /// INVARIANT: secrets do not print. An id that holds the server's credential is nowhere to come back to.
    fn clean_id(&self, id: Option<String>) -> Option<String> {
        id.filter(|id| !self.caller.server.scrubber.is_in_text(id))
    }

    /// A reader that stalls must not keep a grant alive that has ended.
    async fn send_text(&self, text: String) -> Result<(), End> {
        let text = match self.out.try_send(Bytes::from(text)) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(End::ClientGone),
            Err(mpsc::error::TrySendError::Full(text)) => text,
        };
        let patience = milliseconds(self.gateway.settings.write_stall_timeout_ms);
        tokio::select! {
            sent = self.out.send_timeout(text, patience) => sent.map_err(|_| End::ClientGone),
            why = self.lifetime.ended() => Err(End::CutOff(why)),
        }
    }
}

/// Resolves when the session has ended, here or at its server.
async fn is_over(session: Option<&Session>) {
    match session {
        Some(session) => session.is_over().await,
        None => std::future::pending().await,
    }
}

async fn next_event(source: &mut Option<EventSource>) -> Result<Option<Arrived>, UpstreamFault> {
    match source {
        Some(source) => source.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::task::Poll;

    use jiff::Timestamp;
    use portcullis_state::grants::GrantTable;
    use portcullis_state::log::LogOptions;

    use crate::Snapshot;
    use crate::limits::tests::{approved, gateway_on, snapshot};

    /// A stream whose reader takes nothing: the one place for a message is taken.
    fn stalled(gateway: &Arc<Gateway>) -> (Relay, mpsc::Receiver<Bytes>) {
        let caller = approved(gateway).into_parts().0.caller;
        let (out, unread) = mpsc::channel(1);
        out.try_send(Bytes::new()).unwrap();
        let purpose = Purpose::Session { resumes: false };
        let lifetime = Lifetime::new(gateway, &caller, purpose.wanted_lists());
        let (gateway, answers, place) = (gateway.clone(), Answers::new(), Place::default());
        (Relay { gateway, caller, era: Era::Modern, purpose, out, lifetime, answers, place }, unread)
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_cannot_keep_a_revoked_grants_stream_open() {
        let place = tempfile::tempdir().unwrap();
        let options = LogOptions::default();
        let gateway = Arc::new(gateway_on(place.path(), Arc::new(Timestamp::now), options));
        let (relay, _unread) = stalled(&gateway);
        let revoke = async {
            gateway.replace(Snapshot::compile(Vec::new(), Vec::new(), GrantTable::default()).unwrap());
        };
        // The first is polled first: it waits for the reader when the grant ends.
        let (sent, ()) = tokio::join!(relay.send_text("x".to_owned()), revoke);
        assert!(matches!(sent, Err(End::CutOff(CutOff::Grant))));
    }

    /// The clock is asked, not only waited for: a server that sends without a pause would never let it strike.
    #[tokio::test]
    async fn a_grant_whose_time_is_over_is_noticed_without_waiting() {
        let place = tempfile::tempdir().unwrap();
        let second = Arc::new(AtomicI64::new(1_800_000_000));
        let read = second.clone();
        let clock = move || Timestamp::from_second(read.load(Ordering::SeqCst)).unwrap();
        let gateway = Arc::new(gateway_on(place.path(), Arc::new(clock), LogOptions::default()));
        let expires = Timestamp::from_second(1_800_000_060).unwrap();
        gateway.replace(snapshot("http://127.0.0.1:1/", Some(expires)));
        let (mut relay, _unread) = stalled(&gateway);
        assert!(relay.lifetime.expired().is_none());
        second.fetch_add(60, Ordering::SeqCst);
        let mut pumping = pin!(relay.pump(None));
        let at_once = std::future::poll_fn(|context| Poll::Ready(pumping.as_mut().poll(context))).await;
        assert!(matches!(at_once, Poll::Ready(End::CutOff(CutOff::Grant))));
    }

    /// Who asked just before the stop must not keep the gateway from stopping.
    #[tokio::test]
    async fn a_stream_that_opens_after_the_others_were_closed_is_closed_too() {
        let place = tempfile::tempdir().unwrap();
        let options = LogOptions::default();
        let gateway = Arc::new(gateway_on(place.path(), Arc::new(Timestamp::now), options));
        gateway.close_streams();
        let caller = approved(&gateway).into_parts().0.caller;
        let held = Held::Stream(gateway.streams.take(&caller, &gateway.settings).unwrap());
        let purpose = Purpose::Session { resumes: false };
        let mut read = start(&gateway, caller, Era::Modern, purpose, None, None, held).unwrap();
        let end = async { while read.recv().await.is_some() {} };
        let ended = tokio::time::timeout(Duration::from_secs(20), end).await;
        assert!(ended.is_ok(), "it stays open");
    }
}
