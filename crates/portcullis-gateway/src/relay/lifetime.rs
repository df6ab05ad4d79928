//! How long a stream may stay open: as long as its grant may use its server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::Subject;
use tokio::sync::watch;

use crate::authenticate::Caller;
use crate::decide::allows;
use crate::gateway::Gateway;

/// An expiry that lies further ahead is looked at again then.
const SLEEP_MAX: Duration = Duration::from_secs(60);

pub(super) struct Lifetime {
    gateway: Arc<Gateway>,
    caller: Caller,
    changes: watch::Receiver<u64>,
    /// The tools that the client could see last.
    visible: BTreeSet<String>,
}

impl Lifetime {
    pub(super) fn new(gateway: &Arc<Gateway>, caller: &Caller) -> Lifetime {
        let changes = gateway.watch_changes();
        let visible = visible(gateway, caller);
        Lifetime { gateway: gateway.clone(), caller: caller.clone(), changes, visible }
    }

    /// Resolves when the configuration changed (the caller under the new one) or the grant ended (none).
    pub(super) async fn changed(&mut self) -> Option<Caller> {
        loop {
            let sleep = self.until_expiry();
            tokio::select! {
                _ = self.changes.changed() => return self.caller.again(&self.gateway),
                () = tokio::time::sleep(sleep) => {
                    self.caller.again(&self.gateway)?;
                }
            }
        }
    }

    fn until_expiry(&self) -> Duration {
        let expires = self.caller.grant.grant().expires;
        let left = expires.map(|at| at.as_millisecond().saturating_sub(self.gateway.now().as_millisecond()));
        let left = left.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or_default()));
        left.map_or(SLEEP_MAX, |left| left.min(SLEEP_MAX).max(Duration::from_millis(1)))
    }

    /// Whether `caller` sees other tools than when we last looked.
    pub(super) fn sees_other_tools(&mut self, gateway: &Gateway, caller: &Caller) -> bool {
        let before = std::mem::replace(&mut self.visible, visible(gateway, caller));
        self.caller = caller.clone();
        before != self.visible
    }
}

fn visible(gateway: &Gateway, caller: &Caller) -> BTreeSet<String> {
    let Some(known) = caller.server.catalogue.known() else {
        return BTreeSet::new();
    };
    let shown = known
        .tools
        .iter()
        .filter(|tool| !tool.withheld)
        .filter(|tool| allows(gateway, caller, Subject::List { tool: &tool.name, class: tool.class }));
    shown.map(|tool| tool.name.clone()).collect()
}
