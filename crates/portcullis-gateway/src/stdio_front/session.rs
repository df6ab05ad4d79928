//! The one legacy session of a pipe: opened by `initialize`, ended with the pipe.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Front;
use crate::authenticate::{Caller, implicit};
use crate::conclude::conclude;
use crate::own::{self, UpstreamSession};
use crate::record::Trail;
use crate::respond::Answer;
use crate::session_verbs;
use crate::settings::milliseconds;
use crate::stop::{ClientFault, Stop};

impl Front {
    /// `initialize` was answered with a session: it is this pipe's from now on.
    pub(super) async fn open_session(self: &Arc<Front>, id: &str) {
        let Ok(caller) = self.caller() else {
            return;
        };
        let settings = &self.gateway.settings;
        let found = self.gateway.sessions.find(id, caller.grant_id(), &caller.server, settings, caller.now);
        let before = std::mem::replace(&mut self.known().session, found);
        self.session_opened.notify_one();
        if let Some(before) = before {
            self.gateway.sessions.close(&before.id);
        }
        // A program may speak as soon as it is told that the session is open: we must hear it by then.
        if caller.server.pool.is_some() {
            self.hear_server().await;
        }
    }

    fn caller(&self) -> Result<Caller, Stop> {
        let gateway = &self.gateway;
        implicit(&gateway.live(), &self.client.grant, &self.client.server, gateway.now())
    }

    /// Over HTTP a server is heard once the session is open on both sides.
    pub(super) async fn hear_server_over_http(self: &Arc<Front>) {
        if self.caller().is_ok_and(|caller| caller.server.pool.is_none()) {
            self.hear_server().await;
        }
    }

    /// Opens the session's stream, and writes what comes on it.
    async fn hear_server(self: &Arc<Front>) {
        let answer = match self.session_stream().await {
            Ok(answer) => answer,
            Err(stop) => {
                tracing::info!(?stop, "the server's own messages cannot be heard");
                return;
            }
        };
        if let Answer::Stream(mut messages) = answer {
            let out = self.out.downgrade();
            let pump = tokio::spawn(async move {
                while let Some(message) = messages.recv().await {
                    let Some(out) = out.upgrade() else {
                        return;
                    };
                    if out.send(message.into()).await.is_err() {
                        return;
                    }
                }
            });
            if let Some(before) = self.known().stream.replace(pump.abort_handle()) {
                before.abort();
            }
        }
    }

    async fn session_stream(&self) -> Result<Answer, Stop> {
        let mut caller = self.caller()?;
        let (started, mut trail) = (Instant::now(), Trail::of(&self.gateway, &caller)?);
        caller.session = self.known().session.clone();
        if caller.session.is_none() {
            return Err(ClientFault::NotOpened.into());
        }
        let opened = session_verbs::session_stream(&self.gateway, caller, None, &mut trail).await;
        conclude(&self.gateway, None, started, opened.as_ref().err(), &trail).await;
        opened
    }

    /// Resolves when the program behind the session has ended, or the server says that the session has.
    pub(super) async fn server_ended(&self) {
        loop {
            let session = self.known().session.clone();
            let attached = session.and_then(|session| match session.place().session {
                Some(UpstreamSession::Attached(attachment)) => Some(attachment),
                _ => None,
            });
            let program_ended = async {
                match &attached {
                    Some(attachment) => attachment.connection.is_over().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = program_ended => return,
                () = self.server_gone.notified() => return,
                // Another session, another program.
                () = self.session_opened.notified() => {}
            }
        }
    }

    /// Open calls get a while; then everything that is open is let go, and the session is ended.
    pub(super) async fn leave(&self, calls: &mut JoinSet<()>) {
        let patience = milliseconds(self.gateway.settings.pipe_drain_ms);
        let drained = async { while calls.join_next().await.is_some() {} };
        if timeout(patience, drained).await.is_err() {
            // Dropped calls write their outcome themselves.
            calls.shutdown().await;
        }
        let (session, stream) = {
            let mut known = self.known();
            (known.session.take(), known.stream.take())
        };
        if let Some(stream) = stream {
            stream.abort();
        }
        if let Some(session) = session {
            self.gateway.sessions.close(&session.id);
            let place = session.place();
            if place.session.is_some() {
                own::end_session(&self.gateway, &session.server, place).await;
            }
        }
    }
}
