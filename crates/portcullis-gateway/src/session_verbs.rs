//! GET and DELETE: the stream of a legacy session, and its end. A modern client uses neither.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use portcullis_state::log::{RiskClass, Verdict};

use crate::approval::approve;
use crate::authenticate::Caller;
use crate::conclude::conclude;
use crate::decide::decide;
use crate::forward::{EVENT_ID_BYTES_MAX, LAST_EVENT_ID, Payload, Reply, forward};
use crate::gateway::Gateway;
use crate::limits::admit;
use crate::parse;
use crate::question::Asked;
use crate::record::{self, Decided, OutgoingKind, Trail, record};
use crate::relay::{self, Purpose};
use crate::respond::Answer;
use crate::room::Held;
use crate::sessions::Session;
use crate::stop::{ClientFault, Stop, UpstreamFault};

/// GET: the stream of a legacy session. It stays open also when the server offers none: we have news too.
pub(crate) async fn open_stream(
    gateway: &Arc<Gateway>,
    mut caller: Caller,
    head: &Parts,
    trail: &mut Trail,
) -> Result<Answer, Stop> {
    trail.method = "GET";
    if parse::revision_header(&head.headers)?.is_some_and(|era| era.is_modern()) {
        return Err(ClientFault::WrongVerb("POST").into());
    }
    if !parse::accepts(&head.headers, &["text/event-stream"]) {
        return Err(ClientFault::NotAcceptable.into());
    }
    caller.session = Some(parse::find_session(gateway, &caller, &head.headers)?);
    let last_event_id = head.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let last_event_id = last_event_id.filter(|id| id.len() <= EVENT_ID_BYTES_MAX).map(str::to_owned);
    session_stream(gateway, caller, last_event_id, trail).await
}

/// The stream of the caller's session.
pub(crate) async fn session_stream(
    gateway: &Arc<Gateway>,
    caller: Caller,
    last_event_id: Option<String>,
    trail: &mut Trail,
) -> Result<Answer, Stop> {
    let session = caller.session.clone().ok_or(ClientFault::SessionMissing)?;
    let era = session.place().era;
    let purpose = Purpose::Session { resumes: last_event_id.is_some() };
    let held = Held::Stream(gateway.streams.take(&caller, &gateway.settings)?);
    let (source, receipt) = match ask_for_events(gateway, caller.clone(), last_event_id, trail).await {
        Ok(Reply { payload: Payload::Stream(events), receipt, .. }) => (Some(events), Some(receipt)),
        Ok(reply) => {
            reply.close();
            (None, None)
        }
        Err(Stop::Upstream(UpstreamFault::SessionGone)) => {
            gateway.sessions.close(trail.session.as_deref().unwrap_or_default());
            return Err(ClientFault::SessionUnknown.into());
        }
        // It offers no such stream, and none of its own news will be missed; ours can still be told.
        Err(Stop::Upstream(UpstreamFault::Status(404 | 405))) => (None, None),
        Err(stop) => return Err(stop),
    };
    relay::start(gateway, caller, era, purpose, source, receipt, held).map(Answer::Stream)
}

/// The rest of a call's stream that the server closed, through the same stages.
pub(crate) async fn resume(
    gateway: &Arc<Gateway>,
    caller: Caller,
    last_event_id: Option<String>,
) -> Result<Reply, Stop> {
    let (started, mut trail) = (Instant::now(), Trail::of(gateway, &caller)?);
    trail.method = "GET";
    trail.session = caller.session.as_ref().map(|session| session.id.clone());
    trail.class = Some(RiskClass::Read);
    let reply = match caller.again(gateway) {
        Ok(caller) => ask_for_events(gateway, caller, last_event_id, &mut trail).await,
        Err(why) => Err(why.into()),
    };
    if let Err(Stop::Upstream(UpstreamFault::SessionGone)) = reply {
        gateway.sessions.close(trail.session.as_deref().unwrap_or_default());
    }
    conclude(gateway, None, started, reply.as_ref().err(), &trail).await;
    reply
}

async fn ask_for_events(
    gateway: &Arc<Gateway>,
    caller: Caller,
    last_event_id: Option<String>,
    trail: &mut Trail,
) -> Result<Reply, Stop> {
    trail.method = "GET";
    let session = caller.session.clone().ok_or(ClientFault::SessionMissing)?;
    let place = session.place();
    trail.era = Some(place.era);
    trail.session = Some(session.id.clone());
    trail.class = Some(RiskClass::Read);
    let kind = OutgoingKind::OpenStream { last_event_id };
    let allowed = decide(gateway, Asked::plain(caller, place, kind), trail)?;
    let permit = record(gateway, admit(gateway, approve(allowed)?)?, trail).await?;
    forward(gateway, permit).await
}

/// DELETE: the end of a legacy session, here and at the server.
pub(crate) async fn end_session(
    gateway: &Arc<Gateway>,
    caller: Caller,
    head: &Parts,
    trail: &mut Trail,
) -> Result<Answer, Stop> {
    trail.method = "DELETE";
    if parse::revision_header(&head.headers)?.is_some_and(|era| era.is_modern()) {
        return Err(ClientFault::WrongVerb("POST").into());
    }
    let session = parse::find_session(gateway, &caller, &head.headers)?;
    trail.session = Some(session.id.clone());
    trail.class = Some(RiskClass::Read);
    gateway.sessions.close(&session.id);
    if let Err(stop) = end_recorded(gateway, &session, trail).await {
        // Here it is over all the same; at the server it will idle out.
        tracing::debug!(server = session.server.name(), ?stop, "the server did not end a session");
    }
    Ok(Answer::Ended)
}

/// With the grant that wanted it, also where there is nothing to end at the server.
async fn end_recorded(gateway: &Arc<Gateway>, session: &Session, trail: &Trail) -> Result<(), Stop> {
    let place = session.place();
    if place.session.is_none() {
        let ended = Decided { rule: None, ..Decided::plain(Verdict::Allowed, "") };
        return record::write(gateway, trail, &ended).await;
    }
    let permit = record::ending(gateway, &session.server, place, trail).await?;
    forward(gateway, permit).await.map(|reply| drop(reply.close()))
}
