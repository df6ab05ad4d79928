//! Bytes to and from a process: one message on each line.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use portcullis_json::Limits;
use portcullis_mcp::{ErrorObject, Id, Incoming, Sender, code};
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};

use crate::duplex::{Arrival, Attachment, Connection};
use crate::events::MESSAGE_DEPTH_MAX;
use crate::gateway::Gateway;
use crate::lines::{Line, Lines};
use crate::own::{self, Place, UpstreamSession};
use crate::server::Server;
use crate::stop::UpstreamFault;

/// Refusals on their way to one process; what a server asks beyond them stays unanswered.
const REFUSALS_MAX: usize = 4;

/// Writes what is sent, until its end is wanted; then the input is closed.
pub(super) async fn write(
    mut stdin: ChildStdin,
    mut writes: mpsc::Receiver<Bytes>,
    connection: Arc<Connection>,
) {
    let mut line = Vec::new();
    let mut end = pin!(connection.end_wanted());
    loop {
        let message = tokio::select! {
            // What was sent before the end was wanted is still written.
            biased;
            message = writes.recv() => message,
            () = &mut end => return,
        };
        let Some(message) = message else {
            return;
        };
        line.clear();
        line.extend_from_slice(&message);
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() {
            connection.close(UpstreamFault::Ended);
            return;
        }
    }
}

/// Reads what a process writes.
pub(super) struct Reader {
    gateway: Weak<Gateway>,
    server: Weak<Server>,
    connection: Arc<Connection>,
    limits: Limits,
    pid: Option<u32>,
    refusals: Arc<AtomicUsize>,
}

impl Reader {
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        server: &Arc<Server>,
        connection: Arc<Connection>,
        pid: Option<u32>,
    ) -> Reader {
        let limits = Limits { bytes_max: gateway.settings.result_bytes_max, depth_max: MESSAGE_DEPTH_MAX };
        Reader {
            gateway: Arc::downgrade(gateway),
            server: Arc::downgrade(server),
            connection,
            limits,
            pid,
            refusals: Arc::default(),
        }
    }

    /// Until the end of what it writes; `_read_to_end` tells.
    pub(super) async fn run(self, stdout: impl AsyncRead + Unpin, _read_to_end: watch::Sender<()>) {
        let mut lines = Lines::new(stdout, self.limits.bytes_max);
        // An output that cannot be read is one that has ended.
        while let Ok(Some(line)) = lines.next().await {
            match line {
                Line::Whole(bytes) => self.take(&bytes),
                Line::TooLong => {
                    self.note("portcullis: a line on standard output was longer than allowed");
                    self.connection.arrive_too_large();
                }
            }
        }
    }

    fn take(&self, bytes: &[u8]) {
        let era = self.connection.era();
        let read = Incoming::read(bytes, Sender::Server, &self.limits);
        let arrival = match read.and_then(|incoming| incoming.place(era)) {
            Ok(message) => self.connection.arrive(message),
            Err(refused) => {
                // Many a program prints on its standard output what belongs to standard error.
                self.note(&format!("portcullis: no message on standard output: {}", refused.refusal));
                self.connection.arrive_garbled(&refused);
                return;
            }
        };
        match arrival {
            Arrival::Done => {}
            Arrival::ToolsChanged => {
                if let Some(server) = self.server.upgrade() {
                    server.catalogue.mark_stale();
                }
            }
            Arrival::Refuse(id) => self.refuse(id),
            Arrival::Stray => self.note("portcullis: a message on standard output belongs to nobody"),
        }
    }

    fn note(&self, text: &str) {
        if let (Some(server), Some(gateway)) = (self.server.upgrade(), self.gateway.upgrade()) {
            server.output.note(gateway.now(), self.pid, text.to_owned());
        }
    }

    /// Tells the server that nobody can answer it; in a task, since reading must go on.
    fn refuse(&self, id: Id) {
        let (Some(server), Some(gateway)) = (self.server.upgrade(), self.gateway.upgrade()) else {
            return;
        };
        if self.refusals.fetch_add(1, Ordering::Relaxed) >= REFUSALS_MAX {
            self.refusals.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let session = UpstreamSession::Attached(Arc::new(Attachment::guest(self.connection.clone())));
        let place = Place { era: self.connection.era(), session: Some(session), owner: None };
        let under_way = self.refusals.clone();
        tokio::spawn(async move {
            let error = ErrorObject::new(code::METHOD_NOT_FOUND, "there is no client that could be asked");
            let told = own::answer(&gateway, &server, place, id, Err(error)).await;
            under_way.fetch_sub(1, Ordering::Relaxed);
            if let Err(stop) = told {
                tracing::debug!(?stop, "a server did not take a refusal");
            }
        });
    }
}
