//! HTTP with SSE, as revision 2024-11-05 has it: one stream from the server, and an address for what we say.
//!
//! The stream names the address; it must be of the same origin, or a server could send our credential, and
//! what agents say, elsewhere.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use portcullis_json::Limits;
use portcullis_mcp::{Incoming, Sender};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::{EVENTS, JSON, Media, check_status, media_type};
use crate::duplex::{Arrival, Bounds, Connection, Owner};
use crate::events::{HttpEvents, MESSAGE_DEPTH_MAX};
use crate::gateway::Gateway;
use crate::server::Server;
use crate::stop::UpstreamFault;

/// Bytes of the address that a server names.
const ENDPOINT_BYTES_MAX: usize = 2_048;

/// Opens the stream, and everything that moves messages.
pub(super) async fn connect(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    url: &Uri,
    deadline: Instant,
) -> Result<Arc<Connection>, UpstreamFault> {
    let mut events = open(gateway, server, url, deadline).await?;
    let endpoint = timeout_at(deadline, endpoint(&mut events, url)).await;
    let endpoint = endpoint.map_err(|_| UpstreamFault::TimedOut)??;
    let bounds = Bounds { notices_max: gateway.settings.stream_events_max.max(1) };
    let (connection, writes) = Connection::new(Owner::Session, bounds);
    let speaker = Speaker { gateway: gateway.clone(), server: server.clone(), endpoint };
    tokio::spawn(speaker.run(writes, connection.clone()));
    let limits = Limits { bytes_max: gateway.settings.result_bytes_max, depth_max: MESSAGE_DEPTH_MAX };
    tokio::spawn(listen(events, connection.clone(), Arc::downgrade(server), limits));
    Ok(connection)
}

async fn open(
    gateway: &Gateway,
    server: &Server,
    url: &Uri,
    deadline: Instant,
) -> Result<HttpEvents, UpstreamFault> {
    let mut request = Request::new(Full::default());
    *request.uri_mut() = url.clone();
    request.headers_mut().insert(ACCEPT, EVENTS);
    request.headers_mut().extend(server.config.headers.iter().cloned());
    let answer = timeout_at(deadline, gateway.upstream(server).request(request)).await;
    let answer = answer.map_err(|_| UpstreamFault::TimedOut)?.map_err(|error| {
        tracing::warn!(server = server.name(), %error, "a stream could not be opened");
        UpstreamFault::Unreachable
    })?;
    let (head, body) = answer.into_parts();
    check_status(head.status, portcullis_mcp::Era::Modern, false)?;
    match media_type(&head.headers)? {
        Some(Media::Events) if head.status.is_success() => {
            let era = portcullis_mcp::Era::Legacy(portcullis_mcp::LegacyRevision::NEWEST);
            // An answer comes as an event here: it may be as large as an answer.
            Ok(HttpEvents::new(body, era, gateway.settings.result_bytes_max))
        }
        _ if head.status.is_success() => Err(UpstreamFault::NotMcp("no stream of events")),
        _ => Err(UpstreamFault::Status(head.status.as_u16())),
    }
}

/// The first event says where to speak.
async fn endpoint(events: &mut HttpEvents, url: &Uri) -> Result<Uri, UpstreamFault> {
    while let Some(event) = events.next().await? {
        if event.name.as_deref() == Some("endpoint") {
            return same_origin(url, event.data.trim());
        }
    }
    Err(UpstreamFault::NotMcp("a stream without an endpoint"))
}

/// The address that a server at `url` means with `named`, if it is of the same origin.
pub fn sse_address(url: &Uri, named: &str) -> Option<Uri> {
    same_origin(url, named).ok()
}

fn same_origin(url: &Uri, named: &str) -> Result<Uri, UpstreamFault> {
    let bad = || UpstreamFault::NotMcp("an endpoint that is not at the same origin");
    if named.len() > ENDPOINT_BYTES_MAX || named.starts_with("//") || named.contains('\\') {
        return Err(bad());
    }
    let named: Uri = named.parse().map_err(|_| bad())?;
    let path = named.path_and_query().cloned().ok_or_else(bad)?;
    let is_same = match (named.scheme(), named.authority()) {
        (None, None) => path.as_str().starts_with('/'),
        (scheme, authority) => scheme == url.scheme() && authority == url.authority(),
    };
    if !is_same {
        return Err(bad());
    }
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| bad())
}

/// Says what is sent, message by message.
struct Speaker {
    gateway: Arc<Gateway>,
    server: Arc<Server>,
    endpoint: Uri,
}

impl Speaker {
    async fn run(self, mut writes: mpsc::Receiver<Bytes>, connection: Arc<Connection>) {
        loop {
            let message = tokio::select! {
                biased;
                message = writes.recv() => message,
                () = connection.end_wanted() => return,
            };
            let Some(message) = message else {
                return;
            };
            if let Err(fault) = self.say(message).await {
                connection.close(fault);
                return;
            }
        }
    }

    async fn say(&self, message: Bytes) -> Result<(), UpstreamFault> {
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        request.headers_mut().extend(self.server.config.headers.iter().cloned());
        let patience = self.server.answer_timeout(&self.gateway.settings);
        let answer = timeout(patience, self.gateway.upstream(&self.server).request(request)).await;
        let answer = answer.map_err(|_| UpstreamFault::TimedOut)?.map_err(|_| UpstreamFault::Broken)?;
        let status = answer.status();
        check_status(status, portcullis_mcp::Era::Modern, false)?;
        // What is said there is nobody's; the answer comes on the stream.
        let _ = timeout(patience, http_body_util::Limited::new(answer.into_body(), 1 << 16).collect()).await;
        match status.is_success() {
            true => Ok(()),
            false => Err(UpstreamFault::Status(status.as_u16())),
        }
    }
}

/// Hears what comes, until either side ends it.
async fn listen(
    mut events: HttpEvents,
    connection: Arc<Connection>,
    server: std::sync::Weak<Server>,
    limits: Limits,
) {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = connection.end_wanted() => break,
        };
        let Ok(Some(event)) = event else {
            break;
        };
        if !event.is_message() {
            continue;
        }
        let read = Incoming::read(event.data.as_bytes(), Sender::Server, &limits);
        match read.and_then(|incoming| incoming.place(connection.era())) {
            Ok(message) => {
                if connection.arrive(message) == Arrival::ToolsChanged
                    && let Some(server) = server.upgrade()
                {
                    server.catalogue.mark_stale();
                }
            }
            Err(refused) => connection.arrive_garbled(&refused),
        }
    }
    connection.close(UpstreamFault::Ended);
    if let Some(pool) = server.upgrade().as_ref().and_then(|server| server.pool.as_ref()) {
        pool.ended(&connection, None);
    }
    connection.set_over();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_to_speak_to_is_of_the_same_origin() {
        let url: Uri = "http://host:1/sse".parse().unwrap();
        let at = |named: &str| same_origin(&url, named).map(|uri| uri.to_string()).ok();
        assert_eq!(at("/messages?id=7").as_deref(), Some("http://host:1/messages?id=7"));
        assert_eq!(at("http://host:1/m").as_deref(), Some("http://host:1/m"));
        for named in ["http://host:2/m", "https://host:1/m", "//evil/m", "http://evil/m", "m", "", "/\\evil"]
        {
            assert_eq!(at(named), None, "{named}");
        }
    }
}
