//! How much may go on at once: all together, and per server, grant or address, so that one cannot take all.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::authenticate::Caller;
use crate::settings::Settings;
use crate::stop::{GatewayFault, Stop};

/// How many things each key has at the moment. No key is kept that has none.
pub(crate) struct Shares<K> {
    taken: Mutex<HashMap<K, usize>>,
}

impl<K> Default for Shares<K> {
    fn default() -> Shares<K> {
        Shares { taken: Mutex::default() }
    }
}

/// One thing of a key; given back when dropped.
pub(crate) struct Share<K: Eq + Hash> {
    shares: Arc<Shares<K>>,
    key: K,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    /// One more for this key, unless it has `max`.
    pub(crate) fn take(self: &Arc<Self>, key: K, max: usize) -> Option<Share<K>> {
        let mut taken = self.lock();
        let count = taken.get(&key).copied().unwrap_or_default();
        if count >= max {
            return None;
        }
        taken.insert(key.clone(), count + 1);
        drop(taken);
        Some(Share { shares: self.clone(), key })
    }
}

impl<K> Shares<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

/// Requests being worked on.
pub(crate) struct InFlight {
    all: Arc<Semaphore>,
    of_server: Arc<Shares<String>>,
    of_grant: Arc<Shares<String>>,
}

/// Room for one request.
pub(crate) struct InFlightPermit {
    _all: OwnedSemaphorePermit,
    _of_server: Share<String>,
    _of_grant: Share<String>,
}

impl InFlight {
    pub(crate) fn new(settings: &Settings) -> InFlight {
        let all = Arc::new(Semaphore::new(settings.in_flight_max.min(Semaphore::MAX_PERMITS)));
        InFlight { all, of_server: Arc::default(), of_grant: Arc::default() }
    }

    /// Room for a request of this caller. One server that hangs, or one grant, cannot take all of it.
    pub(crate) fn take(&self, caller: &Caller, settings: &Settings) -> Result<InFlightPermit, Stop> {
        let all = self.all.clone().try_acquire_owned().map_err(|_| GatewayFault::Full("requests"))?;
        let (server, grant) = (caller.server.name().to_owned(), caller.grant_id().to_owned());
        let of_server = self.of_server.take(server, settings.in_flight_per_server_max);
        let of_grant = self.of_grant.take(grant, settings.in_flight_per_grant_max);
        Ok(InFlightPermit {
            _all: all,
            _of_server: of_server.ok_or(GatewayFault::Full("requests to this server"))?,
            _of_grant: of_grant.ok_or(GatewayFault::Full("requests of this grant"))?,
        })
    }

    pub(crate) fn count(&self, settings: &Settings) -> usize {
        settings.in_flight_max.saturating_sub(self.all.available_permits())
    }
}

/// Streams that stay open without a call: subscriptions and the streams of sessions.
pub(crate) struct Streams {
    all: Arc<Semaphore>,
    of_grant: Arc<Shares<String>>,
}

/// Room for one stream.
pub(crate) struct StreamPermit {
    _all: OwnedSemaphorePermit,
    _of_grant: Share<String>,
}

impl Streams {
    pub(crate) fn new(settings: &Settings) -> Streams {
        let all = Arc::new(Semaphore::new(settings.streams_max.min(Semaphore::MAX_PERMITS)));
        Streams { all, of_grant: Arc::default() }
    }

    /// To be taken before anything leaves for the server.
    pub(crate) fn take(&self, caller: &Caller, settings: &Settings) -> Result<StreamPermit, Stop> {
        let all = self.all.clone().try_acquire_owned().map_err(|_| GatewayFault::Full("streams"))?;
        let of_grant = self.of_grant.take(caller.grant_id().to_owned(), settings.streams_per_grant_max);
        let of_grant = of_grant.ok_or(GatewayFault::Full("streams of this grant"))?;
        Ok(StreamPermit { _all: all, _of_grant: of_grant })
    }

    pub(crate) fn count(&self, settings: &Settings) -> usize {
        settings.streams_max.saturating_sub(self.all.available_permits())
    }
}

/// What a stream holds as long as it is open. The stream of a call is that call, still being worked on.
#[expect(dead_code, reason = "held, never read")]
pub(crate) enum Held {
    Call(InFlightPermit),
    Stream(StreamPermit),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_share_and_no_more_and_leaves_nothing_behind() {
        let shares: Arc<Shares<&str>> = Arc::default();
        let (one, two) = (shares.take("a", 2), shares.take("a", 2));
        assert!(one.is_some() && two.is_some());
        assert!(shares.take("a", 2).is_none());
        let other = shares.take("b", 2);
        assert!(other.is_some(), "another key has its own");
        drop(one);
        assert!(shares.take("a", 2).is_some());
        drop((two, other));
        assert!(shares.lock().is_empty());
    }
}
