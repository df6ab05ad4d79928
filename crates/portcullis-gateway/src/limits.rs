//! The limits, taken: all of a call's charges together or none. Only this module makes an [`Admitted`].
//!
//! INVARIANT: limits never exceed. `decide` only looked; another call may have been faster.

use std::sync::Arc;

use portcullis_policy::{Reservation, Verdict};

use crate::approval::Approved;
use crate::decide::denial;
use crate::gateway::Gateway;
use crate::record::Outgoing;
use crate::server::Server;
use crate::stop::{Denial, DenialKind, Stop};

/// What may leave as far as limits go, with what was reserved for it.
pub(crate) struct Admitted {
    server: Arc<Server>,
    outgoing: Outgoing,
    verdict: Verdict,
    reservation: Reservation,
}

impl Admitted {
    /// For `record` alone.
    pub(crate) fn into_parts(self) -> (Arc<Server>, Outgoing, Verdict, Reservation) {
        (self.server, self.outgoing, self.verdict, self.reservation)
    }
}

/// Reserves.
pub(crate) fn admit(gateway: &Gateway, approved: Approved) -> Result<Admitted, Stop> {
    let (asked, verdict) = approved.into_parts();
    let charges = &verdict.obligations.charges;
    let now = asked.caller.now;
    let ledger = &gateway.state.ledger;
    let shadow = asked.caller.policy.as_ref().is_some_and(|active| active.policy.is_shadow());
    let reservation = if shadow {
        ledger.record(charges, now)
    } else {
        if let Some(charge) = ledger.unknown(charges, now) {
            return Err(not_known(charge.limit.pointer.clone()).into());
        }
        ledger.reserve(charges, now).map_err(|over| denial(&Verdict::over_limit(charges, &over)))?
    };
    let server = asked.caller.server.clone();
    let outgoing = Outgoing { kind: asked.kind, place: asked.place, trace: asked.trace };
    Ok(Admitted { server, outgoing, verdict, reservation })
}

fn not_known(rule: Arc<str>) -> Denial {
    let message = "What was counted under this limit before the gateway started is not known; \
                   wait until its window has passed.";
    Denial {
        rule,
        message: message.to_owned(),
        retryable: true,
        retry_after_s: None,
        kind: DenialKind::Limit,
    }
}
