//! A client on a pipe: one message on each line, through the very same pipeline as over HTTP.
//!
//! For `wrap`. Whoever started us is the grant that it says; there is no token, no header, no origin. The
//! process is the session: it opens with `initialize`, hears the server at once, and ends with the pipe.

mod session;
mod writer;

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use portcullis_mcp::params::NotificationParams;
use portcullis_mcp::{Era, Id, Message, Subject};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::Gateway;
use crate::authenticate::{Caller, implicit};
use crate::conclude::conclude;
use crate::lines::{Line, Lines};
use crate::parse::{Envelope, Parsed, parse};
use crate::pipeline;
use crate::record::Trail;
use crate::respond::{self, Answer};
use crate::sessions::Session;
use crate::settings::milliseconds;
use crate::stop::{ClientFault, GatewayFault, Stop, UpstreamFault};
use writer::Said;

/// Whom a pipe is for.
#[derive(Clone, Debug)]
pub struct PipeClient {
    /// The id of the grant whose policy judges.
    pub grant: String,
    /// The server's name.
    pub server: String,
}

/// Why a pipe was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeEnd {
    /// The client closed its end.
    InputClosed,
    /// The client does not read any more.
    OutputClosed,
    /// The server's program, or its session, has ended; the client has to start anew.
    ServerGone,
    /// We were told to stop.
    Stopped,
}

/// Answers one client on `input` and `output` until it goes, its server goes, or `shutdown` resolves.
///
/// Open calls then get `pipe_drain_ms`; what is open after that is cancelled, and its outcome recorded. The
/// session is ended at the server. Processes in other hands are left to [`Gateway::end_processes`].
pub async fn serve_pipe(
    gateway: Arc<Gateway>,
    client: PipeClient,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    shutdown: impl Future<Output = ()>,
) -> PipeEnd {
    let (out, lines) = mpsc::channel(gateway.settings.stream_events_max.max(1));
    let mut writer = tokio::spawn(writer::write(output, lines));
    let front = Arc::new(Front::new(gateway, client, out));
    let mut calls = JoinSet::new();
    let end = front.listen(input, shutdown, &mut calls).await;
    front.leave(&mut calls).await;
    drop((front, calls));
    // What was written to the pipe is read, or nobody is there to read it.
    let patience = milliseconds(writer::LAST_WRITES_MS);
    if timeout(patience, &mut writer).await.is_err() {
        writer.abort();
        // What it could not write any more is recorded by the time that it is gone.
        let _ = writer.await;
    }
    end
}

/// One client.
struct Front {
    gateway: Arc<Gateway>,
    client: PipeClient,
    out: mpsc::Sender<Said>,
    known: Mutex<Known>,
    session_opened: Notify,
    server_gone: Notify,
    client_gone: Notify,
}

/// What is known of the client by now.
#[derive(Default)]
struct Known {
    session: Option<Arc<Session>>,
    era: Option<Era>,
    /// Writes what comes on the session's stream.
    stream: Option<AbortHandle>,
    /// Requests under way by the client's id.
    open: HashMap<Id, AbortHandle>,
}

/// A line that was read.
struct Received {
    caller: Caller,
    parsed: Parsed,
    trail: Trail,
    started: Instant,
}

impl Front {
    fn new(gateway: Arc<Gateway>, client: PipeClient, out: mpsc::Sender<Said>) -> Front {
        Front {
            gateway,
            client,
            out,
            known: Mutex::default(),
            session_opened: Notify::new(),
            server_gone: Notify::new(),
            client_gone: Notify::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn listen(
        self: &Arc<Front>,
        input: impl AsyncRead + Unpin,
        shutdown: impl Future<Output = ()>,
        calls: &mut JoinSet<()>,
    ) -> PipeEnd {
        let mut lines = Lines::new(input, self.gateway.settings.body_bytes_max);
        let mut end = pin!(self.end(shutdown));
        loop {
            // Calls that ended are put away when the next one starts: no answer shall cost a turn of this. Not biased: a
            // client that never pauses would keep it from ever leaving.
            tokio::select! {
                line = lines.next() => match line {
                    Ok(Some(line)) => self.take(line, calls).await,
                    Ok(None) | Err(_) => return PipeEnd::InputClosed,
                },
                end = &mut end => return end,
            }
        }
    }

    /// Resolves when there is a reason to leave, whatever the client still says.
    async fn end(&self, shutdown: impl Future<Output = ()>) -> PipeEnd {
        tokio::select! {
            () = shutdown => PipeEnd::Stopped,
            () = self.out.closed() => PipeEnd::OutputClosed,
            () = self.client_gone.notified() => PipeEnd::OutputClosed,
            () = self.server_ended() => PipeEnd::ServerGone,
        }
    }

    /// One line: a request goes on by itself; what must stay in order is waited for.
    async fn take(self: &Arc<Front>, line: Line, calls: &mut JoinSet<()>) {
        let started = Instant::now();
        let now = self.gateway.now();
        let mut trail = match Trail::new(now) {
            Ok(trail) => trail,
            Err(stop) => return self.refuse(&stop, &Trail::default()).await,
        };
        let (caller, parsed) = match self.read(line, now, &mut trail) {
            Ok(read) => read,
            Err(stop) => {
                conclude(&self.gateway, None, started, Some(&stop), &trail).await;
                return self.refuse(&stop, &trail).await;
            }
        };
        let received = Received { caller, parsed, trail, started };
        match Kind::of(&received.parsed.message) {
            Kind::Cancelled(id) => self.cancel(&id, received).await,
            Kind::Opened => {
                self.clone().serve(received).await;
                self.hear_server_over_http().await;
            }
            kind => self.start(kind, received, calls).await,
        }
    }

    fn read(&self, line: Line, now: Timestamp, trail: &mut Trail) -> Result<(Caller, Parsed), Stop> {
        let gateway = &self.gateway;
        let mut caller = implicit(&gateway.live(), &self.client.grant, &self.client.server, now)?;
        trail.grant = Some(caller.grant_id().to_owned());
        trail.server = Some(caller.server.name().to_owned());
        let Line::Whole(bytes) = line else {
            return Err(ClientFault::BodyTooLarge.into());
        };
        let (session, era) = {
            let known = self.known();
            (known.session.clone(), known.era)
        };
        // Another server under the same name is another server.
        caller.session = session.filter(|session| Arc::ptr_eq(&session.server, &caller.server));
        let parsed = parse(gateway, &mut caller, Envelope::Line(era), &bytes, trail)?;
        if parsed.era.is_modern() {
            self.known().era = Some(Era::Modern);
        }
        Ok((caller, parsed))
    }

    /// A request is taken back: a legacy server that has it is told, and nobody waits for its answer.
    async fn cancel(self: &Arc<Front>, id: &Id, received: Received) {
        let session = received.caller.session.clone();
        let our_id = session.as_ref().and_then(|session| session.our_id_of(id));
        if our_id.is_some() {
            self.clone().serve(received).await;
        }
        // In the modern era, and before it left, that is all there is to it.
        if let Some(task) = self.known().open.remove(id) {
            task.abort();
        }
        if let (Some(session), Some(our_id)) = (session, our_id) {
            session.close_call(&our_id);
        }
    }

    async fn start(self: &Arc<Front>, kind: Kind, received: Received, calls: &mut JoinSet<()>) {
        while calls.try_join_next().is_some() {}
        if calls.len() >= self.gateway.settings.session_calls_max {
            let stop = GatewayFault::Full("requests").into();
            conclude(&self.gateway, None, received.started, Some(&stop), &received.trail).await;
            if matches!(kind, Kind::Request(_)) {
                self.refuse(&stop, &received.trail).await;
            }
            return;
        }
        // Noted before it runs, so that it can be taken back at any moment.
        let mut known = self.known();
        let task = calls.spawn(self.clone().serve(received));
        if let Kind::Request(id) = kind {
            known.open.retain(|_, task| !task.is_finished());
            known.open.insert(id, task);
        }
    }

    /// The life of one message; what comes of it is written.
    async fn serve(self: Arc<Front>, received: Received) {
        let Received { caller, parsed, mut trail, started } = received;
        let is_request = matches!(parsed.message, Message::Request(_));
        let ended = self.judge(caller, parsed, &mut trail).await;
        conclude(&self.gateway, None, started, ended.as_ref().err(), &trail).await;
        match ended {
            Ok(answer) => self.give(answer).await,
            Err(stop) => {
                if is_request {
                    self.refuse(&stop, &trail).await;
                }
                if matches!(stop, Stop::Upstream(UpstreamFault::SessionGone)) {
                    self.server_gone.notify_one();
                }
            }
        }
    }

    async fn judge(&self, caller: Caller, parsed: Parsed, trail: &mut Trail) -> Result<Answer, Stop> {
        let permit = self.gateway.in_flight.take(&caller, &self.gateway.settings)?;
        Box::pin(pipeline::run(&self.gateway, caller, parsed, &HeaderMap::new(), permit, trail)).await
    }

    async fn give(self: &Arc<Front>, answer: Answer) {
        match answer {
            Answer::Message { text, session, closing, .. } => {
                if let Some(id) = session {
                    Box::pin(self.open_session(&id)).await;
                }
                self.send(Said { line: Bytes::from(text + "\n"), closing }).await;
            }
            Answer::Stream(mut messages) => {
                while let Some(message) = messages.recv().await {
                    self.send(message.into()).await;
                }
            }
            Answer::Accepted | Answer::Ended => {}
        }
    }

    async fn refuse(&self, stop: &Stop, trail: &Trail) {
        self.send(Bytes::from(respond::stop_message(stop, trail) + "\n").into()).await;
    }

    /// A client that reads nothing for too long is gone.
    async fn send(&self, said: Said) {
        let patience = milliseconds(self.gateway.settings.write_stall_timeout_ms);
        if self.out.send_timeout(said, patience).await.is_err() {
            self.client_gone.notify_one();
        }
    }
}

/// What a line asks for.
enum Kind {
    Request(Id),
    /// `notifications/initialized`.
    Opened,
    /// `notifications/cancelled`, about this request.
    Cancelled(Id),
    Other,
}

impl Kind {
    fn of(message: &Message) -> Kind {
        match message {
            Message::Request(request) => Kind::Request(request.id.clone()),
            Message::Notification(notice) if notice.method.subject == Subject::Initialized => Kind::Opened,
            Message::Notification(notice) => match notice.view() {
                Ok(NotificationParams::Cancelled(cancelled)) => Kind::Cancelled(cancelled.request_id),
                _ => Kind::Other,
            },
            Message::Response(_) => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of_future<A, B, F: Future>(_: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    /// A call is a task of its own, and a task is moved a dozen times before it runs: the stages are kept apart from
    /// it, and what only few calls need (opening a session, listing, HTTP) apart from those. Without that it was
    /// 96 KiB, and moving it took longer than judging.
    #[test]
    fn a_call_is_a_small_task() {
        let call = bytes_of_future(|front: Arc<Front>, received: Received| front.serve(received));
        assert!(call <= 2 << 10, "{call} bytes");
    }
}
