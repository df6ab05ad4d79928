//! The configuration as one immutable value: servers, policies, grants.
//!
//! Built by the binary from files and the store, handed to [`crate::Gateway::replace`]. A request reads it
//! once. What a server is *like* (its tools, its era) is not in here: that is found out and kept beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::HashMap;
use http::{HeaderName, HeaderValue, Uri};
use portcullis_json::Digest;
use portcullis_policy::{Class, Policy};
use portcullis_state::Secret;
use portcullis_state::grants::GrantTable;

use crate::transport::{CommandSpec, TransportSpec};

/// Servers of one gateway.
pub const SERVERS_MAX: usize = 1_000;

/// Which eras a server is spoken to in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraSetting {
    /// Ask it.
    #[default]
    Auto,
    /// Sessions only.
    Legacy,
    /// 2026-07-28 only.
    Modern,
}

/// One server, as configured.
pub struct ServerSpec {
    /// Its name; part of the URL.
    pub name: String,
    /// How it is reached.
    pub transport: TransportSpec,
    /// What is sent along with every request over HTTP. Values are secret.
    pub headers: Vec<(String, Secret)>,
    /// Classes of tools, set by hand.
    pub classes: BTreeMap<String, Class>,
    /// Which eras it is spoken to in.
    pub era: EraSetting,
    /// How long it may stay silent during a call; `None`: as the settings say.
    pub answer_timeout_ms: Option<u64>,
    /// Its name may lead into a private network.
    pub allow_private: bool,
}

/// A policy in force.
#[derive(Debug)]
pub struct ActivePolicy {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Digest of its canonical text.
    pub hash: Digest,
    /// The policy itself.
    pub policy: Policy,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the texts say it")]
pub enum SnapshotFault {
    #[error("server `{server}` has the url `{url}`, which is no absolute http or https address")]
    BadUrl { server: String, url: String },
    #[error("server `{server}` has the url `{url}`; put user names and passwords into `headers`")]
    UrlWithCredentials { server: String, url: String },
    #[error("server `{server}` has a header `{header}` with a name or value that HTTP does not allow")]
    BadHeader { server: String, header: String },
    #[error("server `{server}` has a header `{header}`, which the gateway writes itself; remove it")]
    OwnHeader { server: String, header: String },
    #[error("server `{server}` has {what}")]
    BadCommand { server: String, what: &'static str },
    #[error("server `{0}` runs as a command and has `headers`; give it `env` instead")]
    HeadersForCommand(String),
    #[error("two servers are called `{0}`; give each its own name")]
    TwoServers(String),
    #[error("two policies are called `{0}`; give each its own name")]
    TwoPolicies(String),
    #[error("more than {SERVERS_MAX} servers; run several gateways")]
    TooManyServers,
}

/// Headers that describe the message or the connection: never configured.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "accept",
    "mcp-session-id",
    "last-event-id",
    "upgrade",
];

/// The whole configuration of the data plane.
#[derive(Default)]
pub struct Snapshot {
    pub(crate) servers: HashMap<String, Arc<ServerConfig>>,
    pub(crate) policies: HashMap<String, Arc<ActivePolicy>>,
    pub(crate) grants: GrantTable,
}

/// A server, checked.
pub(crate) struct ServerConfig {
    pub(crate) name: String,
    pub(crate) transport: Transport,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) era: EraSetting,
    pub(crate) allow_private: bool,
    pub(crate) tuning: Arc<Tuning>,
}

/// What may change about a server while sessions with it go on.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    /// Classes of tools, set by hand.
    pub(crate) classes: BTreeMap<String, Class>,
    pub(crate) answer_timeout_ms: Option<u64>,
}

/// How a server is reached, checked.
pub(crate) enum Transport {
    Http(Uri),
    Sse(Uri),
    Command(CommandSpec),
}

impl Transport {
    fn compile(server: &str, spec: TransportSpec) -> Result<Transport, SnapshotFault> {
        match spec {
            TransportSpec::Http { url } => check_url(server, &url).map(Transport::Http),
            TransportSpec::Sse { url } => check_url(server, &url).map(Transport::Sse),
            TransportSpec::Command(spec) => match spec.fault() {
                Some(what) => Err(SnapshotFault::BadCommand { server: server.to_owned(), what }),
                None => Ok(Transport::Command(spec)),
            },
        }
    }

    fn is_same(&self, other: &Transport) -> bool {
        match (self, other) {
            (Transport::Http(one), Transport::Http(two)) | (Transport::Sse(one), Transport::Sse(two)) => {
                one == two
            }
            (Transport::Command(one), Transport::Command(two)) => one.is_same(two),
            _ => false,
        }
    }

    /// What a program was given in its environment and must not come back.
    fn secrets(&self) -> Vec<Secret> {
        let env = match self {
            Transport::Command(spec) => spec.env.as_slice(),
            Transport::Http(_) | Transport::Sse(_) => &[],
        };
        env.iter().filter(|env| env.is_secret).map(|env| Secret::from(env.value.expose())).collect()
    }
}

impl Snapshot {
    /// Checks and compiles. Grants may name servers and policies that are not there: they are denied.
    pub fn compile(
        servers: Vec<ServerSpec>,
        policies: Vec<ActivePolicy>,
        grants: GrantTable,
    ) -> Result<Snapshot, SnapshotFault> {
        if servers.len() > SERVERS_MAX {
            return Err(SnapshotFault::TooManyServers);
        }
        let mut snapshot = Snapshot { grants, ..Snapshot::default() };
        for spec in servers {
            let config = ServerConfig::compile(spec)?;
            if let Some(double) = snapshot.servers.insert(config.name.clone(), Arc::new(config)) {
                return Err(SnapshotFault::TwoServers(double.name.clone()));
            }
        }
        for policy in policies {
            if let Some(double) = snapshot.policies.insert(policy.name.clone(), Arc::new(policy)) {
                return Err(SnapshotFault::TwoPolicies(double.name.clone()));
            }
        }
        Ok(snapshot)
    }

    /// The same servers and policies under other grants.
    pub(crate) fn with_grants(&self, grants: GrantTable) -> Snapshot {
        Snapshot { servers: self.servers.clone(), policies: self.policies.clone(), grants }
    }

    /// The grants of this configuration; to be given to the next `GrantTable::build`.
    pub fn grants(&self) -> &GrantTable {
        &self.grants
    }
}

impl ServerConfig {
    fn compile(spec: ServerSpec) -> Result<ServerConfig, SnapshotFault> {
        let transport = Transport::compile(&spec.name, spec.transport)?;
        if matches!(transport, Transport::Command(_)) && !spec.headers.is_empty() {
            return Err(SnapshotFault::HeadersForCommand(spec.name));
        }
        let mut headers = Vec::new();
        let mut secrets = transport.secrets();
        for (name, value) in spec.headers {
            headers.push(check_header(&spec.name, &name, &value)?);
            secrets.push(value);
        }
        Ok(ServerConfig {
            name: spec.name,
            transport,
            headers,
            secrets,
            era: spec.era,
            allow_private: spec.allow_private,
            tuning: Arc::new(Tuning { classes: spec.classes, answer_timeout_ms: spec.answer_timeout_ms }),
        })
    }

    /// Whether what was found out about the server still holds under `other`.
    pub(crate) fn is_same_server(&self, other: &ServerConfig) -> bool {
        self.name == other.name
            && self.transport.is_same(&other.transport)
            && self.headers == other.headers
            && self.era == other.era
            && self.allow_private == other.allow_private
    }
}

fn check_url(server: &str, url: &str) -> Result<Uri, SnapshotFault> {
    let bad = || SnapshotFault::BadUrl { server: server.to_owned(), url: url.to_owned() };
    let uri: Uri = url.parse().map_err(|_| bad())?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad());
    }
    let authority = uri.authority().ok_or_else(bad)?;
    if authority.as_str().contains('@') {
        // The address may hold a password: it is not repeated.
        let url = format!("{}://…@{}", uri.scheme_str().unwrap_or_default(), authority.host());
        return Err(SnapshotFault::UrlWithCredentials { server: server.to_owned(), url });
    }
    Ok(uri)
}

fn check_header(
    server: &str,
    name: &str,
    value: &Secret,
) -> Result<(HeaderName, HeaderValue), SnapshotFault> {
    let bad = || SnapshotFault::BadHeader { server: server.to_owned(), header: name.to_owned() };
    let header: HeaderName = name.parse().map_err(|_| bad())?;
    if OWN_HEADERS.contains(&header.as_str()) || header.as_str().starts_with("mcp-") {
        return Err(SnapshotFault::OwnHeader { server: server.to_owned(), header: name.to_owned() });
    }
    let mut value = HeaderValue::from_str(value.expose()).map_err(|_| bad())?;
    // INVARIANT: secrets do not print. A sensitive value has no `Debug` text.
    value.set_sensitive(true);
    Ok((header, value))
}
