//! What comes back on a connection for one request, or for one session: read as a stream of messages.

use std::sync::Arc;

use portcullis_mcp::{Id, Message, Response};
use tokio::sync::{mpsc, oneshot};

use super::Connection;
use crate::stop::UpstreamFault;

type Answered = oneshot::Receiver<Result<Response, UpstreamFault>>;

/// Messages for one reader.
pub(crate) struct Messages {
    /// Read already, to find out whether it is the answer.
    first: Option<Message>,
    notices: mpsc::Receiver<Message>,
    /// None in a session's stream, and once the answer was read.
    answered: Option<Answered>,
    is_call: bool,
    expectation: Option<Expectation>,
}

impl Messages {
    pub(super) fn of_call(
        notices: mpsc::Receiver<Message>,
        answered: Answered,
        expectation: Expectation,
    ) -> Messages {
        Messages {
            first: None,
            notices,
            answered: Some(answered),
            is_call: true,
            expectation: Some(expectation),
        }
    }

    pub(super) fn of_session(notices: mpsc::Receiver<Message>) -> Messages {
        Messages { first: None, notices, answered: None, is_call: false, expectation: None }
    }

    /// Gives a message back, to be read next.
    pub(crate) fn put_back(&mut self, message: Message) {
        self.first = Some(message);
    }

    /// What happens when nobody reads on before the answer came.
    pub(crate) fn on_giving_up(&mut self, act: impl FnOnce() + Send + 'static) {
        if let Some(expectation) = &mut self.expectation {
            expectation.act = Some(Box::new(act));
        }
    }

    /// The next message; none at the end. Safe to drop while waiting.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>, UpstreamFault> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        if !self.is_call {
            return Ok(self.notices.recv().await);
        }
        let Some(answered) = &mut self.answered else {
            return Ok(None);
        };
        tokio::select! {
            // What the server said before it answered is read before the answer.
            biased;
            Some(notice) = self.notices.recv() => Ok(Some(notice)),
            answer = answered => {
                self.answered = None;
                match answer {
                    Ok(Ok(response)) => Ok(Some(Message::Response(response))),
                    Ok(Err(fault)) => Err(fault),
                    // The server ended a subscription without an answer.
                    Err(_) => Ok(None),
                }
            }
        }
    }
}

/// Somebody expects an answer. Dropped before it came, the connection forgets about it.
pub(crate) struct Expectation {
    connection: Arc<Connection>,
    id: Id,
    act: Option<Box<dyn FnOnce() + Send>>,
}

impl Expectation {
    pub(super) fn new(connection: Arc<Connection>, id: Id) -> Expectation {
        Expectation { connection, id, act: None }
    }
}

impl Drop for Expectation {
    fn drop(&mut self) {
        let tell = self.connection.forget(&self.id);
        if let (true, Some(act)) = (tell, self.act.take()) {
            act();
        }
    }
}
