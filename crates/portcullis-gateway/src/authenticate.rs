//! Who calls: `Host` and `Origin` first, then the bearer token. There is no mode without.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use portcullis_state::grants::{ActiveGrant, TokenHash};

use crate::gateway::{Gateway, Live};
use crate::server::Server;
use crate::sessions::Session;
use crate::settings::Settings;
use crate::snapshot::ActivePolicy;
use crate::stop::{ClientFault, GatewayFault, Stop};

/// Who calls, at which server, under which policy.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) grant: Arc<ActiveGrant>,
    pub(crate) server: Arc<Server>,
    /// None: nothing is allowed.
    pub(crate) policy: Option<Arc<ActivePolicy>>,
    pub(crate) session: Option<Arc<Session>>,
    /// The client's name for itself.
    pub(crate) client: Option<String>,
    pub(crate) now: Timestamp,
    pub(crate) door: Door,
}

/// Which way a caller came in, and so how it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// A request over HTTP; streams are events.
    Http,
    /// A pipe of its own; everything is a line.
    Pipe,
}

impl Caller {
    pub(crate) fn grant_id(&self) -> &str {
        &self.grant.grant().id
    }

    /// The same caller under the configuration of this moment, if it may go on.
    pub(crate) fn again(&self, gateway: &Gateway) -> Result<Caller, CutOff> {
        let live = gateway.live();
        let now = gateway.now();
        let grant = live.grants().get(self.grant_id()).filter(|grant| grant.grant().is_active(now));
        let grant = grant.ok_or(CutOff::Grant)?;
        let policy = grant.grant().policies.get(self.server.name()).ok_or(CutOff::Grant)?;
        let same = |server: &&Arc<Server>| Arc::ptr_eq(server, &self.server);
        live.server(self.server.name()).filter(same).ok_or(CutOff::Server)?;
        Ok(Caller { grant: grant.clone(), policy: live.policy(policy), now, ..self.clone() })
    }
}

/// Why a caller that was let in may not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutOff {
    /// The grant has ended, or may not use the server any more.
    Grant,
    /// The server is gone, or is another one under the same name.
    Server,
}

impl CutOff {
    /// For the log.
    pub(crate) fn text(self) -> &'static str {
        match self {
            CutOff::Grant => "the grant ended",
            CutOff::Server => "the server was configured anew",
        }
    }
}

impl From<CutOff> for Stop {
    fn from(why: CutOff) -> Stop {
        match why {
            CutOff::Grant => ClientFault::Unauthenticated.into(),
            CutOff::Server => GatewayFault::ServerChanged.into(),
        }
    }
}

/// Whether a browser on some other page, or a name that was rebound to us, is behind the request.
pub(crate) fn check_source(settings: &Settings, uri: &Uri, headers: &HeaderMap) -> Result<(), Stop> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let named = |name: &str| settings.allowed_hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    let host = host.and_then(host_name).filter(|name| named(name));
    // An absolute target must not say something else than `Host`.
    let target = uri.authority().is_none_or(|authority| host_name(authority.as_str()).is_some_and(&named));
    if host.is_none() || !target {
        return Err(ClientFault::ForbiddenHost.into());
    }
    for origin in headers.get_all(ORIGIN) {
        let allowed = origin.to_str().is_ok_and(|origin| is_allowed_origin(settings, origin));
        if !allowed {
            return Err(ClientFault::ForbiddenOrigin.into());
        }
    }
    Ok(())
}

/// `name:8700` and `[::1]:8700` without the port.
fn host_name(authority: &str) -> Option<&str> {
    let name = match authority.strip_prefix('[') {
        Some(rest) => authority.get(..rest.find(']')? + 2)?,
        None => authority.split(':').next()?,
    };
    let port = authority.strip_prefix(name)?;
    let digits = port.strip_prefix(':').unwrap_or(port);
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (port.is_empty() || port.starts_with(':'));
    (plain && !name.is_empty()).then_some(name)
}

fn is_allowed_origin(settings: &Settings, origin: &str) -> bool {
    if !settings.allowed_origins.is_empty() {
        return settings.allowed_origins.iter().any(|allowed| allowed == origin);
    }
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.and_then(host_name).is_some_and(|name| settings.allowed_hosts.iter().any(|host| host == name))
}

/// The grant whose token this is, at the server of this name. Unknown, expired and revoked look alike; so
/// do a server that is not there and one that is not this grant's.
pub(crate) fn authenticate(
    live: &Live,
    headers: &HeaderMap,
    server: &str,
    now: Timestamp,
) -> Result<Caller, Stop> {
    let token = bearer(headers).ok_or(ClientFault::Unauthenticated)?;
    let grant = live.grants().find(token, now).ok_or(ClientFault::Unauthenticated)?;
    let policy = grant.grant().policies.get(server).ok_or(ClientFault::NotFound)?;
    let policy = live.policy(policy);
    let server = live.server(server).ok_or(ClientFault::NotFound)?.clone();
    Ok(Caller { grant, server, policy, session: None, client: None, now, door: Door::Http })
}

/// Who is at a pipe: whoever started us is the grant that it was started for, as long as that holds.
pub(crate) fn implicit(live: &Live, grant: &str, server: &str, now: Timestamp) -> Result<Caller, Stop> {
    let grant = live.grants().get(grant).filter(|grant| grant.grant().is_active(now));
    let grant = grant.ok_or(ClientFault::Unauthenticated)?.clone();
    let policy = grant.grant().policies.get(server).ok_or(ClientFault::NotFound)?;
    let policy = live.policy(policy);
    let server = live.server(server).ok_or(ClientFault::NotFound)?.clone();
    Ok(Caller { grant, server, policy, session: None, client: None, now, door: Door::Pipe })
}

/// Whether this is who may read the metrics: they name servers and rules, so it is whoever has the token, or,
/// where there is none, this machine; never a page in somebody's browser.
pub(crate) fn check_scraper(
    settings: &Settings,
    is_local: bool,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Stop> {
    if settings.metrics_token.is_none() && !is_local {
        return Err(ClientFault::NotFound.into());
    }
    check_source(settings, uri, headers)?;
    let shown = || bearer(headers).map(TokenHash::of);
    match settings.metrics_token {
        Some(token) if shown() != Some(token) => Err(ClientFault::Unauthenticated.into()),
        _ => Ok(()),
    }
}

/// Exactly one header, `Bearer` and a token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok()?,
        _ => return None,
    };
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_read_the_metrics_only_with_the_token() {
        let uri = Uri::from_static("/metrics");
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        headers.insert(AUTHORIZATION, "Bearer scraper".parse().unwrap());
        let open = Settings::default();
        let closed = Settings { metrics_token: Some(TokenHash::of("scraper")), ..Settings::default() };
        assert!(check_scraper(&open, true, &uri, &headers).is_ok());
        let refused = check_scraper(&open, false, &uri, &headers);
        assert!(matches!(refused, Err(Stop::Client(ClientFault::NotFound))), "as if there were none");
        assert!(check_scraper(&closed, false, &uri, &headers).is_ok());
        headers.remove(AUTHORIZATION);
        assert!(check_scraper(&closed, true, &uri, &headers).is_err(), "this machine has to show it as well");
    }

    #[test]
    fn ports_are_cut_off_and_nothing_else() {
        for (authority, name) in [
            ("localhost", Some("localhost")),
            ("localhost:8700", Some("localhost")),
            ("[::1]:8700", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("localhost:80@evil", None),
            ("localhost:", Some("localhost")),
            ("[::1", None),
            ("[::1]x", None),
            ("", None),
        ] {
            assert_eq!(host_name(authority), name, "{authority}");
        }
    }
}
