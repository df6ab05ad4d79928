//! What a server is answered by us on a legacy stream: pings, and questions that may not reach the client.
//!
//! One answer at a time per stream, in a task that starts with the first; a server that asks faster than
//! it takes answers, or more than is reasonable in a second, has its stream ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_json::Object;
use portcullis_mcp::{ErrorObject, Id};
use tokio::sync::mpsc;

use crate::gateway::Gateway;
use crate::own;
use crate::sessions::Session;
use crate::stop::UpstreamFault;

/// Requests of a server on one stream and in one second.
const REQUESTS_PER_SECOND_MAX: u32 = 50;
/// Answers that wait until the server has taken those before them.
const WAITING_MAX: usize = 64;

type Answer = (Id, Result<Object, ErrorObject>);

/// The answers of one stream.
pub(super) struct Answers {
    waiting: Option<mpsc::Sender<Answer>>,
    second: Instant,
    requests: u32,
}

impl Answers {
    pub(super) fn new() -> Answers {
        Answers { waiting: None, second: Instant::now(), requests: 0 }
    }

    /// The server asks once more.
    pub(super) fn count(&mut self) -> Result<(), UpstreamFault> {
        if self.second.elapsed() >= Duration::from_secs(1) {
            self.second = Instant::now();
            self.requests = 0;
        }
        self.requests += 1;
        match self.requests <= REQUESTS_PER_SECOND_MAX {
            true => Ok(()),
            false => Err(UpstreamFault::NotMcp("too many requests to the client")),
        }
    }

    /// Gives an answer; the stream does not wait for it.
    pub(super) fn give(
        &mut self,
        gateway: &Arc<Gateway>,
        session: &Arc<Session>,
        answer: Answer,
    ) -> Result<(), UpstreamFault> {
        let waiting = self.waiting.get_or_insert_with(|| start(gateway.clone(), session.clone()));
        waiting
            .try_send(answer)
            .map_err(|_| UpstreamFault::NotMcp("it does not take the answers to its requests"))
    }
}

/// Ends when the stream has, and everything was given.
fn start(gateway: Arc<Gateway>, session: Arc<Session>) -> mpsc::Sender<Answer> {
    let (give, mut given) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        while let Some((id, answer)) = given.recv().await {
            let answered = own::answer(&gateway, &session.server, session.place(), id, answer).await;
            if let Err(stop) = answered {
                tracing::debug!(?stop, "a server did not take an answer");
            }
        }
    });
    give
}
