//! Bytes to one message of one era; headers and body agree. Nothing is judged yet.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::body::Incoming as IncomingBody;
use portcullis_json::Limits;
use portcullis_mcp::headers::{self, HeaderMismatch, HeaderProblem, ParamPolicy, compare};
use portcullis_mcp::params::RequestParams;
use portcullis_mcp::{Claim, Era, Incoming, LegacyRevision, Message, Refusal, Sender, meta};

use crate::authenticate::Caller;
use crate::budget::{Spent, Unread};
use crate::events::MESSAGE_DEPTH_MAX;
use crate::forward::{PROTOCOL_VERSION, SESSION_ID};
use crate::gateway::Gateway;
use crate::record::Trail;
use crate::sessions::Session;
use crate::settings::milliseconds;
use crate::stop::{ClientFault, GatewayFault, Stop};

/// A message with its era.
pub(crate) struct Parsed {
    pub(crate) era: Era,
    pub(crate) message: Message,
}

/// The whole body, within bounds of size and time, and what it takes of the room for all.
pub(crate) async fn read_body(gateway: &Gateway, body: IncomingBody) -> Result<(Bytes, Spent), Stop> {
    let reading = gateway.bodies.collect(body, gateway.settings.body_bytes_max);
    let patience = milliseconds(gateway.settings.body_timeout_ms);
    let read = tokio::time::timeout(patience, reading).await.map_err(|_| ClientFault::BodyTooSlow)?;
    read.map_err(|unread| match unread {
        Unread::TooLarge => ClientFault::BodyTooLarge.into(),
        Unread::NoRoom => GatewayFault::Full("large messages").into(),
        Unread::Broken => ClientFault::BodyBroken.into(),
    })
}

/// What surrounds a message and has a say in its era and session.
#[derive(Clone, Copy)]
pub(crate) enum Envelope<'a> {
    Http(&'a HeaderMap),
    /// A line has nothing around it; the era is the one that the pipe is in by now. The caller has its
    /// session already.
    Line(Option<Era>),
}

impl Envelope<'_> {
    /// Whether a message may come in it at all.
    fn check(self) -> Result<(), Stop> {
        match self {
            Envelope::Http(headers) => check_media(headers),
            Envelope::Line(_) => Ok(()),
        }
    }

    /// The era that is said around the message.
    fn era(self) -> Result<Option<Era>, Stop> {
        match self {
            Envelope::Http(headers) => revision_header(headers),
            Envelope::Line(era) => Ok(era),
        }
    }

    /// A header and a body that name different revisions disagree, whatever either name is worth.
    fn names_revision_of(self, incoming: &Incoming) -> Result<(), Stop> {
        let (Envelope::Http(headers), Some(named)) = (self, incoming.revision()) else {
            return Ok(());
        };
        match headers.get(PROTOCOL_VERSION) {
            Some(header) if header != named => {
                let header = headers::PROTOCOL_VERSION.to_owned();
                Err(Refusal::Headers(HeaderMismatch { header, problem: HeaderProblem::Differs }).into())
            }
            _ => Ok(()),
        }
    }

    fn session(self, gateway: &Gateway, caller: &Caller) -> Result<Arc<Session>, Stop> {
        match self {
            Envelope::Http(headers) => find_session(gateway, caller, headers),
            Envelope::Line(_) => caller.session.clone().ok_or_else(|| ClientFault::NotOpened.into()),
        }
    }

    fn agrees_with(self, message: &Message) -> Result<(), Stop> {
        match self {
            Envelope::Http(headers) => compare_headers(headers, message, ParamPolicy::NotCompared),
            Envelope::Line(_) => Ok(()),
        }
    }
}

/// Reads the message, finds its era and session, and compares the headers with it.
pub(crate) fn parse(
    gateway: &Gateway,
    caller: &mut Caller,
    envelope: Envelope<'_>,
    bytes: &[u8],
    trail: &mut Trail,
) -> Result<Parsed, Stop> {
    place(gateway, caller, envelope, bytes, trail).map_err(|stop| match stop {
        Stop::Client(ClientFault::Malformed(Refusal::UnsupportedRevision(requested))) => {
            let supported = caller.server.eras.revisions();
            ClientFault::UnsupportedRevision { requested, supported }.into()
        }
        other => other,
    })
}

fn place(
    gateway: &Gateway,
    caller: &mut Caller,
    envelope: Envelope<'_>,
    bytes: &[u8],
    trail: &mut Trail,
) -> Result<Parsed, Stop> {
    envelope.check()?;
    // What is wrong with it is said once the id is known.
    let said = envelope.era();
    trail.era = said.as_ref().ok().copied().flatten();
    let limits = Limits { bytes_max: gateway.settings.body_bytes_max, depth_max: MESSAGE_DEPTH_MAX };
    let refused = |trail: &mut Trail, refused: portcullis_mcp::Refused| {
        trail.id = refused.id;
        Stop::from(refused.refusal)
    };
    let incoming = Incoming::read(bytes, Sender::Client, &limits).map_err(|r| refused(trail, r))?;
    trail.id = incoming.request_id().cloned();
    envelope.names_revision_of(&incoming)?;
    let claim = incoming.claim().map_err(|r| refused(trail, r))?;
    let era = era_of(gateway, caller, envelope, claim, said?)?;
    trail.era = Some(era);
    if era.is_modern() || claim == Claim::Initialize {
        caller.session = None;
    }
    trail.session = caller.session.as_ref().map(|session| session.id.clone());
    let message = incoming.place(era).map_err(|r| refused(trail, r))?;
    if era.is_modern() {
        envelope.agrees_with(&message)?;
    }
    caller.client = client_name(&message, caller.session.as_ref());
    Ok(Parsed { era, message })
}

/// Whether the headers repeat the message.
pub(crate) fn compare_headers(
    headers: &HeaderMap,
    message: &Message,
    mirrored: ParamPolicy<'_>,
) -> Result<(), Stop> {
    let pairs: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    compare(&pairs, message, mirrored).map_err(|mismatch| Refusal::Headers(mismatch).into())
}

fn check_media(headers: &HeaderMap) -> Result<(), Stop> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let is_json = match (types.next(), types.next()) {
        (Some(only), None) => {
            only.to_str().is_ok_and(|text| essence(text).eq_ignore_ascii_case("application/json"))
        }
        _ => false,
    };
    if !is_json || headers.contains_key(CONTENT_ENCODING) {
        return Err(ClientFault::WrongMediaType.into());
    }
    match accepts(headers, &["application/json", "text/event-stream"]) {
        true => Ok(()),
        false => Err(ClientFault::NotAcceptable.into()),
    }
}

/// Whether the client takes all of these; without the header it takes anything.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &[&str]) -> bool {
    if !headers.contains_key(ACCEPT) {
        return true;
    }
    let lines = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<&str> = lines.flat_map(|line| line.split(',')).map(essence).collect();
    let takes = |media: &str| {
        let family = media.split('/').next().unwrap_or_default();
        ranges.iter().any(|range| {
            *range == "*/*"
                || range.eq_ignore_ascii_case(media)
                || range.strip_suffix("/*").is_some_and(|prefix| prefix.eq_ignore_ascii_case(family))
        })
    };
    wanted.iter().all(|media| takes(media))
}

fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

/// What `MCP-Protocol-Version` says, if it is there.
pub(crate) fn revision_header(headers: &HeaderMap) -> Result<Option<Era>, Stop> {
    let mut values = headers.get_all(PROTOCOL_VERSION).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let named = value.to_str().unwrap_or_default();
            let era = Era::parse(named).ok_or_else(|| Refusal::unsupported_revision(named))?;
            Ok(Some(era))
        }
        (Some(_), Some(_)) => Err(ClientFault::WrongRevisionHeader.into()),
    }
}

fn era_of(
    gateway: &Gateway,
    caller: &mut Caller,
    envelope: Envelope<'_>,
    claim: Claim,
    said: Option<Era>,
) -> Result<Era, Stop> {
    match (claim, said) {
        (Claim::Modern, _) | (Claim::Unsaid, Some(Era::Modern)) => Ok(Era::Modern),
        (Claim::Initialize, Some(Era::Modern)) if matches!(envelope, Envelope::Http(_)) => {
            Err(ClientFault::WrongRevisionHeader.into())
        }
        (Claim::Initialize, _) => Ok(Era::Legacy(LegacyRevision::NEWEST)),
        (Claim::Unsaid, _) => {
            let session = envelope.session(gateway, caller)?;
            let era = Era::Legacy(session.revision);
            caller.session = Some(session);
            Ok(era)
        }
    }
}

/// The session that the header names, if it is this caller's.
pub(crate) fn find_session(
    gateway: &Gateway,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<Arc<Session>, Stop> {
    let mut ids = headers.get_all(SESSION_ID).iter();
    let id = match (ids.next(), ids.next()) {
        (Some(id), None) => id.to_str().map_err(|_| ClientFault::SessionUnknown)?,
        (None, _) => return Err(ClientFault::SessionMissing.into()),
        (Some(_), Some(_)) => return Err(ClientFault::SessionUnknown.into()),
    };
    let settings = &gateway.settings;
    let found = gateway.sessions.find(id, caller.grant_id(), &caller.server, settings, caller.now);
    found.ok_or_else(|| ClientFault::SessionUnknown.into())
}

/// What the client calls itself: to show and to log, and for policies that ask.
fn client_name(message: &Message, session: Option<&Arc<Session>>) -> Option<String> {
    if let Some(session) = session {
        return session.client.clone();
    }
    let Message::Request(request) = message else {
        return None;
    };
    let info = match request.view() {
        Ok(Some(RequestParams::Initialize(initialize))) => Some(initialize.client_info),
        _ => meta::ModernMeta::read(request.params.as_ref()).ok().and_then(|meta| meta.client_info),
    };
    info?.get("name")?.as_str().map(str::to_owned)
}
