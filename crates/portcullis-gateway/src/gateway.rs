//! The gateway as one value: what all stages share, and the one place where configuration changes.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ahash::HashMap;
use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use jiff::Timestamp;
use portcullis_state::DigestKey;
use portcullis_state::grants::GrantTable;
use portcullis_state::log::{DecisionLog, Entry, Refusals, Strangers};
use portcullis_state::pins::Pins;
use tokio::sync::{Semaphore, watch};

use crate::addresses::{Reach, Resolver};
use crate::budget::Budget;
use crate::catalogue;
use crate::duplex::Pool;
use crate::lanes;
use crate::metrics::Metrics;
use crate::own;
use crate::process::OutputLine;
use crate::room::{InFlight, Streams};
use crate::server::Server;
use crate::sessions::Sessions;
use crate::settings::milliseconds;
use crate::snapshot::ActivePolicy;
use crate::tasks::Tasks;
use crate::watcher::Watcher;
use crate::{Ledger, Settings, Snapshot};

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Servers that are told at once that a session has ended.
const ENDINGS_MAX: usize = 8;
/// How long servers are waited for when the gateway stops.
const LAST_ENDINGS_WAIT: Duration = Duration::from_secs(2);
/// How long killed programs may take to be gone, and what they wrote to be read.
const KILLED_WAIT: Duration = Duration::from_secs(7);

/// What the gateway writes to, and what it reads the time from.
pub struct State {
    /// The decision log.
    pub log: Arc<DecisionLog>,
    /// The counters of limits.
    pub ledger: Arc<Ledger>,
    /// The definitions of tools as they were accepted.
    pub pins: Arc<Pins>,
    /// Digests arguments for the log.
    pub digest_key: DigestKey,
    /// The clock.
    pub clock: Clock,
}

pub(crate) type UpstreamClient = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

/// The data plane.
pub struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) state: State,
    /// For servers whose names lead to public addresses only, and for the others.
    /// One pair for each lane, and the first for what runs on none.
    upstreams: Vec<[UpstreamClient; 2]>,
    pub(crate) sessions: Sessions,
    pub(crate) tasks: Tasks,
    pub(crate) metrics: Metrics,
    pub(crate) in_flight: InFlight,
    pub(crate) bodies: Budget,
    pub(crate) streams: Streams,
    watcher: OnceLock<Watcher>,
    /// Who tells servers that a session has ended.
    endings: Arc<Semaphore>,
    live: ArcSwap<Live>,
    changes: watch::Sender<u64>,
    closing: AtomicBool,
    over: AtomicBool,
    strangers: Mutex<Strangers>,
}

/// A configuration in force, with what is known about its servers.
pub(crate) struct Live {
    snapshot: Arc<Snapshot>,
    servers: HashMap<String, Arc<Server>>,
}

impl Live {
    /// What was found out about a server that did not change is kept.
    fn new(snapshot: Snapshot, before: Option<&Live>) -> Live {
        let server = |name: &String, config: &Arc<_>| {
            let kept = before.and_then(|live| live.servers.get(name));
            let kept = kept.filter(|server| server.config.is_same_server(config));
            let kept = kept.cloned().inspect(|server| server.tune(config));
            kept.unwrap_or_else(|| Arc::new(Server::new(config.clone())))
        };
        let servers = snapshot.servers.iter().map(|(name, config)| (name.clone(), server(name, config)));
        Live { servers: servers.collect(), snapshot: Arc::new(snapshot) }
    }

    pub(crate) fn grants(&self) -> &GrantTable {
        &self.snapshot.grants
    }

    pub(crate) fn server(&self, name: &str) -> Option<&Arc<Server>> {
        self.servers.get(name)
    }

    pub(crate) fn policy(&self, name: &str) -> Option<Arc<ActivePolicy>> {
        self.snapshot.policies.get(name).cloned()
    }
}

impl Gateway {
    /// A gateway with this configuration. Nothing is listened to yet.
    pub fn new(settings: Settings, state: State, snapshot: Snapshot) -> Gateway {
        Gateway {
            upstreams: upstream_clients(&settings),
            sessions: Sessions::default(),
            tasks: Tasks::default(),
            metrics: Metrics::default(),
            in_flight: InFlight::new(&settings),
            bodies: Budget::new(settings.bodies_bytes_max),
            streams: Streams::new(&settings),
            watcher: OnceLock::new(),
            endings: Arc::new(Semaphore::new(ENDINGS_MAX)),
            live: ArcSwap::from_pointee(Live::new(snapshot, None)),
            changes: watch::Sender::new(0),
            closing: AtomicBool::new(false),
            over: AtomicBool::new(false),
            strangers: Mutex::default(),
            settings,
            state,
        }
    }

    /// Swaps the configuration: new calls see it at once, streams and sessions of grants that are gone are
    /// closed, and clients whose list of tools changes are told.
    pub fn replace(&self, snapshot: Snapshot) {
        let live = Arc::new(Live::new(snapshot, Some(&self.live.load())));
        self.live.store(live.clone());
        let now = self.now();
        self.sessions.retain(|session| {
            let server = live.server(session.server.name());
            live.grants().is_active(&session.grant, now)
                && server.is_some_and(|server| Arc::ptr_eq(server, &session.server))
        });
        for pool in live.servers.values().filter_map(|server| server.pool.as_ref()) {
            pool.end_of_grants(|grant| !live.grants().is_active(grant, now));
        }
        // Streams hear of it only now that they will see the new configuration.
        self.changes.send_modify(|change| *change += 1);
    }

    /// Swaps the grants alone; the rest of the configuration stays as it is. Nothing can stand in the way of
    /// a revocation.
    pub fn replace_grants(&self, grants: GrantTable) {
        let snapshot = self.live.load().snapshot.with_grants(grants);
        self.replace(snapshot);
    }

    /// Looks at the tools of a server again, because an administrator accepted some.
    pub fn look_again(self: &Arc<Gateway>, server: &str) {
        if let Some(server) = self.live().server(server) {
            catalogue::look_again(self, server);
        }
    }

    /// Streams look again at which tools their clients see.
    pub(crate) fn announce_tools(&self) {
        self.changes.send_modify(|change| *change += 1);
    }

    /// Tells `watcher` of every exchange from now on. Only the first one is taken.
    pub fn watch(&self, watcher: Watcher) {
        let _ = self.watcher.set(watcher);
    }

    pub(crate) fn watcher(&self) -> Option<&Watcher> {
        self.watcher.get()
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.live.load().snapshot.clone()
    }

    /// What `/metrics` shows.
    pub fn metrics(&self) -> String {
        self.metrics.text(self)
    }

    /// What the programs of a server wrote to standard error lately; none if there is no such server.
    pub fn output_of(&self, server: &str) -> Option<Vec<OutputLine>> {
        self.live().server(server).map(|server| server.output.lines())
    }

    /// Ends every process of every server, and waits until they are gone or time is up. For stopping: from now on
    /// nothing leaves any more, so that a call that outlived the drain starts no program that nobody ends.
    pub async fn end_processes(&self) {
        self.over.store(true, Ordering::Release);
        let live = self.live();
        let pools = live.servers.values().filter_map(|server| server.pool.as_ref());
        let connections: Vec<_> = pools.flat_map(Pool::connections).collect();
        connections.iter().for_each(|connection| connection.end());
        let all_over = async {
            for connection in &connections {
                connection.is_over().await;
            }
        };
        let patience = milliseconds(self.settings.process_stop_grace_ms) * 2 + KILLED_WAIT;
        if tokio::time::timeout(patience, all_over).await.is_err() {
            tracing::warn!("programs were still running when the time to end them was over");
        }
    }

    /// Writes what is only in memory to the log; `serve` does so when it stops.
    pub fn flush(&self) {
        let refusals = self.strangers.lock().unwrap_or_else(PoisonError::into_inner).take_all();
        self.log_refusals(&refusals);
    }

    /// What connects to this server: each lane has connections of its own.
    #[expect(clippy::indexing_slicing, reason = "there is a pair for every lane and one more")]
    pub(crate) fn upstream(&self, server: &Server) -> &UpstreamClient {
        let [public, anywhere] = &self.upstreams[lanes::current() % self.upstreams.len()];
        if server.config.allow_private { anywhere } else { public }
    }

    pub(crate) fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.state.clock)()
    }

    /// Ends every stream that would not end by itself; for stopping.
    pub(crate) fn close_streams(&self) {
        self.closing.store(true, Ordering::Release);
        self.changes.send_modify(|change| *change += 1);
    }

    /// Ends at their servers the sessions that idled out or that nobody may use any more; a few at a time, in
    /// tasks of their own. To be called about once a second.
    pub(crate) fn end_sessions(self: &Arc<Gateway>) {
        self.sessions.retire_idle(&self.settings, self.now());
        while self.sessions.has_ended() {
            let Ok(place) = self.endings.clone().try_acquire_owned() else {
                return;
            };
            let gateway = self.clone();
            tokio::spawn(async move {
                while let Some(session) = gateway.sessions.next_ended() {
                    own::end_session(&gateway, &session.server, session.place()).await;
                }
                drop(place);
            });
        }
    }

    /// Ends all sessions, because the gateway stops.
    pub(crate) async fn end_all_sessions(self: &Arc<Gateway>) {
        self.sessions.retain(|_| false);
        self.end_sessions();
        let all = u32::try_from(ENDINGS_MAX).unwrap_or(u32::MAX);
        if tokio::time::timeout(LAST_ENDINGS_WAIT, self.endings.acquire_many(all)).await.is_err() {
            tracing::info!("not every server was told that its sessions have ended");
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Whether the programs of the servers are ended, or being ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Wakes at each change of the configuration, and when the gateway stops.
    pub(crate) fn watch_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notes that somebody without a grant was refused: one record per source and second.
    pub(crate) fn refuse_stranger(&self, source: IpAddr, reason: &'static str) {
        let second = self.now().as_second();
        let gathered =
            self.strangers.lock().unwrap_or_else(PoisonError::into_inner).refuse(source, reason, second);
        self.log_refusals(&gathered);
    }

    /// To be called about once a second, so that the last refusals do not wait for the next.
    pub(crate) fn settle_strangers(&self) {
        let second = self.now().as_second();
        let gathered = self.strangers.lock().unwrap_or_else(PoisonError::into_inner).take_before(second);
        self.log_refusals(&gathered);
    }

    fn log_refusals(&self, refusals: &[Refusals]) {
        for refusals in refusals {
            if let Err(fault) = self.state.log.append(self.now(), &Entry::Refusals(refusals)) {
                tracing::error!(%fault, "refusals could not be recorded");
            }
        }
    }
}

fn upstream_clients(settings: &Settings) -> Vec<[UpstreamClient; 2]> {
    let tls = tls_config(settings);
    let pair = || [Reach::Public, Reach::Anywhere].map(|reach| upstream_client(settings, tls.clone(), reach));
    (0..=lanes::count()).map(|_| pair()).collect()
}

/// Connections are kept and shared; nothing is encoded, no redirect is followed, no proxy is asked.
fn upstream_client(settings: &Settings, tls: rustls::ClientConfig, reach: Reach) -> UpstreamClient {
    let mut connector = HttpConnector::new_with_resolver(Resolver(reach));
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(milliseconds(settings.upstream_connect_timeout_ms)));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(settings.in_flight_max.div_ceil(lanes::count()))
        .build(connector)
}

fn tls_config(settings: &Settings) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for certificate in &settings.upstream_roots {
        if let Err(error) = roots.add(certificate.clone()) {
            tracing::error!(%error, "a root certificate of the settings cannot be used");
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    #[expect(clippy::expect_used, reason = "the provider knows the versions that rustls takes by default")]
    let builder = builder.with_safe_default_protocol_versions().expect("known versions");
    builder.with_root_certificates(roots).with_no_client_auth()
}
