//! The grants in memory: one look-up by hash per call, one answer for whatever is not valid.
//!
//! A table is immutable; a change builds a new one, which the gateway swaps in. Only the time of last use
//! is written, without a lock, and it is carried over to the next table.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ahash::HashMap;
use jiff::Timestamp;

use super::{Grant, TokenHash};

/// One token of one grant.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// The token's hash.
    pub token: TokenHash,
    /// After a rotation: until when the old token is still taken.
    pub valid_until: Option<Timestamp>,
    /// The grant.
    pub grant: Grant,
}

/// Two grants cannot share a token: which one would it be?
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("grants `{first}` and `{second}` have the same token; give each its own")]
pub struct TwoGrantsOneToken {
    /// The label of one.
    pub first: String,
    /// The label of the other.
    pub second: String,
}

/// A grant in use.
#[derive(Debug)]
pub struct ActiveGrant {
    grant: Grant,
    /// Seconds since 1970; 0: not used yet.
    last_used: AtomicI64,
}

impl ActiveGrant {
    /// The grant.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }
}

/// All grants by token.
#[derive(Debug, Default)]
pub struct GrantTable {
    by_token: HashMap<TokenHash, (Option<Timestamp>, Arc<ActiveGrant>)>,
    by_id: HashMap<String, Arc<ActiveGrant>>,
}

impl GrantTable {
    /// Builds a table; `before` is the one it replaces.
    pub fn build(
        entries: impl IntoIterator<Item = TableEntry>,
        before: Option<&GrantTable>,
    ) -> Result<GrantTable, TwoGrantsOneToken> {
        let known = before.map(GrantTable::used_seconds).unwrap_or_default();
        let mut by_id: HashMap<String, Arc<ActiveGrant>> = HashMap::default();
        let mut by_token: HashMap<_, (_, Arc<ActiveGrant>)> = HashMap::default();
        for entry in entries {
            let id = entry.grant.id.clone();
            let grant = by_id.entry(id).or_insert_with_key(|id| {
                let used = known.get(id.as_str()).copied().unwrap_or_default();
                Arc::new(ActiveGrant { grant: entry.grant, last_used: AtomicI64::new(used) })
            });
            let taken = by_token.insert(entry.token, (entry.valid_until, grant.clone()));
            if let Some((_, other)) = taken {
                let (first, second) = (other.grant.label.clone(), grant.grant.label.clone());
                return Err(TwoGrantsOneToken { first, second });
            }
        }
        Ok(GrantTable { by_token, by_id })
    }

    /// The grant whose token this is. Unknown, expired, revoked and rotated away all look the same.
    pub fn find(&self, presented: &str, now: Timestamp) -> Option<Arc<ActiveGrant>> {
        let hash = TokenHash::of(presented);
        let (token, (valid_until, grant)) = self.by_token.get_key_value(&hash)?;
        let valid =
            *token == hash && valid_until.is_none_or(|until| now < until) && grant.grant.is_active(now);
        valid.then(|| {
            grant.last_used.fetch_max(now.as_second(), Ordering::Relaxed);
            grant.clone()
        })
    }

    /// Whether the grant with this id may still be used. For streams that stay open: they must ask the
    /// current table, since the grant they hold is the one of the day they were opened.
    pub fn is_active(&self, id: &str, now: Timestamp) -> bool {
        self.by_id.get(id).is_some_and(|grant| grant.grant.is_active(now))
    }

    /// The grant with this id, active or not.
    pub fn get(&self, id: &str) -> Option<&Arc<ActiveGrant>> {
        self.by_id.get(id)
    }

    /// When each grant was used since the gateway started; to be stored now and then.
    pub fn last_used(&self) -> Vec<(String, Timestamp)> {
        let used = self.used_seconds().into_iter();
        let used =
            used.filter_map(|(id, second)| Some((id.to_owned(), Timestamp::from_second(second).ok()?)));
        used.collect()
    }

    fn used_seconds(&self) -> HashMap<&str, i64> {
        let used = |grant: &ActiveGrant| grant.last_used.load(Ordering::Relaxed);
        let grants = self.by_id.iter().map(|(id, grant)| (id.as_str(), used(grant)));
        grants.filter(|(_, second)| *second > 0).collect()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.by_token.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_token.is_empty()
    }
}
