//! Finished exchanges, told to whoever watches: for traces that leave the process.
//!
//! Nothing here is a record: the log is. Without a watcher this costs nothing.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::gateway::Gateway;
use crate::record::Trail;

/// One exchange with a client, over. No argument's value is in it.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Our id of it, as in the log.
    pub request: &'a str,
    /// The server, as far as the exchange got.
    pub server: Option<&'a str>,
    /// The grant's id.
    pub grant: Option<&'a str>,
    /// The method; empty where the message could not be read.
    pub method: &'a str,
    /// The tool or prompt.
    pub tool: Option<&'a str>,
    /// `allowed`, `denied`, `hidden` and so on, as in the metrics.
    pub outcome: &'a str,
    /// The rule that decided.
    pub rule: &'a str,
    /// W3C `traceparent` of the client, if it is well-formed.
    pub trace_parent: Option<&'a str>,
    /// When it began.
    pub started: Timestamp,
    /// How long it took until its answer began.
    pub took: Duration,
}

/// Is told of every exchange; must not wait.
pub type Watcher = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// Tells the watcher, if there is one.
pub(crate) fn tell(gateway: &Gateway, trail: &Trail, outcome: &str, rule: &str, took: Duration) {
    if let Some(watcher) = gateway.watcher() {
        let now = gateway.now();
        watcher(&Exchange {
            request: &trail.request,
            server: trail.server.as_deref(),
            grant: trail.grant.as_deref(),
            method: trail.method,
            tool: trail.tool.as_deref(),
            outcome,
            rule,
            trace_parent: trail.trace_parent.as_deref(),
            started: now.checked_sub(took).unwrap_or(now),
            took,
        });
    }
}
