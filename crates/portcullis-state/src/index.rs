//! The log's index: a SQLite table for searching, filled by a reader that lags behind.
//!
//! It holds what can be searched for and where each record stands; the records themselves are read from
//! the segments. It can be deleted at any time and is built again from the log; so it is when it belongs to
//! another log, or to a past that the log does not share. Calls never wait for it.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{
    Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params, params_from_iter,
};

use crate::log::{Begin, Followed, Follower, Position, Segment, Stored, read_line, segments};

/// Bumped when the columns change; an index of another version is built again.
const VERSION: u32 = 1;
/// Records that are taken in one go.
pub(crate) const BATCH_MAX: usize = 1000;
/// Records that one query returns.
pub const PAGE_MAX: usize = 1000;

const TABLES: &str = "
    CREATE TABLE records (
        seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, request TEXT,
        grant_id TEXT, server TEXT, tool TEXT, class TEXT, outcome TEXT, rule TEXT, text TEXT,
        segment INTEGER NOT NULL, place INTEGER NOT NULL) STRICT;
    CREATE INDEX records_by_time ON records (time);
    CREATE INDEX records_by_grant ON records (grant_id, seq);
    CREATE INDEX records_by_tool ON records (server, tool, seq);
    CREATE TABLE progress (
        one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL,
        segment INTEGER NOT NULL, place INTEGER NOT NULL) STRICT;
";

/// The index could not be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexFault {
    /// The database refused.
    #[error("the log's index failed: {0}; it can be deleted and is built again")]
    Database(#[from] rusqlite::Error),
    /// The log could not be read.
    #[error("the log cannot be read: {0}")]
    Log(#[from] io::Error),
    /// Made by another version of the program.
    #[error("the log's index is of version {0}, this program has {VERSION}")]
    OtherVersion(u32),
}

impl IndexFault {
    /// Whether another file would help. Somebody who is just writing is no reason to delete theirs.
    fn is_about_the_file(&self) -> bool {
        match self {
            IndexFault::OtherVersion(_) => true,
            IndexFault::Database(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            }
            _ => false,
        }
    }
}

/// What to look for. Everything that is set must hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// `decision`, `outcome`, `event`, …
    pub kind: Option<String>,
    /// A request's id.
    pub request: Option<String>,
    /// A grant's id.
    pub grant: Option<String>,
    /// A server's name.
    pub server: Option<String>,
    /// A tool's name.
    pub tool: Option<String>,
    /// A class.
    pub class: Option<String>,
    /// An outcome.
    pub outcome: Option<String>,
    /// A rule's pointer.
    pub rule: Option<String>,
    /// Words in message, action, rule or names; upper and lower case (of ASCII) are alike.
    pub text: Option<String>,
    /// Only records before this one: for the next page.
    pub before: Option<u64>,
    /// At most so many; never more than `PAGE_MAX`.
    pub limit: Option<usize>,
}

/// What was found, newest first.
#[derive(Debug)]
pub struct Page {
    /// The records.
    pub records: Vec<Stored>,
    /// How far the index has read.
    pub indexed_to: u64,
    /// Whether there may be more: ask again with `before` set to the last number.
    pub more: bool,
}

/// The index of one log.
pub struct Index {
    connection: Connection,
    log: PathBuf,
    follower: Option<Follower>,
}

impl Index {
    /// Opens the index at `path` of the log in `log`; one that is unusable is built again.
    pub fn open(path: &Path, log: &Path) -> Result<Index, IndexFault> {
        match Index::connect(path, log) {
            Err(fault) if fault.is_about_the_file() => {
                remove(path)?;
                Index::connect(path, log)
            }
            opened => opened,
        }
    }

    fn connect(path: &Path, log: &Path) -> Result<Index, IndexFault> {
        let connection = Connection::open(path)?;
        // What SQLite keeps beside the file takes over its mode.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        connection.busy_timeout(Duration::from_secs(5))?;
        // OFF: what a crash destroys is built again.
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")?;
        let mut index = Index { connection, log: log.to_owned(), follower: None };
        index.prepare()?;
        Ok(index)
    }

    fn prepare(&mut self) -> Result<(), IndexFault> {
        let version = "SELECT user_version FROM pragma_user_version";
        let found = |connection: &Connection| connection.query_row(version, [], |row| row.get::<_, u32>(0));
        if found(&self.connection)? == 0 {
            // Somebody else may be making them.
            let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if found(&change)? == 0 {
                change.execute_batch(TABLES)?;
                change.pragma_update(None, "user_version", VERSION)?;
            }
            change.commit()?;
        }
        match found(&self.connection)? {
            VERSION => Ok(()),
            other => Err(IndexFault::OtherVersion(other)),
        }
    }

    /// Takes in up to a batch of new records; returns how many. Where the log's chain is broken it stops,
    /// for good: what came before is kept, and every further attempt says where.
    pub fn catch_up(&mut self) -> Result<usize, IndexFault> {
        let reading = self.follower.is_some();
        match self.take_batch() {
            // The log may have been cut underneath: what the index ends with is compared with it again.
            Err(IndexFault::Log(error)) if reading && error.kind() == io::ErrorKind::InvalidData => {
                self.take_batch()
            }
            result => result,
        }
    }

    fn take_batch(&mut self) -> Result<usize, IndexFault> {
        let mut follower = match self.follower.take() {
            Some(follower) => follower,
            None => self.resume()?,
        };
        let change = self.connection.transaction()?;
        let mut taken = 0;
        while taken < BATCH_MAX {
            match follower.next_record() {
                Ok(Some(followed)) => insert(&change, &followed)?,
                Ok(None) => break,
                Err(fault) if taken == 0 => return Err(fault.into()),
                Err(_) => {
                    // Met again, and told, in the next round.
                    change.commit()?;
                    return Ok(taken);
                }
            }
            taken += 1;
        }
        change.commit()?;
        self.follower = Some(follower);
        Ok(taken)
    }

    /// Goes on where the index ends, if the log still has that record.
    fn resume(&mut self) -> Result<Follower, IndexFault> {
        let query = "SELECT seq, hash, segment, place FROM progress";
        let row = self.connection.query_row(query, [], |row| {
            let position = Position { sequence: row.get(0)?, hash: row.get(1)? };
            Ok((position, row.get(2)?, row.get(3)?))
        });
        if let Some((position, segment, place)) = row.optional()? {
            let file = Segment::in_directory(&self.log, segment);
            let line = read_line(&file.path, place).unwrap_or_default();
            if Stored::read(&line).is_ok_and(|record| record.position == position) {
                let next = place + line.len() as u64 + 1;
                return Ok(Follower::resume(&self.log, segment, next, position)?);
            }
            self.start_over()?;
        }
        Ok(Follower::open(&self.log, Begin::Start)?)
    }

    fn start_over(&mut self) -> Result<(), IndexFault> {
        self.follower = None;
        Ok(self.connection.execute_batch("DELETE FROM records; DELETE FROM progress;")?)
    }

    /// Forgets records whose segments were retired.
    pub fn prune(&mut self) -> Result<(), IndexFault> {
        if let Some(first) = segments(&self.log)?.first() {
            self.connection.execute("DELETE FROM records WHERE seq < ?1", [first.first])?;
        }
        Ok(())
    }

    /// How far the index has read.
    pub fn indexed_to(&self) -> Result<u64, IndexFault> {
        let query = "SELECT seq FROM progress";
        let found = self.connection.query_row(query, [], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or_default())
    }

    /// Searches, newest first.
    pub fn query(&self, filter: &Filter) -> Result<Page, IndexFault> {
        let indexed_to = self.indexed_to()?;
        let limit = filter.limit.unwrap_or(PAGE_MAX).min(PAGE_MAX);
        let (conditions, values) = conditions(filter);
        let sql = format!(
            "SELECT segment, place FROM records WHERE {conditions} ORDER BY seq DESC LIMIT {}",
            limit + 1
        );
        let mut query = self.connection.prepare(&sql)?;
        let rows = query.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let places: Vec<(u64, u64)> = rows.collect::<Result<_, _>>()?;
        let more = places.len() > limit;
        let mut records = Vec::new();
        for (segment, place) in places.into_iter().take(limit) {
            let path = Segment::in_directory(&self.log, segment).path;
            // A segment that was retired meanwhile takes its records along.
            let line = match read_line(&path, place) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                result => result?,
            };
            let record = Stored::read(&line);
            records.push(record.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?);
        }
        Ok(Page { records, indexed_to, more })
    }
}

fn remove(path: &Path) -> io::Result<()> {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn insert(change: &rusqlite::Transaction<'_>, followed: &Followed) -> rusqlite::Result<()> {
    let record = &followed.record;
    let words = ["message", "action", "rule", "tool", "resource", "policy", "source", "by"];
    let text: Vec<&str> = words.iter().filter_map(|key| record.text(key)).collect();
    let mut row = change.prepare_cached(
        "INSERT OR REPLACE INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    row.execute(params![
        record.position.sequence,
        record.time.as_microsecond(),
        record.kind,
        record.text("request"),
        record.text("grant"),
        record.text("server"),
        record.text("tool"),
        record.text("class"),
        record.text("outcome"),
        record.text("rule"),
        text.join("\n"),
        followed.segment,
        followed.offset,
    ])?;
    let mut progress = change.prepare_cached("INSERT OR REPLACE INTO progress VALUES (1, ?1, ?2, ?3, ?4)")?;
    let position = &record.position;
    progress.execute(params![position.sequence, position.hash, followed.segment, followed.offset])?;
    Ok(())
}

/// The conditions with `?` for each value; never a value in the text.
fn conditions(filter: &Filter) -> (String, Vec<Sql>) {
    let mut parts = vec!["1"];
    let mut values = Vec::new();
    let mut add = |part: &'static str, value: Option<Sql>| {
        if let Some(value) = value {
            parts.push(part);
            values.push(value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Sql::Text);
    let time = |time: Option<Timestamp>| time.map(|time| Sql::Integer(time.as_microsecond()));
    add("time >= ?", time(filter.since));
    add("time < ?", time(filter.until));
    add("kind = ?", text(&filter.kind));
    add("request = ?", text(&filter.request));
    add("grant_id = ?", text(&filter.grant));
    add("server = ?", text(&filter.server));
    add("tool = ?", text(&filter.tool));
    add("class = ?", text(&filter.class));
    add("outcome = ?", text(&filter.outcome));
    add("rule = ?", text(&filter.rule));
    add("instr(lower(text), lower(?)) > 0", text(&filter.text));
    let before = filter.before.map(|before| Sql::Integer(i64::try_from(before).unwrap_or(i64::MAX)));
    add("seq < ?", before);
    (parts.join(" AND "), values)
}
