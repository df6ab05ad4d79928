//! Policies in the store: named, versioned, content-addressed; a version never changes.
//!
//! What a policy says is not looked at here beyond its being JSON: whoever adds one has checked it.

use jiff::Timestamp;
use portcullis_json::{Limits, parse};
use rusqlite::{OptionalExtension as _, Row, params};

use super::{Store, check_name, stored_time, time};
use crate::StateFault;

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The server it is for.
    pub server: String,
    /// The version in force, if any.
    pub active: Option<u32>,
}

/// One version of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion {
    /// From 1.
    pub version: u32,
    /// Digest of the canonical text.
    pub hash: [u8; 32],
    /// The document as it was given.
    pub source: Vec<u8>,
    /// When it was added.
    pub created: Timestamp,
}

/// A version came into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// Which version.
    pub version: u32,
    /// When.
    pub time: Timestamp,
    /// By whom.
    pub by: String,
}

impl Store {
    /// Adds a version. The same content again is the same version, also if it is laid out differently.
    pub fn add_policy(
        &mut self,
        name: &str,
        server: &str,
        source: &[u8],
        now: Timestamp,
    ) -> Result<PolicyVersion, StateFault> {
        check_name("policy", name)?;
        check_name("server", server)?;
        let document = parse(source, &Limits::document()).map_err(|fault| {
            StateFault::Invalid(format!("policy `{name}` is not a JSON document: {fault}"))
        })?;
        let hash = portcullis_json::digest(&document);
        let change = self.connection.savepoint()?;
        change.execute(
            "INSERT INTO policies (name, server) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
            [name, server],
        )?;
        let bound: String =
            change.query_row("SELECT server FROM policies WHERE name = ?1", [name], |row| row.get(0))?;
        if bound != server {
            return Err(StateFault::Invalid(format!(
                "policy `{name}` is for server `{bound}`; take another name for `{server}`"
            )));
        }
        change.execute(
            "INSERT INTO policy_versions (policy, version, hash, source, created)
             SELECT ?1, coalesce(max(version), 0) + 1, ?2, ?3, ?4
             FROM policy_versions WHERE policy = ?1 ON CONFLICT (policy, hash) DO NOTHING",
            params![name, hash, source, stored_time(now)],
        )?;
        let added = change.query_row(
            "SELECT * FROM policy_versions WHERE policy = ?1 AND hash = ?2",
            params![name, hash],
            version_row,
        )?;
        change.commit()?;
        Ok(added)
    }

    /// Puts a version into force.
    pub fn activate_policy(
        &mut self,
        name: &str,
        version: u32,
        by: &str,
        now: Timestamp,
    ) -> Result<PolicyVersion, StateFault> {
        let found = self.policy_version(name, version)?;
        let change = self.connection.savepoint()?;
        change.execute("UPDATE policies SET active = ?2 WHERE name = ?1", params![name, version])?;
        change.execute(
            "INSERT INTO activations (policy, version, time, by) VALUES (?1, ?2, ?3, ?4)",
            params![name, version, stored_time(now), by],
        )?;
        change.commit()?;
        Ok(found)
    }

    /// Puts the version into force that was so before the current one.
    pub fn roll_back_policy(
        &mut self,
        name: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<PolicyVersion, StateFault> {
        let active = self.policy(name)?.active;
        let history = self.policy_history(name)?;
        let before = history.iter().rev().find(|past| Some(past.version) != active);
        let before = before
            .ok_or_else(|| StateFault::Invalid(format!("policy `{name}` has no earlier version in force")))?;
        self.activate_policy(name, before.version, by, now)
    }

    /// All policies, by name.
    pub fn policies(&self) -> Result<Vec<Policy>, StateFault> {
        let mut query = self.connection.prepare("SELECT * FROM policies ORDER BY name")?;
        Ok(query.query_map([], policy_row)?.collect::<Result<_, _>>()?)
    }

    /// The policy with this name.
    pub fn policy(&self, name: &str) -> Result<Policy, StateFault> {
        let query = "SELECT * FROM policies WHERE name = ?1";
        let found = self.connection.query_row(query, [name], policy_row).optional()?;
        found.ok_or_else(|| StateFault::Unknown { what: "policy", name: name.to_owned() })
    }

    /// One version.
    pub fn policy_version(&self, name: &str, version: u32) -> Result<PolicyVersion, StateFault> {
        let query = "SELECT * FROM policy_versions WHERE policy = ?1 AND version = ?2";
        let row = self.connection.query_row(query, params![name, version], version_row);
        let name = || format!("{name} version {version}");
        row.optional()?.ok_or_else(|| StateFault::Unknown { what: "policy", name: name() })
    }

    /// All versions, oldest first.
    pub fn policy_versions(&self, name: &str) -> Result<Vec<PolicyVersion>, StateFault> {
        self.policy(name)?;
        let query = "SELECT * FROM policy_versions WHERE policy = ?1 ORDER BY version";
        let mut query = self.connection.prepare(query)?;
        Ok(query.query_map([name], version_row)?.collect::<Result<_, _>>()?)
    }

    /// What was in force when, oldest first.
    pub fn policy_history(&self, name: &str) -> Result<Vec<Activation>, StateFault> {
        self.policy(name)?;
        let query = "SELECT * FROM activations WHERE policy = ?1 ORDER BY id";
        let mut query = self.connection.prepare(query)?;
        let rows = query.query_map([name], |row| {
            let (version, by) = (row.get("version")?, row.get("by")?);
            Ok(Activation { version, time: time(row, "time")?, by })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn policy_row(row: &Row<'_>) -> rusqlite::Result<Policy> {
    let (name, server) = (row.get("name")?, row.get("server")?);
    Ok(Policy { name, server, active: row.get("active")? })
}

fn version_row(row: &Row<'_>) -> rusqlite::Result<PolicyVersion> {
    Ok(PolicyVersion {
        version: row.get("version")?,
        hash: row.get("hash")?,
        source: row.get("source")?,
        created: time(row, "created")?,
    })
}
