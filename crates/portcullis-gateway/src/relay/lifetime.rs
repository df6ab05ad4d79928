//! How long a stream may stay open: as long as its grant may use its server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use portcullis_json::Value;
use portcullis_policy::Subject;
use tokio::sync::watch;

use crate::authenticate::{Caller, CutOff};
use crate::decide::allows;
use crate::gateway::Gateway;

/// An expiry that lies further ahead is looked at again then.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// Lists that may change: those that a stream is to hear of, or those that did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

impl Lists {
    pub(super) const ALL: Lists = Lists { tools: true, resources: true, prompts: true };

    pub(crate) fn any(self) -> bool {
        self.tools || self.resources || self.prompts
    }
}

pub(super) struct Lifetime {
    gateway: Arc<Gateway>,
    caller: Caller,
    changes: watch::Receiver<u64>,
    wanted: Lists,
    /// The tools that the client could see last, if it is to hear of them.
    visible: BTreeSet<String>,
}

impl Lifetime {
    pub(super) fn new(gateway: &Arc<Gateway>, caller: &Caller, wanted: Lists) -> Lifetime {
        let changes = gateway.watch_changes();
        let visible = if wanted.tools { visible(gateway, caller) } else { BTreeSet::new() };
        Lifetime { gateway: gateway.clone(), caller: caller.clone(), changes, wanted, visible }
    }

    /// Resolves when the caller may not go on. Changes stay to be heard by `changed`.
    pub(super) async fn ended(&self) -> CutOff {
        let mut changes = self.changes.clone();
        loop {
            if let Err(why) = self.caller.again(&self.gateway) {
                return why;
            }
            tokio::select! {
                // The gateway, which sends the changes, lives as long as this.
                _ = changes.changed() => {}
                () = tokio::time::sleep(self.until_expiry()) => {}
            }
        }
    }

    /// Resolves when the configuration changed (the caller under the new one) or the caller may not go on.
    pub(super) async fn changed(&mut self) -> Result<Caller, CutOff> {
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

    /// Why the caller may not go on, if its time is over.
    pub(super) fn expired(&self) -> Option<CutOff> {
        let expires = self.caller.grant.grant().expires?;
        if self.gateway.now() < expires { None } else { self.caller.again(&self.gateway).err() }
    }

    fn until_expiry(&self) -> Duration {
        let expires = self.caller.grant.grant().expires;
        let left = expires.map(|at| at.as_millisecond().saturating_sub(self.gateway.now().as_millisecond()));
        let left = left.map(|left| Duration::from_millis(u64::try_from(left).unwrap_or_default()));
        left.map_or(SLEEP_MAX, |left| left.min(SLEEP_MAX).max(Duration::from_millis(1)))
    }

    /// Which of the wanted lists read otherwise for `caller` than when we last looked.
    pub(super) fn changed_lists(&mut self, caller: &Caller) -> Lists {
        let before = std::mem::replace(&mut self.caller, caller.clone());
        let differs = |section| rules(&before, section) != rules(caller, section);
        let mut changed = Lists {
            tools: false,
            resources: self.wanted.resources && differs("resources"),
            prompts: self.wanted.prompts && differs("prompts"),
        };
        if self.wanted.tools {
            let visible = visible(&self.gateway, caller);
            changed.tools = visible != self.visible;
            self.visible = visible;
        }
        changed
    }
}

/// What the caller's policy says about resources or prompts: the section, and what stands in where it is
/// silent. What the server lists is not known here, so a rule that changes counts as a list that does.
fn rules<'a>(caller: &'a Caller, section: &str) -> Option<[Option<&'a Value>; 3]> {
    let document = caller.policy.as_ref()?.policy.document();
    Some([section, "default", "mode"].map(|key| document.get(key)))
}

fn visible(gateway: &Gateway, caller: &Caller) -> BTreeSet<String> {
    let Some(known) = caller.server.catalogue.known() else {
        return BTreeSet::new();
    };
    let shown = known.tools.iter().filter(|tool| !tool.withheld).filter(|tool| {
        let (class, _) = caller.server.class_of(tool);
        allows(gateway, caller, Subject::List { tool: &tool.name, class })
    });
    shown.map(|tool| tool.name.clone()).collect()
}
