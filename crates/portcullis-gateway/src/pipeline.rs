//! The life of a call, top to bottom: `run`. Around it `handle` takes a request over HTTP.
//!
//! Each stage can only be reached with the value that the stage before it made, so that forgetting one
//! does not compile.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;

use crate::approval::approve;
use crate::authenticate::{Caller, authenticate, check_source};
use crate::body::Body;
use crate::catalogue;
use crate::conclude::conclude;
use crate::decide::decide;
use crate::forward::forward;
use crate::gateway::Gateway;
use crate::limits::admit;
use crate::parse::{Envelope, Parsed, parse, read_body};
use crate::prepare::{Prepared, prepare};
use crate::question::{self, ask};
use crate::record::{Trail, record};
use crate::respond::{self, Answer};
use crate::returning::Returning;
use crate::room::InFlightPermit;
use crate::session_verbs;
use crate::stop::{ClientFault, Refusal, Stop};

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
            // Apart from the connection's task, which is moved with all that is in it.
            Box::pin(run(gateway, caller, parsed, &head.headers, permit, trail)).await
        }
        Method::GET => session_verbs::open_stream(gateway, caller, head, trail).await,
        Method::DELETE => session_verbs::end_session(gateway, caller, head, trail).await,
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
