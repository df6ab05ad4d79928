//! Grants: who may call, with which token, on which servers, under which policies, until when.
//!
//! `token.rs` is the secret that the agent holds, `table.rs` the look-up in memory that a call goes
//! through; `store/grants.rs` keeps them.

mod table;
mod token;

use std::collections::BTreeMap;

use jiff::Timestamp;

pub use table::{ActiveGrant, GrantTable, TableEntry, TwoGrantsOneToken};
pub use token::{TOKEN_PREFIX, Token, TokenFault, TokenHash};

/// Characters of a label.
pub const LABEL_CHARACTERS_MAX: usize = 128;
/// Tags of one grant.
pub const TAGS_MAX: usize = 32;
/// Servers of one grant.
pub const BINDINGS_MAX: usize = 256;

/// One grant. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id, such as `g_01JCQ5…`.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// Words for policies to look at.
    pub tags: Vec<String>,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// When it was last used, to the minute or so.
    pub last_used: Option<Timestamp>,
    /// Which policy applies at which server.
    pub policies: BTreeMap<String, String>,
}

impl Grant {
    /// Whether it may be used at this time.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}
