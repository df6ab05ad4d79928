//! Opening the log: find its end, cut a torn tail, refuse damage.
//!
//! A torn tail is what a crash leaves: bytes behind the last good record that were never confirmed. They
//! are moved into a `cut-…` file beside the segments and the repair is recorded. Anything before the
//! newest durable checkpoint (`head`) was confirmed; if that is missing or changed, the log is damaged and
//! is not opened unless the operator accepts it.

use std::fs;
use std::io;
use std::path::Path;

use data_encoding::HEXLOWER;
use jiff::Timestamp;

use super::LogOptions;
use super::chain::Position;
use super::checkpoint::{self, read_head};
use super::fault::OpenFault;
use super::line::Body;
use super::segment::{Lines, Segment, line_before, segments};
use super::stored::Stored;
use super::writer::{Durable, Start, Writer, segment_body, start_segment};
use crate::keys::CheckpointKey;

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Bytes that were cut off behind the last good record.
    pub cut_bytes: u64,
    /// Confirmed records that are gone; only when the operator accepted it.
    pub damage: Option<String>,
}

/// What a look through one segment found.
struct Scan {
    good_length: u64,
    total_length: u64,
    last: Option<Position>,
    log_id: Option<String>,
    started: Option<Timestamp>,
    first_previous: Option<super::Hash>,
    since_checkpoint: u32,
    /// Whether the durable checkpoint was found with its hash.
    head_found: bool,
}

pub(crate) fn open_writer(
    directory: &Path,
    key: CheckpointKey,
    options: &LogOptions,
    now: Timestamp,
) -> Result<(Writer, Opened), OpenFault> {
    let file_fault = |error| OpenFault::File { path: directory.to_owned(), error };
    let damaged = |what: &str| OpenFault::Damaged { path: directory.to_owned(), what: what.into() };
    let head = match read_head(directory).map_err(file_fault)? {
        Some(Err(_)) => return Err(damaged("the `head` file is unreadable")),
        Some(Ok(head)) => Some(head.position),
        None => None,
    };
    let mut found = segments(directory).map_err(file_fault)?;
    let mut opened = Opened::default();
    let scan = loop {
        let Some(last) = found.last() else {
            break None;
        };
        let scan = scan(last, head).map_err(file_fault)?;
        if scan.last.is_some() {
            break Some(scan);
        }
        // A crash while the segment was being started.
        set_aside(directory, last, 0).map_err(file_fault)?;
        opened.cut_bytes += scan.total_length;
        found.pop();
    };
    let start = match (scan, found.last()) {
        (Some(scan), Some(segment)) => {
            check_link(&found, &scan).map_err(|what| damaged(&what))?;
            opened.damage = missing_confirmed(&scan, segment, head);
            if let (Some(what), false) = (&opened.damage, options.accept_damage) {
                return Err(damaged(what));
            }
            cut_tail(directory, segment, &scan, options, &mut opened).map_err(file_fault)?
        }
        _ if head.is_some() => return Err(damaged("all segments are missing")),
        _ => first_segment(directory, options, now).map_err(file_fault)?,
    };
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

/// Reads records as long as they are good and in order.
fn scan(segment: &Segment, head: Option<Position>) -> io::Result<Scan> {
    let mut found = Scan {
        good_length: 0,
        total_length: segment.path.metadata()?.len(),
        last: None,
        log_id: None,
        started: None,
        first_previous: None,
        since_checkpoint: 0,
        head_found: false,
    };
    let mut lines = Lines::open(&segment.path, 0)?;
    while let Some(line) = lines.next_line()? {
        let Some(record) = Stored::read(&line.bytes).ok().filter(|_| line.complete) else {
            break;
        };
        let follows = match found.last {
            Some(last) => record.position.sequence == last.sequence + 1 && record.previous == last.hash,
            None => record.position.sequence == segment.first && record.kind == "segment",
        };
        if !follows {
            break;
        }
        found.take(&record, line.offset + line.bytes.len() as u64 + 1, head);
    }
    Ok(found)
}

impl Scan {
    fn take(&mut self, record: &Stored, end: u64, head: Option<Position>) {
        if self.last.is_none() {
            self.log_id = record.text("log").map(str::to_owned);
            self.started = Some(record.time);
            self.first_previous = Some(record.previous);
        }
        self.since_checkpoint = if record.kind == checkpoint::KIND { 0 } else { self.since_checkpoint + 1 };
        self.head_found |= Some(record.position) == head;
        self.last = Some(record.position);
        self.good_length = end;
    }
}

/// The last segment must continue the one before it.
fn check_link(found: &[Segment], scan: &Scan) -> Result<(), String> {
    let Some([.., before, last]) = found.last_chunk::<2>().map(|pair| pair.as_slice()) else {
        return Ok(());
    };
    let end = before.path.metadata().map_err(|error| error.to_string())?.len();
    let line = line_before(&before.path, end).map_err(|error| error.to_string())?;
    let record = Stored::read(&line).map_err(|error| error.to_string())?;
    let continues =
        record.position.sequence + 1 == last.first && Some(record.position.hash) == scan.first_previous;
    if continues { Ok(()) } else { Err("the last segment does not continue the one before".into()) }
}

/// What is missing although it was confirmed.
fn missing_confirmed(scan: &Scan, segment: &Segment, head: Option<Position>) -> Option<String> {
    let head = head?;
    let last = scan.last?.sequence;
    if head.sequence > last {
        return Some(format!(
            "records up to {} were on stable storage, the last good one is {last}",
            head.sequence
        ));
    }
    let here = head.sequence >= segment.first;
    (here && !scan.head_found).then(|| format!("record {} was replaced", head.sequence))
}

fn cut_tail(
    directory: &Path,
    segment: &Segment,
    scan: &Scan,
    options: &LogOptions,
    opened: &mut Opened,
) -> io::Result<Start> {
    let file = options.storage.open(&segment.path)?;
    if scan.total_length > scan.good_length {
        set_aside(directory, segment, scan.good_length)?;
        file.set_len(scan.good_length)?;
        opened.cut_bytes += scan.total_length - scan.good_length;
    }
    // What a killed process wrote may still be in memory only.
    file.sync()?;
    options.storage.sync_directory(directory)?;
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "the segment has no header");
    Ok(Start {
        segment: segment.clone(),
        segment_started: scan.started.ok_or_else(missing)?,
        file,
        durable: Durable { position: scan.last.ok_or_else(missing)?, length: scan.good_length },
        since_checkpoint: scan.since_checkpoint,
        log_id: scan.log_id.clone().ok_or_else(missing)?,
    })
}

/// Copies the bytes from `offset` on into a file beside the segments; a segment without any good record
/// is removed afterwards.
fn set_aside(directory: &Path, segment: &Segment, offset: u64) -> io::Result<()> {
    let bytes = fs::read(&segment.path)?;
    let tail = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    let tail = tail.unwrap_or_default();
    keep_cut_bytes(directory, segment, offset, tail)?;
    if offset == 0 {
        fs::remove_file(&segment.path)?;
    }
    Ok(())
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
    let name = format!("cut-{:020}-{offset}-{}.bin", segment.first, bytes.len());
    super::storage::replace_file(&super::storage::Disk, &directory.join(name), bytes)
}

fn record_repair(writer: &mut Writer, opened: &Opened, now: Timestamp) -> Result<(), OpenFault> {
    if opened.cut_bytes == 0 && opened.damage.is_none() {
        return Ok(());
    }
    let mut body = Body::new("repair");
    body.name("action", Some("tail_cut"));
    body.number("cut_bytes", Some(opened.cut_bytes));
    body.sentence("message", opened.damage.as_deref());
    writer.append(now, &body)?;
    if let Some(turn) = writer.begin_sync() {
        let result = turn.file.sync();
        writer.finish_sync(&turn, result);
    }
    match writer.failure.clone() {
        Some(reason) => Err(super::LogFault::Unavailable { reason }.into()),
        None => Ok(()),
    }
}
