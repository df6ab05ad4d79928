//! What can go wrong with the index, and what was skipped on the way in.

use crate::inert::inert_short;

/// The index cannot be used.
#[derive(Debug)]
pub enum IndexFault {
    /// SQLite refused.
    Store(rusqlite::Error),
    /// The file was made by a newer version.
    TooNew {
        /// The version it says.
        found: i64,
    },
    /// A file of facts is not what it should be.
    Facts(Skipped),
    /// A file could not be read.
    Read(std::io::Error),
}

impl std::fmt::Display for IndexFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IndexFault::Store(error) => write!(f, "the index cannot be used: {error}"),
            IndexFault::TooNew { found } => {
                write!(
                    f,
                    "the index has format {found}, which is newer than this program: update the program"
                )
            }
            IndexFault::Facts(fault) => {
                write!(f, "the facts cannot be read: {}: {}", fault.place, fault.reason)
            }
            IndexFault::Read(error) => write!(f, "cannot read: {error}"),
        }
    }
}

impl std::error::Error for IndexFault {}

impl From<rusqlite::Error> for IndexFault {
    fn from(error: rusqlite::Error) -> IndexFault {
        IndexFault::Store(error)
    }
}

impl From<std::io::Error> for IndexFault {
    fn from(error: std::io::Error) -> IndexFault {
        IndexFault::Read(error)
    }
}

/// A record that was reported and left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stood: a line, a file, a place in a list.
    pub place: String,
    /// What was wrong.
    pub reason: String,
}

impl Skipped {
    pub(crate) fn new(place: impl Into<String>, reason: &str) -> Skipped {
        Skipped { place: place.into(), reason: inert_short(reason, 300) }
    }
}
