//! Pins: the definition of each tool as it was first seen or last accepted, and what differs from it now.
//!
//! Kept in a database of its own in the data directory. This is storage only: whether a definition differs,
//! and what is done about it, is for the gateway to say. A pin moves in [`OpenPins::accept`] and nowhere
//! else. What is pinned is also in memory, so that looking at a list asks no database.

mod rows;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use portcullis_json::Digest;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::StateFault;
use crate::directory::DataDirectory;

/// The newest schema that this version reads.
const SCHEMA: u32 = 1;
/// Tools of one server that can be pinned, with those that are gone.
pub const PINS_MAX: u64 = 20_000;
/// Bytes of the definitions that are kept for one server.
pub const PIN_BYTES_MAX: u64 = 128 << 20;
/// How long to wait for another process that is just writing.
const BUSY_WAIT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE pins (
        server TEXT NOT NULL, tool TEXT NOT NULL, fingerprint BLOB NOT NULL, definition TEXT NOT NULL,
        pinned INTEGER NOT NULL, PRIMARY KEY (server, tool)) STRICT;
    CREATE TABLE changes (
        server TEXT NOT NULL, tool TEXT NOT NULL, fingerprint BLOB NOT NULL, definition TEXT NOT NULL,
        renamed_from TEXT, seen INTEGER NOT NULL, shown INTEGER NOT NULL,
        PRIMARY KEY (server, tool)) STRICT;
";

/// A definition that agents may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its fingerprint.
    pub fingerprint: Digest,
    /// The definition itself, as JSON.
    pub definition: String,
    /// Since when.
    pub pinned: Timestamp,
}

/// A definition that nobody has accepted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its fingerprint.
    pub fingerprint: Digest,
    /// The definition itself, as JSON.
    pub definition: String,
    /// The pinned tool that it looks like, where the name is what changed.
    pub renamed_from: Option<String>,
    /// Since when it is so.
    pub seen: Timestamp,
    /// An administrator has looked at exactly this.
    pub shown: bool,
}

/// One thing to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Seen for the first time: pinned.
    Pin {
        /// The tool.
        tool: String,
        /// Its fingerprint.
        fingerprint: Digest,
        /// The definition, as JSON.
        definition: String,
    },
    /// Not what is pinned: withheld until somebody accepts it.
    Hold {
        /// The tool.
        tool: String,
        /// Its fingerprint.
        fingerprint: Digest,
        /// The definition, as JSON.
        definition: String,
        /// The pinned tool that it looks like.
        renamed_from: Option<String>,
    },
    /// What is pinned again: nothing is withheld any more.
    Release {
        /// The tool.
        tool: String,
    },
}

/// What each tool of one server is pinned to.
pub type Fingerprints = HashMap<String, Digest>;

/// The pins of a data directory.
pub struct Pins {
    connection: Mutex<Connection>,
    pinned: RwLock<HashMap<String, Arc<Fingerprints>>>,
}

impl Pins {
    /// Opens the pins of a data directory.
    pub fn open(directory: &DataDirectory) -> Result<Pins, StateFault> {
        let path = directory.pins();
        let connection = Connection::open(&path)?;
        crate::store::make_private(&path)?;
        Pins::prepare(connection, &path)
    }

    /// Pins that are gone when the process ends; for trying things out.
    pub fn in_memory() -> Result<Pins, StateFault> {
        Pins::prepare(Connection::open_in_memory()?, Path::new(":memory:"))
    }

    fn prepare(mut connection: Connection, path: &Path) -> Result<Pins, StateFault> {
        connection.busy_timeout(BUSY_WAIT)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = "SELECT user_version FROM pragma_user_version";
        let found: u32 = change.query_row(version, [], |row| row.get(0))?;
        if found > SCHEMA {
            return Err(StateFault::Newer { path: path.to_owned(), found, known: SCHEMA });
        }
        if found == 0 {
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "user_version", SCHEMA)?;
        }
        change.commit()?;
        let pinned = rows::all_fingerprints(&connection)?;
        let pinned = pinned.into_iter().map(|(server, pins)| (server, Arc::new(pins))).collect();
        Ok(Pins { connection: Mutex::new(connection), pinned: RwLock::new(pinned) })
    }

    /// The fingerprint that the tool is pinned to, from memory.
    pub fn pinned(&self, server: &str, tool: &str) -> Option<Digest> {
        self.of_server(server)?.get(tool).copied()
    }

    /// What the tools of a server are pinned to, from memory: the same as long as nothing is changed.
    pub fn of_server(&self, server: &str) -> Option<Arc<Fingerprints>> {
        self.pinned.read().unwrap_or_else(PoisonError::into_inner).get(server).cloned()
    }

    /// Looks at the pins of one server and changes them, in one transaction that nobody gets in between of.
    ///
    /// Nothing is kept when `work` fails. It waits for the disk: not to be called from async code.
    pub fn change<T, E: From<StateFault>>(
        &self,
        server: &str,
        work: impl FnOnce(&mut OpenPins<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let mut open = OpenPins { server, change: change.map_err(StateFault::from)? };
        let done = work(&mut open)?;
        let now = rows::fingerprints(&open.change, server)?;
        open.change.commit().map_err(StateFault::from)?;
        self.pinned.write().unwrap_or_else(PoisonError::into_inner).insert(server.to_owned(), Arc::new(now));
        Ok(done)
    }
}

/// The pins of one server, open for a change.
pub struct OpenPins<'a> {
    server: &'a str,
    change: Transaction<'a>,
}

impl OpenPins<'_> {
    /// What each tool is pinned to.
    pub fn fingerprints(&self) -> Result<HashMap<String, Digest>, StateFault> {
        rows::fingerprints(&self.change, self.server)
    }

    /// The pin of a tool.
    pub fn pin(&self, tool: &str) -> Result<Option<Pin>, StateFault> {
        rows::pin(&self.change, self.server, tool)
    }

    /// All pins, by tool.
    pub fn pins(&self) -> Result<BTreeMap<String, Pin>, StateFault> {
        rows::pins(&self.change, self.server)
    }

    /// Everything that waits to be accepted, by tool.
    pub fn changes(&self) -> Result<BTreeMap<String, Change>, StateFault> {
        rows::changes(&self.change, self.server)
    }

    /// Keeps what was found out.
    pub fn apply(&mut self, steps: &[Step], now: Timestamp) -> Result<(), StateFault> {
        for step in steps {
            match step {
                Step::Pin { tool, fingerprint, definition } => {
                    rows::insert_pin(&self.change, self.server, tool, fingerprint, definition, now)?;
                }
                Step::Hold { tool, fingerprint, definition, renamed_from } => {
                    let change = Change {
                        fingerprint: *fingerprint,
                        definition: definition.clone(),
                        renamed_from: renamed_from.clone(),
                        seen: now,
                        shown: false,
                    };
                    rows::put_change(&self.change, self.server, tool, &change)?;
                }
                Step::Release { tool } => rows::delete_change(&self.change, self.server, tool)?,
            }
        }
        self.check_room()
    }

    /// An administrator was shown this difference.
    pub fn note_shown(&mut self, tool: &str, fingerprint: &Digest) -> Result<(), StateFault> {
        self.change.execute(
            "UPDATE changes SET shown = 1 WHERE server = ?1 AND tool = ?2 AND fingerprint = ?3",
            params![self.server, tool, fingerprint],
        )?;
        Ok(())
    }

    /// Moves the pin to the definition that the administrator has looked at; gives what was accepted.
    pub fn accept(&mut self, tool: &str, now: Timestamp) -> Result<Change, StateFault> {
        let server = self.server;
        let Some(change) = self.changes()?.remove(tool) else {
            let message = match self.pin(tool)? {
                Some(_) => {
                    format!("tool `{tool}` of server `{server}` is as it was pinned; nothing to accept")
                }
                None => format!(
                    "there is no changed tool `{tool}` at server `{server}`; see `portcullis server changes {server}`"
                ),
            };
            return Err(StateFault::Invalid(message));
        };
        if !change.shown {
            return Err(StateFault::Invalid(format!(
                "nobody has looked at what tool `{tool}` is now; run `portcullis server changes {server} {tool}` first"
            )));
        }
        rows::delete_change(&self.change, server, tool)?;
        rows::replace_pin(&self.change, server, tool, &change, now)?;
        Ok(change)
    }

    /// Forgets everything about the server, because it is taken away.
    pub fn forget(&mut self) -> Result<(), StateFault> {
        self.change.execute("DELETE FROM pins WHERE server = ?1", [self.server])?;
        self.change.execute("DELETE FROM changes WHERE server = ?1", [self.server])?;
        Ok(())
    }

    fn check_room(&self) -> Result<(), StateFault> {
        let (count, bytes) = rows::room(&self.change, self.server)?;
        if count > PINS_MAX || bytes > PIN_BYTES_MAX {
            return Err(StateFault::Invalid(format!(
                "server `{}` has shown more tools than can be pinned ({PINS_MAX}, {PIN_BYTES_MAX} bytes)",
                self.server
            )));
        }
        Ok(())
    }
}
