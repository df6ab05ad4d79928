//! The counters' snapshot: opaque bytes with the place in the log that they belong to.
//!
//! One line of JSON names format, sequence number, chain hash, size and checksum; the payload follows. The
//! file is replaced in one step. A snapshot that does not check is no snapshot: the log is replayed from
//! its beginning instead, and what that does not cover is said. Written through `DecisionLog`, read at
//! start.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_json::{Limits, Object, Value, parse};
use sha2::{Digest as _, Sha256};

use crate::log::{LogFault, Position, Storage, hex, replace_file};

const FORMAT: i64 = 1;
const FILE: &str = "counters.snapshot";
/// Bytes that a snapshot may have.
pub const SNAPSHOT_BYTES_MAX: usize = 256 << 20;
const DOMAIN: &[u8] = b"portcullis.counters-snapshot.v1\n";

/// The counters as of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record whose charges are in it.
    pub position: Position,
    /// What the counters gave.
    pub payload: Vec<u8>,
}

/// A snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFault {
    /// The file could not be used.
    #[error("cannot use the counters' snapshot: {0}")]
    File(#[from] io::Error),
    /// The log that it belongs to could not be made durable first.
    #[error(transparent)]
    Log(#[from] LogFault),
    /// More than the bound.
    #[error("the counters' snapshot is larger than {SNAPSHOT_BYTES_MAX} bytes")]
    TooLarge,
    /// The file is not a snapshot, or was changed.
    #[error("the counters' snapshot is damaged: {0}")]
    Damaged(&'static str),
}

/// Beside the log's directory.
pub(crate) fn path_beside(log_directory: &Path) -> PathBuf {
    log_directory.with_file_name(FILE)
}

fn checksum(position: &Position, payload: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(DOMAIN)
        .chain_update(position.sequence.to_be_bytes())
        .chain_update(position.hash)
        .chain_update(payload)
        .finalize()
        .into()
}

/// The first line of a snapshot's file.
fn header(position: Position, payload: &[u8]) -> String {
    let fields = Object::new()
        .with("format", FORMAT)
        .with("seq", position.sequence.to_string())
        .with("hash", hex(&position.hash))
        .with("checksum", hex(&checksum(&position, payload)));
    Value::from(fields).to_string()
}

pub(crate) fn write(storage: &dyn Storage, path: &Path, snapshot: &Snapshot) -> Result<(), SnapshotFault> {
    if snapshot.payload.len() > SNAPSHOT_BYTES_MAX {
        return Err(SnapshotFault::TooLarge);
    }
    let mut bytes = header(snapshot.position, &snapshot.payload).into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(&snapshot.payload);
    Ok(replace_file(storage, path, &bytes)?)
}

/// The snapshot at `path`; nothing if there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<Snapshot>, SnapshotFault> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (first, payload) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let fields = parse(first, &Limits::document())
        .map_err(|_| SnapshotFault::Damaged("its first line is unreadable"))?;
    let position = position_in(&fields).ok_or(SnapshotFault::Damaged("its position is unreadable"))?;
    if first != header(position, payload).as_bytes() {
        return Err(SnapshotFault::Damaged("its checksum does not hold"));
    }
    Ok(Some(Snapshot { position, payload: payload.to_vec() }))
}

/// Whether the snapshot at `path` contains what a snapshot of `position` would.
pub(crate) fn reaches(path: &Path, position: Position) -> bool {
    read(path).ok().flatten().is_some_and(|kept| kept.position.sequence >= position.sequence)
}

fn position_in(header: &Value) -> Option<Position> {
    let text = |key| header.get(key).and_then(Value::as_str);
    if header.get("format") != Some(&Value::from(FORMAT)) {
        return None;
    }
    Some(Position {
        sequence: text("seq")?.parse().ok()?,
        hash: crate::log::parse_hex(text("hash")?.as_bytes())?,
    })
}
