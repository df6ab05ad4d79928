//! The rows of the pins' database. Called by `pins` alone.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use portcullis_json::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{Change, Fingerprints, Pin};
use crate::StateFault;
use crate::store::{stored_time, time};

type Named<T> = (String, T);

pub(super) fn all_fingerprints(database: &Connection) -> Result<HashMap<String, Fingerprints>, StateFault> {
    let mut query = database.prepare("SELECT server, tool, fingerprint FROM pins")?;
    let mut rows = query.query([])?;
    let mut all: HashMap<String, Fingerprints> = HashMap::new();
    while let Some(row) = rows.next()? {
        all.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get(2)?);
    }
    Ok(all)
}

pub(super) fn fingerprints(database: &Connection, server: &str) -> Result<Fingerprints, StateFault> {
    let mut query = database.prepare_cached("SELECT tool, fingerprint FROM pins WHERE server = ?1")?;
    let rows = query.query_map([server], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn pin(database: &Connection, server: &str, tool: &str) -> Result<Option<Pin>, StateFault> {
    let query = "SELECT * FROM pins WHERE server = ?1 AND tool = ?2";
    Ok(database.query_row(query, [server, tool], pin_row).optional()?.map(|(_, pin)| pin))
}

pub(super) fn pins(database: &Connection, server: &str) -> Result<BTreeMap<String, Pin>, StateFault> {
    let mut query = database.prepare_cached("SELECT * FROM pins WHERE server = ?1")?;
    Ok(query.query_map([server], pin_row)?.collect::<Result<_, _>>()?)
}

fn pin_row(row: &Row<'_>) -> rusqlite::Result<Named<Pin>> {
    let pin = Pin {
        fingerprint: row.get("fingerprint")?,
        definition: row.get("definition")?,
        pinned: time(row, "pinned")?,
    };
    Ok((row.get("tool")?, pin))
}

pub(super) fn changes(database: &Connection, server: &str) -> Result<BTreeMap<String, Change>, StateFault> {
    let mut query = database.prepare_cached("SELECT * FROM changes WHERE server = ?1")?;
    Ok(query.query_map([server], change_row)?.collect::<Result<_, _>>()?)
}

fn change_row(row: &Row<'_>) -> rusqlite::Result<Named<Change>> {
    let change = Change {
        fingerprint: row.get("fingerprint")?,
        definition: row.get("definition")?,
        renamed_from: row.get("renamed_from")?,
        seen: time(row, "seen")?,
        shown: row.get("shown")?,
    };
    Ok((row.get("tool")?, change))
}

/// A pin that is there stays: another process may have been faster.
pub(super) fn insert_pin(
    database: &Connection,
    server: &str,
    tool: &str,
    fingerprint: &Digest,
    definition: &str,
    now: Timestamp,
) -> Result<(), StateFault> {
    let mut insert = database.prepare_cached(
        "INSERT INTO pins (server, tool, fingerprint, definition, pinned) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
    )?;
    insert.execute(params![server, tool, fingerprint, definition, stored_time(now)])?;
    Ok(())
}

pub(super) fn replace_pin(
    database: &Connection,
    server: &str,
    tool: &str,
    change: &Change,
    now: Timestamp,
) -> Result<(), StateFault> {
    database.execute("DELETE FROM pins WHERE server = ?1 AND tool = ?2", [server, tool])?;
    insert_pin(database, server, tool, &change.fingerprint, &change.definition, now)
}

pub(super) fn put_change(
    database: &Connection,
    server: &str,
    tool: &str,
    change: &Change,
) -> Result<(), StateFault> {
    let mut put = database.prepare_cached(
        "INSERT OR REPLACE INTO changes (server, tool, fingerprint, definition, renamed_from, seen, shown)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let Change { fingerprint, definition, renamed_from, seen, shown } = change;
    put.execute(params![server, tool, fingerprint, definition, renamed_from, stored_time(*seen), shown])?;
    Ok(())
}

pub(super) fn delete_change(database: &Connection, server: &str, tool: &str) -> Result<(), StateFault> {
    database.execute("DELETE FROM changes WHERE server = ?1 AND tool = ?2", [server, tool])?;
    Ok(())
}

/// How many definitions are kept for the server, and their bytes.
pub(super) fn room(database: &Connection, server: &str) -> Result<(u64, u64), StateFault> {
    let query = "SELECT count(*), coalesce(sum(length(definition)), 0) FROM
        (SELECT definition FROM pins WHERE server = ?1
         UNION ALL SELECT definition FROM changes WHERE server = ?1)";
    Ok(database.query_row(query, [server], |row| Ok((row.get(0)?, row.get(1)?)))?)
}
