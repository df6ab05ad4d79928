//! Grants in the store: create, list, rotate, revoke.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use portcullis_json::{Limits, Value, parse};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::{Store, check_name, optional_time, stored_time, time};
use crate::StateFault;
use crate::grants::{BINDINGS_MAX, Grant, LABEL_CHARACTERS_MAX, TAGS_MAX, TableEntry, Token, TokenHash};
use crate::id::new_id;

/// What a new grant shall be.
#[derive(Clone, Debug, Default)]
pub struct NewGrant {
    /// What people call it; no two grants share one.
    pub label: String,
    /// Words for policies to look at.
    pub tags: Vec<String>,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// Which policy applies at which server.
    pub policies: BTreeMap<String, String>,
}

impl NewGrant {
    fn check(&self) -> Result<(), StateFault> {
        let label_length = self.label.chars().count();
        if label_length == 0 || label_length > LABEL_CHARACTERS_MAX {
            return Err(StateFault::Invalid(format!(
                "a grant's label has 1 to {LABEL_CHARACTERS_MAX} characters"
            )));
        }
        if self.label.chars().any(char::is_control) {
            return Err(StateFault::Invalid("a grant's label has no control characters".into()));
        }
        if self.tags.len() > TAGS_MAX || self.policies.len() > BINDINGS_MAX {
            return Err(StateFault::Invalid(format!(
                "a grant has at most {TAGS_MAX} tags and {BINDINGS_MAX} servers"
            )));
        }
        self.tags.iter().try_for_each(|tag| check_name("tag", tag))
    }
}

impl Store {
    /// Makes a grant. The token is given out here and never again.
    pub fn create_grant(&mut self, new: &NewGrant, now: Timestamp) -> Result<(Grant, Token), StateFault> {
        new.check()?;
        if self.exists("SELECT 1 FROM grants WHERE label = ?1 OR id = ?1", &new.label)? {
            return Err(StateFault::Exists { what: "grant", name: new.label.clone() });
        }
        for (server, policy) in &new.policies {
            self.policy_for(server, policy)?;
        }
        let (id, token) = (new_id("g", now)?, Token::generate()?);
        let change = self.connection.transaction()?;
        change.execute(
            "INSERT INTO grants (id, label, tags, created, expires) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, new.label, tags_text(&new.tags), stored_time(now), new.expires.map(stored_time)],
        )?;
        for (server, policy) in &new.policies {
            change.execute(
                "INSERT INTO grant_policies (grant_id, server, policy) VALUES (?1, ?2, ?3)",
                params![id, server, policy],
            )?;
        }
        insert_token(&change, &id, &token, now)?;
        change.commit()?;
        Ok((self.grant(&id)?, token))
    }

    /// A policy can only be bound to the server that it is for.
    fn policy_for(&self, server: &str, policy: &str) -> Result<(), StateFault> {
        let found = self.policy(policy)?;
        if found.server != server {
            return Err(StateFault::Invalid(format!(
                "policy `{policy}` is for server `{}`, not for `{server}`",
                found.server
            )));
        }
        Ok(())
    }

    /// All grants, also those that have ended, oldest first.
    pub fn grants(&self) -> Result<Vec<Grant>, StateFault> {
        let mut query = self.connection.prepare("SELECT * FROM grants ORDER BY id")?;
        let rows: Vec<Grant> = query.query_map([], grant_row)?.collect::<Result<_, _>>()?;
        rows.into_iter().map(|grant| self.with_policies(grant)).collect()
    }

    /// The grant with this id or label.
    pub fn grant(&self, id_or_label: &str) -> Result<Grant, StateFault> {
        let query = "SELECT * FROM grants WHERE id = ?1 OR label = ?1";
        let found = self.connection.query_row(query, [id_or_label], grant_row).optional()?;
        let unknown = || StateFault::Unknown { what: "grant", name: id_or_label.to_owned() };
        self.with_policies(found.ok_or_else(unknown)?)
    }

    fn with_policies(&self, mut grant: Grant) -> Result<Grant, StateFault> {
        let query = "SELECT server, policy FROM grant_policies WHERE grant_id = ?1";
        let mut query = self.connection.prepare_cached(query)?;
        let rows = query.query_map([&grant.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        grant.policies = rows.collect::<Result<_, _>>()?;
        Ok(grant)
    }

    /// Gives a grant a new token; the old ones are taken for `overlap` longer, no more.
    pub fn rotate_grant(
        &mut self,
        id_or_label: &str,
        overlap: Duration,
        now: Timestamp,
    ) -> Result<Token, StateFault> {
        let grant = self.grant(id_or_label)?;
        if !grant.is_active(now) {
            return Err(StateFault::Invalid(format!("grant `{}` has ended; create a new one", grant.label)));
        }
        let until = now
            .checked_add(overlap)
            .map_err(|_| StateFault::Invalid("the overlap is longer than any calendar".to_owned()))?;
        let token = Token::generate()?;
        let change = self.connection.transaction()?;
        change.execute(
            "UPDATE grant_tokens SET valid_until = min(?2, coalesce(valid_until, ?2))
             WHERE grant_id = ?1",
            params![grant.id, stored_time(until)],
        )?;
        change.execute(
            "DELETE FROM grant_tokens WHERE grant_id = ?1 AND valid_until <= ?2",
            params![grant.id, stored_time(now)],
        )?;
        insert_token(&change, &grant.id, &token, now)?;
        change.commit()?;
        Ok(token)
    }

    /// Ends a grant for good; its tokens are forgotten.
    pub fn revoke_grant(&mut self, id_or_label: &str, now: Timestamp) -> Result<Grant, StateFault> {
        let id = self.grant(id_or_label)?.id;
        let change = self.connection.transaction()?;
        change.execute(
            "UPDATE grants SET revoked = coalesce(revoked, ?2) WHERE id = ?1",
            params![id, stored_time(now)],
        )?;
        change.execute("DELETE FROM grant_tokens WHERE grant_id = ?1", [&id])?;
        change.commit()?;
        self.grant(&id)
    }

    /// Every token with its grant, for the table in memory.
    pub fn grant_entries(&self) -> Result<Vec<TableEntry>, StateFault> {
        let mut entries = Vec::new();
        let mut query =
            self.connection.prepare("SELECT hash, valid_until FROM grant_tokens WHERE grant_id = ?1")?;
        for grant in self.grants()? {
            let rows = query.query_map([&grant.id], |row| {
                Ok((TokenHash::from_bytes(row.get("hash")?), optional_time(row, "valid_until")?))
            })?;
            for row in rows {
                let (token, valid_until) = row?;
                entries.push(TableEntry { token, valid_until, grant: grant.clone() });
            }
        }
        Ok(entries)
    }

    /// Keeps when grants were last used. Ids that are not in the store are passed over.
    pub fn note_last_used(&mut self, used: &[(String, Timestamp)]) -> Result<(), StateFault> {
        let change = self.connection.transaction()?;
        for (id, time) in used {
            change.execute(
                "UPDATE grants SET last_used = max(?2, coalesce(last_used, ?2)) WHERE id = ?1",
                params![id, stored_time(*time)],
            )?;
        }
        Ok(change.commit()?)
    }
}

fn insert_token(change: &Transaction<'_>, id: &str, token: &Token, now: Timestamp) -> Result<(), StateFault> {
    change.execute(
        "INSERT INTO grant_tokens (hash, grant_id, created) VALUES (?1, ?2, ?3)",
        params![token.hash().as_bytes(), id, stored_time(now)],
    )?;
    Ok(())
}

fn grant_row(row: &Row<'_>) -> rusqlite::Result<Grant> {
    let tags: String = row.get("tags")?;
    Ok(Grant {
        id: row.get("id")?,
        label: row.get("label")?,
        tags: tags_from(&tags),
        created: time(row, "created")?,
        expires: optional_time(row, "expires")?,
        revoked: optional_time(row, "revoked")?,
        last_used: optional_time(row, "last_used")?,
        policies: BTreeMap::new(),
    })
}

fn tags_text(tags: &[String]) -> String {
    Value::from(tags.iter().map(|tag| Value::from(tag.as_str())).collect::<Vec<_>>()).to_string()
}

fn tags_from(text: &str) -> Vec<String> {
    let list = parse(text.as_bytes(), &Limits::document()).ok();
    let tags = list.as_ref().and_then(Value::as_array).unwrap_or_default();
    tags.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect()
}
