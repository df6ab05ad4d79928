//! The history of servers: what happened to which tool, and when.

use rusqlite::params;

use super::Index;
use super::fault::IndexFault;

/// What happened to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It is no longer there.
    Removed,
    /// Its definition is another.
    Changed,
    /// It has another name.
    Renamed,
    /// Its class is graver than before.
    ClassRaised,
}

impl ChangeKind {
    const ALL: [ChangeKind; 5] = [
        ChangeKind::Added,
        ChangeKind::Removed,
        ChangeKind::Changed,
        ChangeKind::Renamed,
        ChangeKind::ClassRaised,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Renamed => "renamed",
            ChangeKind::ClassRaised => "class raised",
        }
    }

    pub(super) fn code(self) -> i64 {
        Self::ALL.iter().position(|kind| *kind == self).map_or(0, |at| at as i64)
    }

    fn of_code(code: i64) -> ChangeKind {
        let at = usize::try_from(code).unwrap_or_default();
        Self::ALL.get(at).copied().unwrap_or(ChangeKind::Changed)
    }
}

/// One step of a server's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When, in seconds since 1970.
    pub at: i64,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What happened.
    pub kind: ChangeKind,
    /// More, in our words.
    pub detail: String,
}

impl Index {
    /// The history, the latest first.
    pub fn changes(&self, server: Option<&str>, since: i64, most: usize) -> Result<Vec<Change>, IndexFault> {
        let mut statement = self.connection.prepare_cached(
            "SELECT c.at, s.name, c.tool, c.kind, c.detail FROM changes c JOIN servers s ON s.id = c.server \
             WHERE (?1 IS NULL OR s.name = ?1) AND c.at >= ?2 ORDER BY c.id DESC LIMIT ?3",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![server, since, most], |row| {
            Ok(Change {
                at: row.get(0)?,
                server: row.get(1)?,
                tool: row.get(2)?,
                kind: ChangeKind::of_code(row.get(3)?),
                detail: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
