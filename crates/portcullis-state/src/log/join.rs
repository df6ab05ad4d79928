//! Joining a log that several processes append to at once.
//!
//! A process that joins begins at the counters' snapshot, if that fits, and takes everything behind it as
//! what others appended: so a log of any length is joined by reading its last part. Without a snapshot it
//! opens the log as a process of its own would, holding the others up meanwhile. What a crash left half
//! done is repaired by whoever comes next.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::chain::Position;
use super::checkpoint::read_head;
use super::fault::OpenFault;
use super::keeper::{self, Shared};
use super::open::open_writer;
use super::others::{Foreign, Others, open_append_lock, wait_for};
use super::replay::{Coverage, Replay, ReplayFault, replay};
use super::segment::{Lines, Segment, segments, start_before};
use super::stored::Stored;
use super::writer::{Durable, Start, Writer};
use super::{DecisionLog, LogOptions};
use crate::keys::CheckpointKey;
use crate::snapshot::{self, Snapshot};

/// A log that is about to be joined: first the counters come back from `snapshot` and `replay`, then
/// `join` lets them hear of everything that follows.
pub struct Joining {
    writer: Writer,
    options: LogOptions,
    append: Arc<File>,
    /// The counters that `replay` goes on from.
    pub snapshot: Option<Snapshot>,
    /// How far back both reach.
    pub coverage: Coverage,
    /// What was charged between the snapshot and where this process begins; nothing if it begins there.
    pub replay: Option<Replay>,
}

impl DecisionLog {
    /// Prepares to append to a log together with other processes.
    pub fn joining(directory: &Path, key: CheckpointKey, options: LogOptions) -> Result<Joining, OpenFault> {
        let fault = |error| OpenFault::File { path: directory.to_owned(), error };
        let append = open_append_lock(directory).map_err(fault)?;
        let now = (options.clock)();
        let snapshot = snapshot::read(&snapshot::path_beside(directory)).ok().flatten();
        let start = snapshot.as_ref().and_then(|snapshot| behind(directory, snapshot.position, &options));
        if let Some(start) = start {
            let records = options.checkpoint_records;
            let writer = Writer::new(start, options.storage.clone(), directory.to_owned(), key, records, now);
            let coverage = Coverage::Complete;
            return Ok(Joining { writer, options, append, snapshot, coverage, replay: None });
        }
        let turn = wait_for(&append).map_err(fault)?;
        let (writer, _) = open_writer(directory, key, &options, now)?;
        let (snapshot, coverage, replay) =
            replay(directory, writer.last.sequence, now).map_err(|error| unreadable(directory, error))?;
        drop(turn);
        Ok(Joining { writer, options, append, snapshot, coverage, replay: Some(replay) })
    }
}

fn unreadable(directory: &Path, fault: ReplayFault) -> OpenFault {
    OpenFault::File { path: directory.to_owned(), error: io::Error::other(fault) }
}

impl Joining {
    /// Joins: from here on `foreign` hears of what others charge, before this process appends anything.
    pub fn join(self, foreign: Foreign) -> Result<DecisionLog, OpenFault> {
        let Joining { mut writer, options, append, .. } = self;
        let directory = writer.directory.clone();
        let fault = |error| OpenFault::File { path: directory.clone(), error };
        let clock = options.clock.clone();
        let others = Others::new(append, &directory, &writer.segment, foreign, clock).map_err(fault)?;
        writer.others = Some(others);
        let shared = Arc::new(Shared::new(writer, options));
        let last = shared.writing()?.last.sequence;
        check_head(&directory, last)?;
        let keeper = keeper::spawn(shared.clone()).map_err(fault)?;
        Ok(DecisionLog { shared, keeper: Some(keeper), _lock: None })
    }
}

/// What was on stable storage must still be there.
fn check_head(directory: &Path, last: u64) -> Result<(), OpenFault> {
    let fault = |error| OpenFault::File { path: directory.to_owned(), error };
    let damaged = |what: String| OpenFault::Damaged { path: directory.to_owned(), what };
    match read_head(directory).map_err(fault)? {
        Some(Err(_)) => Err(damaged("the `head` file is unreadable".to_owned())),
        Some(Ok(head)) if head.position.sequence > last => Err(damaged(format!(
            "records up to {} were on stable storage, the last good one is {last}",
            head.position.sequence
        ))),
        _ => Ok(()),
    }
}

/// Where a writer starts that has read everything up to `position`, if the log has that record.
fn behind(directory: &Path, position: Position, options: &LogOptions) -> Option<Start> {
    let found = segments(directory).ok()?;
    let segment = found.iter().rev().find(|segment| segment.first <= position.sequence)?;
    let (record, end) = record_at(segment, position.sequence).ok()??;
    if record.position != position {
        return None;
    }
    let header = Lines::open(&segment.path, 0).ok()?.next_line().ok()??;
    let header = Stored::read(&header.bytes).ok().filter(|header| header.kind == "segment")?;
    Some(Start {
        segment: segment.clone(),
        segment_started: header.time,
        file: options.storage.open(&segment.path).ok()?,
        durable: Durable { position, length: end },
        since_checkpoint: u32::from(record.kind != super::checkpoint::KIND),
        log_id: header.text("log")?.to_owned(),
    })
}

/// A record by its number, and where its line ends.
fn record_at(segment: &Segment, sequence: u64) -> io::Result<Option<(Stored, u64)>> {
    let mut lines = Lines::open(&segment.path, start_before(&segment.path, sequence)?)?;
    while let Some(line) = lines.next_line()?.filter(|line| line.complete) {
        let Ok(record) = Stored::read(&line.bytes) else {
            return Ok(None);
        };
        if record.position.sequence >= sequence {
            let end = line.offset + line.bytes.len() as u64 + 1;
            return Ok(Some((record, end)).filter(|(record, _)| record.position.sequence == sequence));
        }
    }
    Ok(None)
}
