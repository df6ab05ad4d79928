//! Opening the log: cut what is torn, refuse what is damaged, make durable what is left.
//!
//! What a crash has left is moved into a `cut-…` file beside the segments and the repair is recorded. A log
//! that is damaged is not opened, and nothing in it is touched, unless the operator accepts it; then it goes
//! on from the last good record. `judge.rs` tells the two apart.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use data_encoding::HEXLOWER;
use jiff::Timestamp;

use super::LogOptions;
use super::chain::Position;
use super::fault::OpenFault;
use super::judge::{Finding, Scan, judge};
use super::line::Body;
use super::segment::Segment;
use super::storage::StoredFile;
use super::writer::{Durable, Start, Writer, segment_body, start_segment};
use crate::keys::CheckpointKey;

/// The repair after which nobody knows what had been charged before.
pub(crate) const DAMAGE_ACCEPTED: &str = "damage_accepted";
/// Bytes that are written again in one go.
const REWRITE_BYTES: usize = 1 << 20;

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Bytes that were cut off behind the last good record.
    pub cut_bytes: u64,
    /// Confirmed records that are gone; only when the operator accepted it.
    pub damage: Option<String>,
    /// The latest time of the records in the last segment: the clock was there already.
    pub latest: Option<Timestamp>,
}

pub(crate) fn open_writer(
    directory: &Path,
    key: CheckpointKey,
    options: &LogOptions,
    now: Timestamp,
) -> Result<(Writer, Opened), OpenFault> {
    let file_fault = |error| OpenFault::File { path: directory.to_owned(), error };
    let Finding { end, aside, damage } = judge(directory).map_err(file_fault)?;
    let damage = match damage {
        Some(what) if !options.accept_damage => {
            return Err(OpenFault::Damaged { path: directory.to_owned(), what });
        }
        damage => damage,
    };
    let latest = end.as_ref().and_then(|(_, scan)| scan.latest);
    let mut opened = Opened { cut_bytes: 0, damage, latest };
    for segment in &aside {
        opened.cut_bytes += set_aside(directory, segment).map_err(file_fault)?;
    }
    let start = match end {
        Some((segment, scan)) => cut_tail(directory, segment, &scan, options, &mut opened),
        None => first_segment(directory, options, now),
    };
    let start = start.map_err(file_fault)?;
    let storage = options.storage.clone();
    let (directory, records) = (directory.to_owned(), options.checkpoint_records);
    let mut writer = Writer::new(start, storage, directory, key, records, now);
    record_repair(&mut writer, &opened, now)?;
    Ok((writer, opened))
}

fn first_segment(directory: &Path, options: &LogOptions, now: Timestamp) -> io::Result<Start> {
    let id = crate::keys::random::<16>().map_err(|_| io::Error::other("no randomness"))?;
    let log_id = HEXLOWER.encode(id.as_slice());
    let segment = Segment::in_directory(directory, 1);
    let body = segment_body(&log_id, options.checkpoint_records);
    let storage = &*options.storage;
    let (file, durable) = start_segment(storage, directory, &segment, &Position::START, now, &body)?;
    Ok(Start { segment, segment_started: now, file, durable, since_checkpoint: 1, log_id })
}

fn cut_tail(
    directory: &Path,
    segment: Segment,
    scan: &Scan,
    options: &LogOptions,
    opened: &mut Opened,
) -> io::Result<Start> {
    let file = options.storage.open(&segment.path)?;
    if scan.total_length > scan.good_length {
        keep_tail(directory, &segment, scan.good_length)?;
        file.set_len(scan.good_length)?;
        opened.cut_bytes += scan.total_length - scan.good_length;
    }
    write_again(&segment, &*file, scan.head_end.unwrap_or(0), scan.good_length)?;
    file.sync()?;
    options.storage.sync_directory(directory)?;
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "the segment has no header");
    Ok(Start {
        segment,
        segment_started: scan.started.ok_or_else(missing)?,
        file,
        durable: Durable { position: scan.last.ok_or_else(missing)?, length: scan.good_length },
        since_checkpoint: scan.since_checkpoint,
        log_id: scan.log_id.clone().ok_or_else(missing)?,
    })
}

/// What a process wrote may be in memory only, and a sync that failed before its end may have marked it as
/// written: only what is written again is certain to reach the disk with the next sync.
fn write_again(segment: &Segment, file: &dyn StoredFile, from: u64, to: u64) -> io::Result<()> {
    let source = fs::File::open(&segment.path)?;
    let mut bytes = vec![0; REWRITE_BYTES];
    let mut at = from;
    while at < to {
        let left = usize::try_from(to - at).unwrap_or(usize::MAX);
        let part = bytes.get_mut(..left.min(REWRITE_BYTES)).unwrap_or_default();
        source.read_exact_at(part, at)?;
        file.write_at(part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}

/// Copies the bytes from `offset` on into a file beside the segments.
fn keep_tail(directory: &Path, segment: &Segment, offset: u64) -> io::Result<()> {
    let bytes = fs::read(&segment.path)?;
    let tail = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    let path = directory.join(cut_name(segment, offset, tail.len() as u64));
    super::storage::replace_file(&super::storage::Disk, &path, tail)
}

/// Takes a segment out of the log; how many bytes it had.
fn set_aside(directory: &Path, segment: &Segment) -> io::Result<u64> {
    let bytes = segment.path.metadata()?.len();
    if bytes == 0 {
        fs::remove_file(&segment.path)?;
    } else {
        fs::rename(&segment.path, directory.join(cut_name(segment, 0, bytes)))?;
    }
    Ok(bytes)
}

fn cut_name(segment: &Segment, offset: u64, bytes: u64) -> String {
    format!("cut-{:020}-{offset}-{bytes}.bin", segment.first)
}

/// Keeps bytes that are about to be cut off a segment at `offset`.
pub(crate) fn keep_cut_bytes(
    directory: &Path,
    segment: &Segment,
    offset: u64,
    bytes: &[u8],
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let path = directory.join(cut_name(segment, offset, bytes.len() as u64));
    super::storage::replace_file(&super::storage::Disk, &path, bytes)
}

/// What the log says of a repair of itself.
pub(crate) fn repair_body(action: &str, cut_bytes: u64, message: Option<&str>) -> Body {
    let mut body = Body::new("repair");
    body.name("action", Some(action));
    body.number("cut_bytes", Some(cut_bytes));
    body.sentence("message", message);
    body
}

fn record_repair(writer: &mut Writer, opened: &Opened, now: Timestamp) -> Result<(), OpenFault> {
    if opened.cut_bytes == 0 && opened.damage.is_none() {
        return Ok(());
    }
    let action = if opened.damage.is_some() { DAMAGE_ACCEPTED } else { "tail_cut" };
    writer.append(now, &repair_body(action, opened.cut_bytes, opened.damage.as_deref()))?;
    if let Some(turn) = writer.begin_sync() {
        let result = turn.perform();
        writer.finish_sync(&turn, result);
    }
    match writer.failure.clone() {
        Some(reason) => Err(super::LogFault::Unavailable { reason }.into()),
        None => Ok(()),
    }
}
