//! The end of an exchange: what was stopped is recorded, everything is counted. What was let through has its
//! record already, and its outcome is written by whoever gives the answer back.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use portcullis_state::log::Verdict;

use crate::gateway::Gateway;
use crate::record::{self, Decided, Trail};
use crate::respond;
use crate::stop::{ClientFault, GatewayFault, Refusal, Stop};
use crate::watcher;

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

pub(crate) fn stranger_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::Client(ClientFault::ForbiddenHost) => "forbidden host",
        Stop::Client(ClientFault::ForbiddenOrigin) => "forbidden origin",
        Stop::Client(ClientFault::Unauthenticated) => "no valid token",
        _ => "refused",
    }
}
