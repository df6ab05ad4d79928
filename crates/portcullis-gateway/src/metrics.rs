//! What `/metrics` shows: counts by outcome, rule and server; latencies; how full everything is.

use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::RwLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::gateway::Gateway;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Decided {
    server: String,
    outcome: &'static str,
    rule: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    server: String,
    ending: &'static str,
}

type Latencies = Family<Answered, Histogram, fn() -> Histogram>;

/// Rules that get a line of their own; servers and rules come from the configuration, so they are few.
const RULES_MAX: usize = 10_000;

pub(crate) struct Metrics {
    registry: RwLock<Registry>,
    decided: Family<Decided, Counter>,
    upstream: Latencies,
    gateway: Latencies,
    rules: std::sync::atomic::AtomicUsize,
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 2.0, 20))
}

impl Default for Metrics {
    fn default() -> Metrics {
        let decided = Family::default();
        let upstream = Latencies::new_with_constructor(buckets);
        let gateway = Latencies::new_with_constructor(buckets);
        let mut registry = Registry::with_prefix("portcullis");
        registry.register("requests", "Requests by outcome, rule and server", decided.clone());
        registry.register("upstream_seconds", "From forwarding to the end of the answer", upstream.clone());
        registry.register("request_seconds", "From a request's head to its answer's", gateway.clone());
        Metrics { registry: RwLock::new(registry), decided, upstream, gateway, rules: 0.into() }
    }
}

impl Metrics {
    /// A request was answered by us, in this way.
    pub(crate) fn decided(&self, server: &str, outcome: &'static str, rule: &str, took: Duration) {
        // INVARIANT: everything bounded. Rules are few unless policies change without end.
        let full = self.rules.load(std::sync::atomic::Ordering::Relaxed) >= RULES_MAX;
        let rule = if full { "(other)" } else { rule };
        let labels = Decided { server: server.to_owned(), outcome, rule: rule.to_owned() };
        let counter = self.decided.get_or_create(&labels);
        if counter.inc() == 0 {
            self.rules.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        let labels = Answered { server: server.to_owned(), ending: outcome };
        self.gateway.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// A server's answer ended, in this way.
    pub(crate) fn answered(&self, server: &str, ending: &'static str, took: Duration) {
        let labels = Answered { server: server.to_owned(), ending };
        self.upstream.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn text(&self, gateway: &Gateway) -> String {
        let mut text = String::new();
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        if encode(&mut text, &registry).is_err() {
            return text;
        }
        let end = "# EOF\n";
        text.truncate(text.strip_suffix(end).map_or(text.len(), str::len));
        for (name, help, value) in gauges(gateway) {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP portcullis_{name} {help}.\n# TYPE portcullis_{name} gauge\nportcullis_{name} {value}\n"
            );
        }
        text.push_str(end);
        text
    }
}

fn gauges(gateway: &Gateway) -> [(&'static str, &'static str, u64); 8] {
    let settings = &gateway.settings;
    let health = gateway.state.log.health();
    [
        ("in_flight", "Requests being worked on", gateway.in_flight.count(settings) as u64),
        ("streams", "Open streams that are no calls", gateway.streams.count(settings) as u64),
        ("sessions", "Open sessions", gateway.sessions.len() as u64),
        ("log_written", "The last record written", health.written),
        (
            "log_not_durable",
            "Records written and not yet on stable storage",
            health.written.saturating_sub(health.durable),
        ),
        ("log_pending_bytes", "Bytes of the log that wait for a sync", health.pending_bytes as u64),
        ("log_syncs", "Syncs of the log since the start", health.syncs),
        ("log_failed", "Whether the log takes nothing at the moment", u64::from(health.failure.is_some())),
    ]
}
