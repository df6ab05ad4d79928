//! Checkpoints: signed statements "the log up to record N has this hash".
//!
//! One is a record of the log itself, so it travels with the segments; the newest durable one is also
//! kept in the `head` file, against which a cut tail shows. It covers everything before it: who rewrites
//! history must forge every checkpoint after it, and cannot without the key.

use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::chain::{Position, hex};
use super::line::Body;
use super::storage::{Storage, replace_file};
use super::stored::{NotARecord, Stored};
use crate::keys::{CheckpointKey, PublicKey};

const DOMAIN: &str = "portcullis.checkpoint.v1";
const HEAD_FILE: &str = "head";
pub(crate) const KIND: &str = "checkpoint";

/// What is signed: the log's identity and the last record covered.
fn statement(log_id: &str, covered: &Position) -> String {
    format!("{DOMAIN}\n{log_id}\n{}\n{}\n", covered.sequence, hex(&covered.hash))
}

/// The body of a checkpoint that covers everything up to `covered`, to be the very next record.
pub(crate) fn body(key: &CheckpointKey, log_id: &str, covered: &Position) -> Body {
    let signature = key.sign(statement(log_id, covered).as_bytes());
    let mut body = Body::new(KIND);
    body.name("log", Some(log_id));
    body.number("covers", Some(covered.sequence));
    body.name("key", Some(&key.public().id()));
    body.name("signature", Some(&HEXLOWER.encode(&signature)));
    body
}

/// Whether a checkpoint record is signed by `key` for the log `log_id` and the record before it.
pub(crate) fn holds(record: &Stored, key: &PublicKey, log_id: &str) -> bool {
    let covered = Position { sequence: record.position.sequence.saturating_sub(1), hash: record.previous };
    let signature = record.text("signature").and_then(parse_signature);
    record.text("log") == Some(log_id)
        && record.number("covers") == Some(covered.sequence)
        && signature.is_some_and(|signature| key.verifies(statement(log_id, &covered).as_bytes(), &signature))
}

fn parse_signature(digits: &str) -> Option<[u8; 64]> {
    HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok()
}

/// Where the newest durable checkpoint is kept.
pub(crate) fn head_path(directory: &Path) -> PathBuf {
    directory.join(HEAD_FILE)
}

/// Keeps a checkpoint, as the line that it is in the log.
pub(crate) fn write_head(storage: &dyn Storage, directory: &Path, line: &[u8]) -> io::Result<()> {
    replace_file(storage, &head_path(directory), line)
}

/// The kept checkpoint, if there is one.
pub(crate) fn read_head(directory: &Path) -> io::Result<Option<Result<Stored, NotARecord>>> {
    match read_kept(&head_path(directory)) {
        Ok(head) => Ok(Some(head)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A checkpoint that was kept in a file.
pub(crate) fn read_kept(path: &Path) -> io::Result<Result<Stored, NotARecord>> {
    let line = std::fs::read(path)?;
    Ok(Stored::read(line.strip_suffix(b"\n").unwrap_or(&line)))
}
