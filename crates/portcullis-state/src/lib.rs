//! What outlives a request: the decision log, grants, servers, policies, counters' snapshots.
//!
//! Everything lives in one data directory (`directory.rs` has its layout), in plain files and one SQLite
//! database, and belongs to one running gateway at a time. Nothing here is a database on the path of a
//! call: a call looks grants up in a table in memory and appends to the log.
//!
//! This crate knows nothing of MCP, HTTP or how a policy decides.

pub mod grants;
pub mod log;
pub mod pins;
pub mod store;

mod clock;
mod directory;
mod fault;
mod holders;
mod id;
mod index;
mod indexer;
mod keys;
mod sealed;
mod secret;
mod snapshot;

pub use clock::SteadyClock;
pub use directory::{DataDirectory, DirectoryLock, FORMAT};
pub use fault::StateFault;
pub use id::new_id;
pub use index::{Filter, Index, IndexFault, PAGE_MAX, Page};
pub use indexer::Indexer;
pub use keys::{CheckpointKey, DigestKey, PublicKey};
pub use sealed::{Sealed, SealingKeys};
pub use secret::Secret;
pub use snapshot::{SNAPSHOT_BYTES_MAX, Snapshot, SnapshotFault};
