//! The tables.

use rusqlite::Connection;

use super::fault::IndexFault;

/// The format of the file. A newer one is refused.
const FORMAT: i64 = 1;
/// Pages that are kept in memory, in KiB (negative by SQLite's convention).
const CACHE_KIB: i64 = -32_768;

/// Words that are collected in memory during an import, in bytes.
const WORDS_BYTES: i64 = 16 << 20;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS servers(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  version TEXT,
  repository TEXT,
  package TEXT,
  remote TEXT,
  source TEXT NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS tools(
  id INTEGER PRIMARY KEY,
  server INTEGER NOT NULL REFERENCES servers(id),
  name TEXT NOT NULL,
  class INTEGER NOT NULL,
  confidence INTEGER NOT NULL,
  provenance INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  parameters TEXT NOT NULL,
  evidence TEXT NOT NULL,
  signals INTEGER NOT NULL,
  hints INTEGER NOT NULL,
  prints BLOB NOT NULL,
  first_seen INTEGER NOT NULL,
  last_changed INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS tools_by_name ON tools(server, name);
CREATE INDEX IF NOT EXISTS tools_by_class ON tools(class);
CREATE TABLE IF NOT EXISTS changes(
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  server INTEGER NOT NULL,
  tool TEXT NOT NULL,
  kind INTEGER NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS changes_by_server ON changes(server, at);
CREATE TABLE IF NOT EXISTS overrides(
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  class INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY(server, tool)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
  text, content='', contentless_delete=1, detail=none, tokenize=\"unicode61 tokenchars '_'\"
);
";

/// Makes the tables where they are missing; refuses a newer format.
pub(super) fn prepare(connection: &Connection) -> Result<(), IndexFault> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > FORMAT {
        return Err(IndexFault::TooNew { found });
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.execute_batch(TABLES)?;
    // More words in memory before they are written means fewer pieces to merge.
    connection.execute("INSERT INTO words(words, rank) VALUES('hashsize', ?1)", [WORDS_BYTES])?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    Ok(())
}
