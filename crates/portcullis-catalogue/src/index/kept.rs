//! Definitions as they were published, kept for servers that somebody looks after: for full records and for
//! comparing one version with another. The index itself keeps facts only.

use portcullis_json::{Value, compact};
use rusqlite::{OptionalExtension as _, params};

use super::Index;
use super::fault::IndexFault;
use super::import::{definitions, read};
use crate::definition::ToolDefinition;

/// Lists of one server that are kept; the oldest goes first.
pub const KEPT_MAX: usize = 20;
/// Bytes of one list; a longer one is not kept.
pub const KEPT_BYTES_MAX: usize = 16 << 20;

/// A server's tools at one time.
#[derive(Clone, Debug)]
pub struct Kept {
    /// When they were first seen so, in seconds since 1970.
    pub at: i64,
    /// The version of the server.
    pub version: Option<String>,
    /// The tools.
    pub tools: Vec<ToolDefinition>,
}

impl Index {
    /// Keeps a server's definitions, unless they and the version are as they were; whether they were not.
    pub fn keep(
        &mut self,
        server: &str,
        version: Option<&str>,
        published: &[Value],
        at: i64,
    ) -> Result<bool, IndexFault> {
        let text = compact(&Value::from(published.to_vec()));
        let last: Option<(i64, Option<String>, String)> = self
            .connection
            .prepare_cached(
                "SELECT at, version, definitions FROM kept WHERE server = ?1 ORDER BY at DESC LIMIT 1",
            )?
            .query_row([server], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let is_known =
            last.as_ref().is_some_and(|(_, known, kept)| known.as_deref() == version && *kept == text);
        if is_known || text.len() > KEPT_BYTES_MAX {
            return Ok(false);
        }
        // Two lists of one second, or a clock that went back, must not replace one another.
        let at = last.map_or(at, |(last, ..)| at.max(last + 1));
        let insert = "INSERT INTO kept(server, at, version, definitions) VALUES(?1, ?2, ?3, ?4)";
        self.connection.execute(insert, params![server, at, version, text])?;
        let most = i64::try_from(KEPT_MAX).unwrap_or(i64::MAX);
        self.connection.execute(
            "DELETE FROM kept WHERE server = ?1 AND at NOT IN \
             (SELECT at FROM kept WHERE server = ?1 ORDER BY at DESC LIMIT ?2)",
            params![server, most],
        )?;
        Ok(true)
    }

    /// What is kept of a server, the oldest first.
    pub fn kept(&self, server: &str) -> Result<Vec<Kept>, IndexFault> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT at, version, definitions FROM kept WHERE server = ?1 ORDER BY at")?;
        let rows = statement.query_map([server], |row| {
            let text: String = row.get(2)?;
            let published = read(&text).ok();
            let published = published.as_ref().and_then(Value::as_array).unwrap_or_default();
            Ok(Kept { at: row.get(0)?, version: row.get(1)?, tools: definitions(published).0 })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
