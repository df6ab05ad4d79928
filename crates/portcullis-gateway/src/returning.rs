//! The way back: what is held while a call is out, and what becomes of the server's reply.
//!
//! Made before anything leaves, so that a call that has run never finds that there is no room for its answer.

mod opening;

use std::sync::Arc;

use portcullis_json::{Value, compact};
use portcullis_mcp::{Era, Message, Outcome, Subject};
use portcullis_policy::Detectors;

use crate::authenticate::Caller;
use crate::decide::Allowed;
use crate::filter;
use crate::forward::{self, Payload, Reply};
use crate::gateway::Gateway;
use crate::own;
use crate::question::{About, Asked};
use crate::record::OutgoingKind;
use crate::relay::{self, Lists, Purpose};
use crate::respond::Answer;
use crate::room::{Held, InFlightPermit};
use crate::sessions::Call;
use crate::shown::{Cut, Verbatim};
use crate::stop::{Stop, UpstreamFault};

/// How an answer finds its way back.
pub(crate) struct Returning {
    caller: Caller,
    era: Era,
    call: Option<Call>,
    listens_for: Option<Lists>,
    held: Held,
}

impl Returning {
    /// Whatever the answer needs room in is taken here, before anything leaves.
    pub(crate) fn of(gateway: &Gateway, asked: &Asked, permit: InFlightPermit) -> Result<Returning, Stop> {
        let call = asked.call.clone();
        let opens = call.as_ref().is_some_and(|call| call.subject == Subject::Initialize);
        if opens {
            let grant = asked.caller.grant_id();
            gateway.sessions.check_room(grant, &gateway.settings, asked.caller.now)?;
        }
        let listens_for = match (&asked.about, &asked.kind) {
            (About::Listen, OutgoingKind::Message { message: Message::Request(request), .. }) => {
                Some(relay::wanted_lists(request.params.as_ref()))
            }
            _ => None,
        };
        let held = match listens_for {
            Some(_) => Held::Stream(gateway.streams.take(&asked.caller, &gateway.settings)?),
            None => Held::Call(permit),
        };
        Ok(Returning { caller: asked.caller.clone(), era: asked.place.era, call, listens_for, held })
    }

    /// With what the verdict obliges to.
    pub(crate) fn under(self, allowed: &Allowed) -> Returning {
        Returning { call: allowed.call().cloned().or(self.call), ..self }
    }

    /// From now on the server may answer.
    pub(crate) fn expect(&self, gateway: &Gateway) {
        if let (Some(session), Some(call)) = (&self.caller.session, &self.call) {
            session.open_call(call.clone(), gateway.settings.session_calls_max);
        }
    }

    pub(crate) async fn give_back(
        self,
        gateway: &Arc<Gateway>,
        reply: Result<Reply, Stop>,
    ) -> Result<Answer, Stop> {
        let reply = match reply {
            Ok(reply) => reply,
            Err(stop) => {
                self.forget(gateway, &stop);
                return Err(stop);
            }
        };
        let Some(call) = self.call.clone() else {
            reply.close();
            return Ok(Answer::Accepted);
        };
        match (call.subject, reply) {
            (Subject::Initialize, reply) => Box::pin(self.open_session(gateway, &call, reply)).await,
            (_, reply) if self.listens_for.is_some_and(Lists::any) && lacks_the_method(&reply) => {
                // The server has no news to give; changes of what the policy shows are ours to tell.
                reply.close();
                let purpose = Purpose::Listen(call, self.listens_for.unwrap_or_default());
                relay::start(gateway, self.caller, self.era, purpose, None, None, self.held)
                    .map(Answer::Stream)
            }
            (_, Reply { payload: Payload::Stream(events), receipt, .. }) => {
                let purpose = match self.listens_for {
                    Some(lists) => Purpose::Listen(call, lists),
                    None => Purpose::Call(call),
                };
                let (source, receipt) = (Some(events), Some(receipt));
                let stream =
                    relay::start(gateway, self.caller, self.era, purpose, source, receipt, self.held);
                stream.map(Answer::Stream)
            }
            (_, mut reply) => {
                self.close_call(&call);
                let said = reply.said.take();
                let (payload, closing) = reply.complete();
                let answer = match (payload, said) {
                    (Payload::Message(response), None) => {
                        filter::prepare(gateway, &self.caller, &call, &response.outcome).await?;
                        self.message(gateway, &call, response.outcome, None)?
                    }
                    (Payload::Message(response), Some(said)) => {
                        Box::pin(self.list(gateway, &call, response.outcome, said)).await?
                    }
                    (Payload::Again(said), _) => Box::pin(self.list_again(gateway, &call, said)).await?,
                    (Payload::Stream(_) | Payload::Accepted, _) => {
                        return Err(UpstreamFault::NotMcp("no answer to a request").into());
                    }
                };
                Ok(answer.closed_by(closing))
            }
        }
    }

    /// A list of tools as the caller may see it, kept with the words that it came in.
    async fn list(
        &self,
        gateway: &Arc<Gateway>,
        call: &Call,
        outcome: Outcome,
        said: Verbatim,
    ) -> Result<Answer, Stop> {
        // Taken before anything is cut: what changes meanwhile makes what is kept useless, never wrong.
        let cut = Cut::now(gateway, &self.caller);
        filter::prepare(gateway, &self.caller, call, &outcome).await?;
        match filter::outcome(gateway, &self.caller, self.era, call, outcome)? {
            Outcome::Result(result) if is_kept(call) => {
                let result: Arc<str> = compact(&Value::Object(result)).into();
                self.caller.server.shown.keep(said, cut, result.clone());
                Ok(Answer::of_result(&call.client_id, &result))
            }
            outcome => Ok(self.cut_message(call, outcome, None)),
        }
    }

    /// A list that was read before: shown as before where it is cut by the same.
    async fn list_again(&self, gateway: &Arc<Gateway>, call: &Call, said: Verbatim) -> Result<Answer, Stop> {
        let cut = Cut::now(gateway, &self.caller);
        match self.caller.server.shown.find(&said, &cut).filter(|_| is_kept(call)) {
            Some(result) => Ok(Answer::of_result(&call.client_id, &result)),
            None => {
                let outcome = forward::read_again(gateway, &said)?.outcome;
                self.list(gateway, call, outcome, said).await
            }
        }
    }

    fn close_call(&self, call: &Call) {
        if let Some(session) = &self.caller.session {
            session.close_call(&call.our_id);
        }
    }

    /// A call that failed is not open any more; a session that the server ended is ours no longer.
    fn forget(&self, gateway: &Arc<Gateway>, stop: &Stop) {
        match (&self.call, &self.caller.session, stop) {
            (Some(call), Some(session), Stop::Upstream(UpstreamFault::TimedOut)) => {
                own::cancel(gateway, session.clone(), call.our_id.clone());
            }
            (Some(call), ..) => self.close_call(call),
            (None, ..) => {}
        }
        if let (Stop::Upstream(UpstreamFault::SessionGone), Some(session)) = (stop, &self.caller.session) {
            gateway.sessions.close(&session.id);
        }
    }

    fn message(
        &self,
        gateway: &Gateway,
        call: &Call,
        outcome: Outcome,
        session: Option<String>,
    ) -> Result<Answer, Stop> {
        let outcome = filter::outcome(gateway, &self.caller, self.era, call, outcome)?;
        Ok(self.cut_message(call, outcome, session))
    }

    /// The message for an outcome that is cut already.
    fn cut_message(&self, call: &Call, outcome: Outcome, session: Option<String>) -> Answer {
        let modern_error = match &outcome {
            Outcome::Error(error) if self.era.is_modern() => Some(error.code),
            _ => None,
        };
        if modern_error == Some(portcullis_mcp::code::UNSUPPORTED_REVISION) {
            self.caller.server.eras.forget();
        }
        let text = portcullis_mcp::Response { id: None, outcome }.into_text(&call.client_id);
        Answer::Message { text, session, modern_error, closing: None }
    }
}

/// What is blanked out of a list is looked for each time.
fn is_kept(call: &Call) -> bool {
    call.redact == Detectors::default()
}

fn lacks_the_method(reply: &Reply) -> bool {
    let Payload::Message(response) = &reply.payload else {
        return false;
    };
    matches!(&response.outcome, Outcome::Error(error) if error.code == portcullis_mcp::code::METHOD_NOT_FOUND)
}
