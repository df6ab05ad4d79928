//! What outlives a request: the decision log, grants, servers, policies, counters' snapshots.
//!
//! Everything lives in one data directory (`directory.rs` has its layout), in plain files and one SQLite
//! database, and belongs to one running gateway at a time. Nothing here is a database on the path of a
//! call: a call looks grants up in a table in memory and appends to the log.
//!
//! This crate knows nothing of MCP, HTTP or how a policy decides.

pub mod log;

mod fault;
mod keys;
mod snapshot;

pub use fault::StateFault;
pub use keys::{CheckpointKey, DigestKey, PublicKey};
pub use snapshot::{SNAPSHOT_BYTES_MAX, Snapshot, SnapshotFault};
