//! Every bound of the data plane, each with a safe default. Names end in their unit.
//!
//! INVARIANT: everything bounded. A queue, a wait or a body that has no setting here must not exist.

use std::time::Duration;

use portcullis_state::grants::TokenHash;

/// The longest that an upstream may be given for one call, whatever the configuration says.
pub const UPSTREAM_ANSWER_TIMEOUT_MS_CAP: u64 = 300_000;

/// How much the gateway takes, keeps and waits for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of a request's head.
    pub head_bytes_max: usize,
    /// How long a client may take to send a head.
    pub head_timeout_ms: u64,
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Bytes of all large bodies, of requests and of answers, that are being read or worked on at once.
    pub bodies_bytes_max: usize,
    /// How long a client may take to send a body.
    pub body_timeout_ms: u64,
    /// Connections open at once; more wait in the system's queue.
    pub connections_max: usize,
    /// Connections open at once from one address, or one /64 network of IPv6; more are closed at once.
    pub connections_per_address_max: usize,
    /// How long a client may leave an answer or a stream unread before its connection is closed.
    pub write_stall_timeout_ms: u64,
    /// Calls being worked on at once; more are answered 503.
    pub in_flight_max: usize,
    /// Calls to one server being worked on at once, so that one that hangs leaves room for the others.
    pub in_flight_per_server_max: usize,
    /// Calls of one grant being worked on at once.
    pub in_flight_per_grant_max: usize,
    /// How long connecting to a server may take.
    pub upstream_connect_timeout_ms: u64,
    /// How long a server may stay silent during a call, unless it has its own figure.
    pub upstream_answer_timeout_ms: u64,
    /// How long a call may take at all, also when its server keeps reporting progress.
    pub call_timeout_ms: u64,
    /// How long to wait for the answer that tells a server's era.
    pub probe_timeout_ms: u64,
    /// The same for a program, which has to start first.
    pub process_start_timeout_ms: u64,
    /// Processes of one server.
    pub processes_per_server_max: usize,
    /// A process that nobody used for so long is ended, unless its server has its own figure.
    pub process_idle_timeout_ms: u64,
    /// How long a process gets to end after its input was closed, and again after SIGTERM.
    pub process_stop_grace_ms: u64,
    /// How long open calls get when a client on a pipe closes its end.
    pub pipe_drain_ms: u64,
    /// For so long a guess at a server's era counts, and a clear answer that does not suit a client.
    pub era_doubt_ms: u64,
    /// Bytes of a server's answer.
    pub result_bytes_max: usize,
    /// Bytes of one event of a stream.
    pub event_bytes_max: usize,
    /// How long finding out a server's era, or listing its tools, may take at all.
    pub listing_timeout_ms: u64,
    /// A server that could not be listed is left alone for this long.
    pub listing_retry_ms: u64,
    /// Tools of one server.
    pub tools_max: usize,
    /// Bytes that the definitions of one server's tools take in memory, about.
    pub tools_bytes_max: usize,
    /// A list that is older is listed again before a call is judged with it.
    pub tools_age_ms_max: u64,
    /// An unknown tool makes the gateway list again, unless its list is younger than this.
    pub tools_recheck_ms: u64,
    /// How long a modern client may keep a filtered list or a read resource.
    pub list_ttl_ms_max: i64,
    /// Sessions of legacy clients, all together.
    pub sessions_max: usize,
    /// Sessions of one grant.
    pub sessions_per_grant_max: usize,
    /// A session that nobody used for so long is ended.
    pub session_idle_timeout_ms: u64,
    /// Calls of one session that wait for their answers.
    pub session_calls_max: usize,
    /// Questions of servers to one session that wait for their answers.
    pub session_questions_max: usize,
    /// How long a client may take to answer a question of a server; then the server is told so.
    pub question_timeout_ms: u64,
    /// Tasks whose owner is remembered, all together.
    pub tasks_max: usize,
    /// Subscriptions and streams of sessions open at once. A call that is answered by a stream is a call.
    pub streams_max: usize,
    /// Subscriptions and streams of sessions of one grant.
    pub streams_per_grant_max: usize,
    /// Events that wait for a slow reader.
    pub stream_events_max: usize,
    /// A quiet stream gets a comment this often.
    pub keep_alive_ms: u64,
    /// How long open calls get when the gateway stops.
    pub drain_timeout_ms: u64,
    /// Names that `Host` may say, without port.
    pub allowed_hosts: Vec<String>,
    /// Origins that browsers may call from; empty: pages on `allowed_hosts` only.
    pub allowed_origins: Vec<String>,
    /// What `/metrics` wants as a bearer token; without one it answers this machine only.
    pub metrics_token: Option<TokenHash>,
    /// Certificates of private authorities that servers' certificates may come from, beside the public ones.
    pub upstream_roots: Vec<rustls::pki_types::CertificateDer<'static>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            head_bytes_max: 32 << 10,
            head_timeout_ms: 10_000,
            body_bytes_max: 4 << 20,
            bodies_bytes_max: 256 << 20,
            body_timeout_ms: 30_000,
            connections_max: 10_000,
            connections_per_address_max: 5_000,
            write_stall_timeout_ms: 30_000,
            in_flight_max: 1_024,
            in_flight_per_server_max: 512,
            in_flight_per_grant_max: 512,
            upstream_connect_timeout_ms: 5_000,
            upstream_answer_timeout_ms: 30_000,
            call_timeout_ms: UPSTREAM_ANSWER_TIMEOUT_MS_CAP,
            probe_timeout_ms: 10_000,
            process_start_timeout_ms: 25_000,
            processes_per_server_max: 32,
            process_idle_timeout_ms: 3_600_000,
            process_stop_grace_ms: 2_000,
            pipe_drain_ms: 1_500,
            era_doubt_ms: 5_000,
            result_bytes_max: 4 << 20,
            event_bytes_max: 1 << 20,
            listing_timeout_ms: 30_000,
            listing_retry_ms: 1_000,
            tools_max: 10_000,
            tools_bytes_max: 64 << 20,
            tools_age_ms_max: 300_000,
            tools_recheck_ms: 10_000,
            list_ttl_ms_max: 60_000,
            sessions_max: 10_000,
            sessions_per_grant_max: 1_000,
            session_idle_timeout_ms: 3_600_000,
            session_calls_max: 256,
            session_questions_max: 64,
            question_timeout_ms: UPSTREAM_ANSWER_TIMEOUT_MS_CAP,
            tasks_max: 10_000,
            streams_max: 1_024,
            streams_per_grant_max: 512,
            stream_events_max: 16,
            keep_alive_ms: 15_000,
            drain_timeout_ms: 30_000,
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec(),
            allowed_origins: Vec::new(),
            metrics_token: None,
            upstream_roots: Vec::new(),
        }
    }
}

/// A setting in milliseconds, as a duration.
pub(crate) fn milliseconds(setting: u64) -> Duration {
    Duration::from_millis(setting)
}
