//! The index: servers and tools with provenance, history and search, in one file.
//!
//! Facts only: names, schema shape, fingerprints, our classification, evidence as offsets. Descriptions are
//! read for words to search by and are not kept. The caller brings the time; there is no clock here.

mod codes;
mod export;
mod facts;
mod fault;
mod history;
pub mod import;
mod prepare;
mod saved;
mod schema;
mod search;
mod write;

pub use fault::{IndexFault, Skipped};
pub use history::{Change, ChangeKind};
pub use import::{Listing, RegistryPage, ServerEntry};
pub use saved::{Saved, saved};
pub use search::{Counts, Entry, HITS_MAX, Search, ServerRow};
pub use write::ImportReport;

use std::path::Path;

use rusqlite::Connection;

/// An open index.
pub struct Index {
    connection: Connection,
}

impl Index {
    /// Opens the index in a file; makes it where there is none.
    pub fn open(path: &Path) -> Result<Index, IndexFault> {
        let connection = Connection::open(path)?;
        Index::ready(connection)
    }

    /// An index that is gone when it is dropped.
    pub fn in_memory() -> Result<Index, IndexFault> {
        Index::ready(Connection::open_in_memory()?)
    }

    fn ready(connection: Connection) -> Result<Index, IndexFault> {
        schema::prepare(&connection)?;
        Ok(Index { connection })
    }
}
