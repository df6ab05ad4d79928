//! The answer to `initialize`: the server opened a session, and ours stands for it from now on.

use std::sync::Arc;

use portcullis_mcp::{Era, LegacyRevision, Outcome};

use super::Returning;
use crate::forward::{Payload, Reply};
use crate::gateway::Gateway;
use crate::own::{self, Place, UpstreamSession};
use crate::respond::Answer;
use crate::sessions::{Call, Opening, Session};
use crate::stop::{ClientFault, Stop, UpstreamFault};

impl Returning {
    /// What the client gets, with the id of its session where one came about.
    pub(super) async fn open_session(
        self,
        gateway: &Arc<Gateway>,
        call: &Call,
        reply: Reply,
    ) -> Result<Answer, Stop> {
        let Reply { payload, session: upstream, receipt, .. } = reply;
        let outcome = self.whole_answer(gateway, call, payload).await;
        receipt.finish_with(&outcome);
        let outcome = outcome?;
        let session = match self.revision(&outcome)? {
            Some(revision) => Some(self.stand_for(gateway, revision, upstream).await?),
            None => None,
        };
        self.message(gateway, call, outcome, session.map(|session| session.id.clone()))
    }

    async fn whole_answer(
        &self,
        gateway: &Gateway,
        call: &Call,
        payload: Payload,
    ) -> Result<Outcome, UpstreamFault> {
        match payload {
            Payload::Message(response) => Ok(response.outcome),
            Payload::Stream(events) => {
                own::answer_in(events, &call.our_id, &self.caller.server, gateway).await
            }
            Payload::Again(_) | Payload::Accepted => Err(UpstreamFault::NotMcp("no answer to a request")),
        }
    }

    /// The revision that the session is in; none where the server opened no session.
    fn revision(&self, outcome: &Outcome) -> Result<Option<LegacyRevision>, Stop> {
        match outcome {
            Outcome::Result(result) => Ok(own::revision_in(result)),
            Outcome::Error(error) if is_era_error(error.code) => {
                Err(ClientFault::EraMismatch { client: self.era }.into())
            }
            Outcome::Error(_) => Ok(None),
        }
    }

    /// Our session for the server's; one that finds no room is ended there as well.
    async fn stand_for(
        &self,
        gateway: &Arc<Gateway>,
        revision: LegacyRevision,
        upstream: Option<UpstreamSession>,
    ) -> Result<Arc<Session>, Stop> {
        let opening = Opening {
            grant: self.caller.grant_id().to_owned(),
            server: self.caller.server.clone(),
            revision,
            client: self.caller.client.clone(),
            upstream: upstream.clone(),
        };
        let opened = gateway.sessions.open(opening, &gateway.settings, self.caller.now);
        if let (Err(_), Some(upstream)) = (&opened, upstream) {
            let owner = Some(Arc::from(self.caller.grant_id()));
            let place = Place { era: Era::Legacy(revision), session: Some(upstream), owner };
            own::end_session(gateway, &self.caller.server, place).await;
        }
        opened
    }
}

/// What a server that only speaks the modern era says to `initialize`.
fn is_era_error(code: i64) -> bool {
    use portcullis_mcp::code;
    matches!(code, code::UNSUPPORTED_REVISION | code::HEADER_MISMATCH | code::METHOD_NOT_FOUND)
}
