//! The life of a call, top to bottom: `run`. Around it `handle` records, counts and translates.
//!
//! Each stage can only be reached with the value that the stage before it made, so that forgetting one
//! does not compile.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use portcullis_json::Object;
use portcullis_mcp::{Era, Message, Outcome, Sender, Subject, write};
use portcullis_state::log::Verdict;

use crate::approval::approve;
use crate::authenticate::{Caller, authenticate, check_source};
use crate::body::Body;
use crate::catalogue;
use crate::decide::decide;
use crate::filter;
use crate::forward::{LAST_EVENT_ID, Payload, Reply, forward};
use crate::gateway::Gateway;
use crate::limits::admit;
use crate::methods::{Handling, handling};
use crate::own::{self, Place};
use crate::parse::{self, Envelope, Parsed, parse, read_body};
use crate::question::{self, About, Asked, ask};
use crate::record::{self, Decided, OutgoingKind, Trail, record};
use crate::relay::{self, Lists, Purpose};
use crate::respond::{self, Answer};
use crate::room::{Held, InFlightPermit};
use crate::sessions::{Call, Opening};
use crate::stop::{ClientFault, GatewayFault, Refusal, Stop, UpstreamFault};
use crate::watcher;

/// A longer event id is nobody's.
const EVENT_ID_BYTES_MAX: usize = 1024;

/// Answers one request at `/mcp/SERVER`.
pub(crate) async fn handle(
    gateway: &Arc<Gateway>,
    peer: IpAddr,
    server: &str,
    request: Request<Incoming>,
) -> Response<Body> {
    let started = Instant::now();
    let mut trail = match Trail::new(gateway.now()) {
        Ok(trail) => trail,
        Err(stop) => return respond::stop(&stop, &Trail::default()),
    };
    let (head, body) = request.into_parts();
    if gateway.watcher().is_some() {
        trail.trace_parent = question::trace_parent(&head.headers).map(str::to_owned);
    }
    let ended = enter(gateway, server, &head, body, &mut trail).await;
    conclude(gateway, Some(peer), started, ended.as_ref().err(), &trail).await;
    match ended {
        Ok(answer) => respond::answer(answer),
        Err(stop) => respond::stop(&stop, &trail),
    }
}

/// Records what was stopped, and counts.
pub(crate) async fn conclude(
    gateway: &Gateway,
    peer: Option<IpAddr>,
    started: Instant,
    stop: Option<&Stop>,
    trail: &Trail,
) {
    let (outcome, rule) = match stop {
        None => ("allowed", String::new()),
        Some(stop) => record_stop(gateway, peer, stop, trail).await,
    };
    let server = trail.server.as_deref().unwrap_or_default();
    let took = started.elapsed();
    gateway.metrics.decided(server, outcome, &rule, took);
    watcher::tell(gateway, trail, outcome, &rule, took);
}

async fn enter(
    gateway: &Arc<Gateway>,
    server: &str,
    head: &Parts,
    body: Incoming,
    trail: &mut Trail,
) -> Result<Answer, Stop> {
    // Before the token: a page in a browser must not even learn whether one fits.
    check_source(&gateway.settings, &head.uri, &head.headers)?;
    // Before the body: a stranger costs as little as possible.
    let mut caller = authenticate(&gateway.live(), &head.headers, server, gateway.now())?;
    trail.grant = Some(caller.grant_id().to_owned());
    trail.server = Some(caller.server.name().to_owned());
    let permit = gateway.in_flight.take(&caller, &gateway.settings)?;
    match head.method {
        Method::POST => {
            let (bytes, _spent) = read_body(gateway, body).await?;
            // Strictly, once: whatever two readers could read differently ends here.
            let parsed = parse(gateway, &mut caller, Envelope::Http(&head.headers), &bytes, trail)?;
            run(gateway, caller, parsed, &head.headers, permit, trail).await
        }
        Method::GET => open_stream(gateway, caller, head, trail).await,
        Method::DELETE => end_session(gateway, caller, head, trail).await,
        _ => Err(ClientFault::WrongVerb("POST, GET, DELETE").into()),
    }
}

/// The life of a message from a client. On a pipe there are no headers.
pub(crate) async fn run(
    gateway: &Arc<Gateway>,
    caller: Caller,
    parsed: Parsed,
    headers: &HeaderMap,
    permit: InFlightPermit,
    trail: &mut Trail,
) -> Result<Answer, Stop> {
    // What needs no server is answered; ids become the server's.
    let parsed = match prepare(&caller, parsed, trail)? {
        Prepared::Judge(parsed) => parsed,
        Prepared::Answer(answer) => return Ok(answer),
    };
    // What is asked, with what the gateway knows about the server's tools.
    let asked = ask(gateway, caller.clone(), parsed, headers, trail).await?;
    // Body and listing took their time: judged is under the configuration of this moment.
    let asked = asked.again(gateway)?;
    let returning = Returning::of(gateway, &asked, permit)?;
    // The policy looks at everything, limits included, and takes nothing.
    let allowed = match decide(gateway, asked, trail) {
        Err(stop) => return Err(Box::pin(as_unknown(gateway, &caller, stop)).await),
        Ok(allowed) => allowed,
    };
    let returning = returning.under(&allowed);
    // A person's word, before anything is taken.
    let approved = approve(allowed)?;
    // All limits or none.
    let admitted = admit(gateway, approved)?;
    // In the log before it leaves.
    let permit = record(gateway, admitted, trail).await?;
    returning.expect(gateway);
    // It leaves.
    let reply = forward(gateway, permit).await;
    // What comes back is cut to what the caller may see; the outcome is recorded at its end.
    returning.give_back(gateway, reply).await
}

/// What is hidden takes the same way as what is not there.
async fn as_unknown(gateway: &Arc<Gateway>, caller: &Caller, stop: Stop) -> Stop {
    if matches!(stop, Stop::Refused(Refusal::UnknownTool { .. })) {
        catalogue::recheck(gateway, &caller.server).await;
    }
    stop
}

enum Prepared {
    Judge(Parsed),
    Answer(Answer),
}

/// What is answered here, refused, or sent on under another id.
fn prepare(caller: &Caller, parsed: Parsed, trail: &mut Trail) -> Result<Prepared, Stop> {
    let Parsed { era, message } = parsed;
    let message = match message {
        Message::Request(request) => {
            trail.method = request.method.name;
            match handling(request.method.subject, Sender::Client) {
                Handling::Answer => {
                    let text = write::result(&request.id, Object::new());
                    let answer = Answer::Message { text, session: None, modern_error: None, closing: None };
                    return Ok(Prepared::Answer(answer));
                }
                Handling::Refuse(why) => return Err(ClientFault::NotOffered(why).into()),
                _ => Message::Request(request),
            }
        }
        Message::Notification(notice) => {
            trail.method = notice.method.name;
            match question::translate_notice(caller, notice) {
                Some(notice) => Message::Notification(notice),
                // A late or unknown id means nothing to anybody; so the protocol wants it.
                None => return Ok(Prepared::Answer(Answer::Accepted)),
            }
        }
        Message::Response(mut response) => {
            let session = caller.session.as_ref();
            let id = response.id.as_ref();
            let question = session.zip(id).and_then(|(session, id)| session.close_question(id));
            let Some(question) = question else {
                return Ok(Prepared::Answer(Answer::Accepted));
            };
            trail.method = question.method;
            response.id = Some(question.server_id);
            Message::Response(response)
        }
    };
    Ok(Prepared::Judge(Parsed { era, message }))
}

/// How an answer finds its way back.
struct Returning {
    caller: Caller,
    era: Era,
    call: Option<Call>,
    listens_for: Option<Lists>,
    held: Held,
}

impl Returning {
    /// Whatever the answer needs room in is taken here, before anything leaves.
    fn of(gateway: &Gateway, asked: &Asked, permit: InFlightPermit) -> Result<Returning, Stop> {
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
    fn under(self, allowed: &crate::decide::Allowed) -> Returning {
        Returning { call: allowed.call().cloned().or(self.call), ..self }
    }

    /// From now on the server may answer.
    fn expect(&self, gateway: &Gateway) {
        if let (Some(session), Some(call)) = (&self.caller.session, &self.call) {
            session.open_call(call.clone(), gateway.settings.session_calls_max);
        }
    }

    async fn give_back(self, gateway: &Arc<Gateway>, reply: Result<Reply, Stop>) -> Result<Answer, Stop> {
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
            (_, reply) => {
                self.close_call(&call);
                match reply.complete() {
                    (Payload::Message(response), closing) => {
                        filter::prepare(gateway, &self.caller, &call, &response.outcome).await?;
                        let answer = self.message(gateway, &call, response.outcome, None)?;
                        Ok(answer.closed_by(closing))
                    }
                    _ => Err(UpstreamFault::NotMcp("no answer to a request").into()),
                }
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
        let modern_error = match &outcome {
            Outcome::Error(error) if self.era.is_modern() => Some(error.code),
            _ => None,
        };
        if modern_error == Some(portcullis_mcp::code::UNSUPPORTED_REVISION) {
            self.caller.server.eras.forget();
        }
        let text = portcullis_mcp::Response { id: None, outcome }.into_text(&call.client_id);
        Ok(Answer::Message { text, session, modern_error, closing: None })
    }

    /// The server opened a session: ours stands for it from now on.
    async fn open_session(self, gateway: &Arc<Gateway>, call: &Call, reply: Reply) -> Result<Answer, Stop> {
        let Reply { payload, session: upstream, receipt, .. } = reply;
        let outcome = match payload {
            Payload::Message(response) => Ok(response.outcome),
            Payload::Stream(events) => {
                own::answer_in(events, &call.our_id, &self.caller.server, gateway).await
            }
            Payload::Accepted => Err(UpstreamFault::NotMcp("no answer to a request")),
        };
        receipt.finish_by(outcome.as_ref().err());
        let outcome = outcome?;
        let revision = match &outcome {
            Outcome::Result(result) => own::revision_in(result),
            Outcome::Error(error) if is_era_error(error.code) => {
                return Err(ClientFault::EraMismatch { client: self.era }.into());
            }
            Outcome::Error(_) => None,
        };
        let Some(revision) = revision else {
            return self.message(gateway, call, outcome, None);
        };
        let opening = Opening {
            grant: self.caller.grant_id().to_owned(),
            server: self.caller.server.clone(),
            revision,
            client: self.caller.client.clone(),
            upstream,
        };
        let owner = Some(Arc::from(opening.grant.as_str()));
        let place = Place { era: Era::Legacy(revision), session: opening.upstream.clone(), owner };
        let session = match gateway.sessions.open(opening, &gateway.settings, self.caller.now) {
            Ok(session) => session,
            Err(stop) => {
                if place.session.is_some() {
                    own::end_session(gateway, &self.caller.server, place).await;
                }
                return Err(stop);
            }
        };
        self.message(gateway, call, outcome, Some(session.id.clone()))
    }
}

fn lacks_the_method(reply: &Reply) -> bool {
    let Payload::Message(response) = &reply.payload else {
        return false;
    };
    matches!(&response.outcome, Outcome::Error(error) if error.code == portcullis_mcp::code::METHOD_NOT_FOUND)
}

/// What a server that only speaks the modern era says to `initialize`.
fn is_era_error(code: i64) -> bool {
    use portcullis_mcp::code;
    matches!(code, code::UNSUPPORTED_REVISION | code::HEADER_MISMATCH | code::METHOD_NOT_FOUND)
}

/// GET: the stream of a legacy session. It stays open also when the server offers none: we have news too.
async fn open_stream(
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
    trail.method = "GET";
    let session = caller.session.clone().ok_or(ClientFault::SessionMissing)?;
    let place = session.place();
    trail.era = Some(place.era);
    trail.session = Some(session.id.clone());
    trail.class = Some(portcullis_state::log::RiskClass::Read);
    let era = place.era;
    let purpose = Purpose::Session { resumes: last_event_id.is_some() };
    let kind = OutgoingKind::OpenStream { last_event_id };
    let held = Held::Stream(gateway.streams.take(&caller, &gateway.settings)?);
    let allowed = decide(gateway, Asked::plain(caller.clone(), place, kind), trail)?;
    let permit = record(gateway, admit(gateway, approve(allowed)?)?, trail).await?;
    let (source, receipt) = match forward(gateway, permit).await {
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

/// DELETE: the end of a legacy session, here and at the server.
async fn end_session(
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
    gateway.sessions.close(&session.id);
    let place = session.place();
    if place.session.is_some() {
        own::end_session(gateway, &session.server, place).await;
    }
    Ok(Answer::Ended)
}

/// Notes what was stopped: refusals by rule, strangers by source. Gives the words for the metrics.
async fn record_stop(
    gateway: &Gateway,
    peer: Option<IpAddr>,
    stop: &Stop,
    trail: &Trail,
) -> (&'static str, String) {
    let (verdict, rule, message) = match stop {
        Stop::Refused(Refusal::Denied(denial)) => {
            (Verdict::Denied, denial.rule.to_string(), Some(denial.message.clone()))
        }
        Stop::Refused(Refusal::UnknownTool { rule, .. }) => (Verdict::Hidden, (*rule).to_owned(), None),
        Stop::Client(_) if trail.grant.is_none() => {
            if let Some(peer) = peer {
                gateway.refuse_stranger(peer, stranger_reason(stop));
            }
            return ("unauthenticated", String::new());
        }
        Stop::Client(fault) => (Verdict::Malformed, String::new(), Some(respond::error_object_text(fault))),
        Stop::Gateway(_) | Stop::Upstream(_) => {
            record_fault(gateway, stop, trail).await;
            return (fault_word(stop), String::new());
        }
    };
    let decided = Decided { message: message.as_deref(), ..Decided::plain(verdict, &rule) };
    // A refusal stands whether or not it can be written; `write` has told the operator.
    let _ = record::write(gateway, trail, &decided).await;
    (verdict.as_str(), rule)
}

/// What failed before anything was decided still names its grant and tool in the log.
async fn record_fault(gateway: &Gateway, stop: &Stop, trail: &Trail) {
    if trail.recorded.load(Ordering::Relaxed) || trail.grant.is_none() {
        return;
    }
    let message = respond::error_object(stop).message;
    let decided =
        Decided { message: Some(&message), ..Decided::plain(Verdict::Unavailable, "(unavailable)") };
    // That it cannot be written is told to the operator by `write`.
    let _ = record::write(gateway, trail, &decided).await;
}

fn fault_word(stop: &Stop) -> &'static str {
    match stop {
        Stop::Gateway(GatewayFault::Full(_)) => "shed",
        Stop::Gateway(_) => "unavailable",
        _ => "failed",
    }
}

fn stranger_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::Client(ClientFault::ForbiddenHost) => "forbidden host",
        Stop::Client(ClientFault::ForbiddenOrigin) => "forbidden origin",
        Stop::Client(ClientFault::Unauthenticated) => "no valid token",
        _ => "refused",
    }
}
