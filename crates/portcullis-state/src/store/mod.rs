//! What is administered: grants, servers, policies, in one SQLite database.
//!
//! Never on the path of a call: the gateway reads it whole at start and after a change, and compiles it
//! into tables in memory. One writer: whoever holds the directory's lock. Times are microseconds since
//! 1970.

mod grants;
mod policies;
mod servers;

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

use crate::StateFault;
use crate::directory::DataDirectory;
use crate::sealed::SealingKeys;

pub use grants::NewGrant;
pub use policies::{Activation, Policy, PolicyVersion};
pub use servers::{Header, HeaderInput, HeaderSource, NewServer, Server, Transport};

/// The newest schema that this version reads.
pub const SCHEMA: u32 = 1;
/// Characters of a server's or policy's name.
pub const NAME_CHARACTERS_MAX: usize = 128;

/// How long a command waits for another one that is just writing.
const BUSY_WAIT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE servers (
        name TEXT PRIMARY KEY, transport TEXT NOT NULL, created INTEGER NOT NULL) STRICT;
    CREATE TABLE server_headers (
        server TEXT NOT NULL REFERENCES servers(name) ON DELETE CASCADE,
        name TEXT NOT NULL, kind TEXT NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (server, name)) STRICT;
    CREATE TABLE server_classes (
        server TEXT NOT NULL REFERENCES servers(name) ON DELETE CASCADE,
        tool TEXT NOT NULL, class TEXT NOT NULL, PRIMARY KEY (server, tool)) STRICT;
    CREATE TABLE policies (
        name TEXT PRIMARY KEY, server TEXT NOT NULL, active INTEGER) STRICT;
    CREATE TABLE policy_versions (
        policy TEXT NOT NULL REFERENCES policies(name),
        version INTEGER NOT NULL, hash BLOB NOT NULL, source BLOB NOT NULL,
        created INTEGER NOT NULL,
        PRIMARY KEY (policy, version), UNIQUE (policy, hash)) STRICT;
    CREATE TRIGGER policy_versions_stay BEFORE UPDATE ON policy_versions
        BEGIN SELECT raise(ABORT, 'a policy version never changes'); END;
    CREATE TABLE activations (
        id INTEGER PRIMARY KEY, policy TEXT NOT NULL REFERENCES policies(name),
        version INTEGER NOT NULL, time INTEGER NOT NULL, by TEXT NOT NULL) STRICT;
    CREATE TABLE grants (
        id TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE, tags TEXT NOT NULL,
        created INTEGER NOT NULL, expires INTEGER, revoked INTEGER, last_used INTEGER) STRICT;
    CREATE TABLE grant_policies (
        grant_id TEXT NOT NULL REFERENCES grants(id), server TEXT NOT NULL, policy TEXT NOT NULL,
        PRIMARY KEY (grant_id, server)) STRICT;
    CREATE TABLE grant_tokens (
        hash BLOB PRIMARY KEY, grant_id TEXT NOT NULL REFERENCES grants(id),
        created INTEGER NOT NULL, valid_until INTEGER) STRICT;
";

/// The store, open. The caller holds the directory's lock.
pub struct Store {
    connection: Connection,
    sealing: SealingKeys,
}

impl Store {
    /// Opens the store of a data directory; makes its tables if they are not there.
    pub fn open(directory: &DataDirectory) -> Result<Store, StateFault> {
        let path = directory.store();
        let connection = Connection::open(&path)?;
        make_private(&path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        // FULL: what a command has confirmed survives a power cut.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
        )?;
        let mut store = Store { connection, sealing: directory.sealing_keys()? };
        store.prepare(&path)?;
        Ok(store)
    }

    fn prepare(&mut self, path: &Path) -> Result<(), StateFault> {
        let version = "SELECT user_version FROM pragma_user_version";
        let found: u32 = self.connection.query_row(version, [], |row| row.get(0))?;
        if found > SCHEMA {
            return Err(StateFault::Newer { path: path.to_owned(), found, known: SCHEMA });
        }
        if found == 0 {
            let change = self.connection.transaction()?;
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "user_version", SCHEMA)?;
            change.commit()?;
        }
        Ok(())
    }

    fn exists(&self, query: &str, name: &str) -> Result<bool, StateFault> {
        let found = self.connection.query_row(query, [name], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }
}

pub(crate) fn make_private(path: &Path) -> Result<(), StateFault> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, mode).map_err(|error| StateFault::file("protect", path, error))
}

/// Names are what stands in URLs, files and logs: letters, digits, `_`, `.`, `-`.
fn check_name(what: &str, name: &str) -> Result<(), StateFault> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let dots = name.bytes().all(|byte| byte == b'.');
    if name.len() > NAME_CHARACTERS_MAX || !name.bytes().all(plain) || dots {
        return Err(StateFault::Invalid(format!(
            "`{}` is no name for a {what}: use letters, digits, `_`, `.` and `-`, at most \
             {NAME_CHARACTERS_MAX}",
            name.escape_debug()
        )));
    }
    Ok(())
}

pub(crate) fn stored_time(time: Timestamp) -> i64 {
    time.as_microsecond()
}

/// The time in a column.
pub(crate) fn time(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    Ok(optional_time(row, column)?.unwrap_or(Timestamp::UNIX_EPOCH))
}

fn optional_time(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    let microseconds: Option<i64> = row.get(column)?;
    Ok(microseconds.and_then(|time| Timestamp::from_microsecond(time).ok()))
}
