//! The log's one writer: appends, remembers what is not durable yet, fails, recovers, rotates.
//!
//! It has no thread and no lock; `mod.rs` puts it behind one mutex and `keeper.rs` syncs it. `others.rs` tells
//! it what other processes wrote, where there are any. What was
//! written since the last sync is kept in memory too (`pending`), because after a failed sync the kernel
//! may have dropped the pages: recovering writes those bytes again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::chain::{Position, seal};
use super::checkpoint;
use super::fault::LogFault;
use super::line::{Body, open_line};
use super::others::Others;
use super::segment::{Segment, line_before};
use super::storage::{Storage, StoredFile};
use super::stored::{LINE_BYTES_MAX, Stored};
use crate::keys::CheckpointKey;

/// Bytes that may wait for a sync. At 600 bytes a record, about 110,000 records.
pub const PENDING_BYTES_MAX: usize = 64 << 20;
/// Callers that may wait for a sync.
pub const WAITERS_MAX: usize = 1 << 16;

/// The end of the log that is on stable storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    pub(crate) position: Position,
    /// Bytes of the current segment.
    pub(crate) length: u64,
}

/// A checkpoint and the line it stands on.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    pub(crate) position: Position,
    pub(crate) line: Arc<[u8]>,
}

struct Waiter {
    sequence: u64,
    sender: oneshot::Sender<Result<(), LogFault>>,
}

pub(crate) struct Writer {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) directory: std::path::PathBuf,
    pub(crate) key: CheckpointKey,
    pub(crate) log_id: String,
    pub(crate) checkpoint_records: u32,
    pub(crate) segment: Segment,
    pub(crate) segment_started: Timestamp,
    pub(crate) file: Arc<dyn StoredFile>,
    /// Bytes of whole records in the current segment.
    pub(crate) length: u64,
    /// The last record.
    pub(crate) last: Position,
    pub(crate) durable: Durable,
    /// The bytes of the current segment behind `durable.length`.
    pub(crate) pending: Vec<u8>,
    /// The current segment was started and its name is not durable yet.
    name_is_new: bool,
    waiters: Vec<Waiter>,
    pub(crate) failure: Option<String>,
    /// Whether there is a failure, for those who do not hold the lock.
    pub(crate) failed: Arc<AtomicBool>,
    /// A next segment whose making failed and which could not be removed: nothing is taken while it is
    /// there, since a start would find it behind this one.
    leftover: Option<std::path::PathBuf>,
    /// Records since the last checkpoint.
    pub(crate) since_checkpoint: u32,
    pub(crate) checkpoint_time: Timestamp,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// The other processes that append to this log, if it is shared.
    pub(crate) others: Option<Others>,
    /// Kept, so that appending allocates nothing inside the lock.
    line: Vec<u8>,
}

/// What one sync is about.
pub(crate) struct SyncTurn {
    file: Arc<dyn StoredFile>,
    segment: u64,
    /// The directory in which the segment's name is new.
    named_in: Option<(Arc<dyn Storage>, std::path::PathBuf)>,
    upto: Durable,
    pub(crate) checkpoint: Option<Checkpoint>,
}

impl SyncTurn {
    /// Waits for the disk.
    pub(crate) fn perform(&self) -> std::io::Result<()> {
        self.file.sync()?;
        match &self.named_in {
            Some((storage, directory)) => storage.sync_directory(directory),
            None => Ok(()),
        }
    }
}

/// Where the writer starts.
pub(crate) struct Start {
    pub(crate) segment: Segment,
    pub(crate) segment_started: Timestamp,
    pub(crate) file: Arc<dyn StoredFile>,
    pub(crate) durable: Durable,
    pub(crate) since_checkpoint: u32,
    pub(crate) log_id: String,
}

impl Writer {
    pub(crate) fn new(
        start: Start,
        storage: Arc<dyn Storage>,
        directory: std::path::PathBuf,
        key: CheckpointKey,
        checkpoint_records: u32,
        now: Timestamp,
    ) -> Writer {
        Writer {
            storage,
            directory,
            key,
            log_id: start.log_id,
            checkpoint_records,
            segment: start.segment,
            segment_started: start.segment_started,
            file: start.file,
            length: start.durable.length,
            last: start.durable.position,
            durable: start.durable,
            pending: Vec::with_capacity(1 << 16),
            name_is_new: false,
            waiters: Vec::new(),
            failure: None,
            failed: Arc::default(),
            leftover: None,
            since_checkpoint: start.since_checkpoint,
            checkpoint_time: now,
            checkpoint: None,
            others: None,
            line: Vec::with_capacity(4096),
        }
    }

    /// Appends one record, and a checkpoint when one is due.
    pub(crate) fn append(&mut self, time: Timestamp, body: &Body) -> Result<Position, LogFault> {
        let position = self.write(time, body)?;
        self.since_checkpoint += 1;
        if self.since_checkpoint >= self.checkpoint_records {
            // If it fails, the log has failed; the record above is written all the same.
            let _ = self.write_checkpoint(time);
        }
        Ok(position)
    }

    /// INVARIANT (one order): number, hash and `write` happen together, under the caller's lock.
    fn write(&mut self, time: Timestamp, body: &Body) -> Result<Position, LogFault> {
        self.check_room(body)?;
        open_line(&mut self.line, &self.last, time, body);
        let hash = seal(&mut self.line);
        self.line.push(b'\n');
        if let Err(error) = self.file.write_at(&self.line, self.length) {
            if self.others.is_some() {
                // Not left to the next process; if this fails too, it is.
                let _ = self.file.set_len(self.length);
            }
            return Err(self.fail(format!("writing failed: {error}")));
        }
        self.length += self.line.len() as u64;
        self.pending.extend_from_slice(&self.line);
        self.last = Position { sequence: self.last.sequence + 1, hash };
        Ok(self.last)
    }

    fn check_room(&self, body: &Body) -> Result<(), LogFault> {
        if let Some(reason) = &self.failure {
            return Err(LogFault::Unavailable { reason: reason.clone() });
        }
        // Room for number, time and hashes.
        if body.as_bytes().len() + 512 > LINE_BYTES_MAX {
            return Err(LogFault::TooLarge { what: "the line would be longer than any reader takes" });
        }
        if self.pending.len() + body.as_bytes().len() > PENDING_BYTES_MAX {
            return Err(LogFault::Behind);
        }
        Ok(())
    }

    pub(crate) fn write_checkpoint(&mut self, time: Timestamp) -> Result<Position, LogFault> {
        let body = checkpoint::body(&self.key, &self.log_id, &self.last);
        let position = self.write(time, &body)?;
        self.since_checkpoint = 0;
        self.checkpoint_time = time;
        self.checkpoint = Some(Checkpoint { position, line: self.line.as_slice().into() });
        Ok(position)
    }

    /// A receiver that hears when the last record is durable, or that it will not be confirmed.
    pub(crate) fn wait_for_last(&mut self) -> Result<oneshot::Receiver<Result<(), LogFault>>, LogFault> {
        if let Some(reason) = &self.failure {
            return Err(LogFault::Unavailable { reason: reason.clone() });
        }
        if self.waiters.len() >= WAITERS_MAX {
            return Err(LogFault::Behind);
        }
        let (sender, receiver) = oneshot::channel();
        self.waiters.push(Waiter { sequence: self.last.sequence, sender });
        Ok(receiver)
    }

    pub(crate) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// What to sync, if anything.
    pub(crate) fn begin_sync(&self) -> Option<SyncTurn> {
        if self.failure.is_some() || self.pending.is_empty() {
            return None;
        }
        let named_in = || (self.storage.clone(), self.directory.clone());
        Some(SyncTurn {
            file: self.file.clone(),
            segment: self.segment.first,
            named_in: self.name_is_new.then(named_in),
            upto: Durable { position: self.last, length: self.length },
            checkpoint: self.checkpoint.clone(),
        })
    }

    /// Takes note of how a sync went and tells those who wait.
    pub(crate) fn finish_sync(&mut self, turn: &SyncTurn, result: std::io::Result<()>) {
        match result {
            // Another process started a new segment meanwhile: all of the old one was confirmed then.
            Ok(()) if turn.segment != self.segment.first => {}
            Ok(()) => {
                self.name_is_new = false;
                self.confirm(turn.upto);
            }
            Err(error) => drop(self.fail(format!("syncing failed: {error}"))),
        }
    }

    pub(crate) fn confirm(&mut self, upto: Durable) {
        let synced_bytes = upto.length.saturating_sub(self.durable.length) as usize;
        self.pending.drain(..synced_bytes.min(self.pending.len()));
        self.durable = upto;
        let confirmed = self.waiters.partition_point(|waiter| waiter.sequence <= upto.position.sequence);
        for waiter in self.waiters.drain(..confirmed) {
            // A caller that went away does not need to know.
            let _ = waiter.sender.send(Ok(()));
        }
    }

    /// From now on nothing is taken until `recover` succeeds; everyone who waits is refused.
    pub(crate) fn fail(&mut self, reason: String) -> LogFault {
        self.failed.store(true, Ordering::Release);
        let reason = self.failure.get_or_insert(reason).clone();
        let fault = LogFault::Unavailable { reason };
        for waiter in self.waiters.drain(..) {
            let _ = waiter.sender.send(Err(fault.clone()));
        }
        fault
    }

    /// Restores the file to what the log says it has, records that, and takes records again.
    pub(crate) fn recover(&mut self, time: Timestamp) -> Result<(), LogFault> {
        let Some(reason) = self.failure.clone() else {
            return Ok(());
        };
        let body = self.recovery_body(&reason);
        match self.restore(time, &body) {
            Ok(()) => Ok(()),
            Err(error) => Err(LogFault::Unavailable { reason: error.to_string() }),
        }
    }

    fn restore(&mut self, time: Timestamp, body: &Body) -> std::io::Result<()> {
        self.check_durable_end()?;
        self.remove_leftover()?;
        let file = self.storage.open(&self.segment.path)?;
        file.write_at(&self.pending, self.durable.length)?;
        // Counted again, in case a panic left the two apart.
        self.length = self.durable.length + self.pending.len() as u64;
        self.file = file;
        self.read_on_after_failure()?;
        let mut line = Vec::new();
        open_line(&mut line, &self.last, time, body);
        let hash = seal(&mut line);
        line.push(b'\n');
        let length = self.length + line.len() as u64;
        self.file.write_at(&line, self.length)?;
        self.file.set_len(length)?;
        self.file.sync()?;
        if self.name_is_new {
            self.storage.sync_directory(&self.directory)?;
        }
        let position = Position { sequence: self.last.sequence + 1, hash };
        self.length = length;
        self.last = position;
        self.durable = Durable { position, length };
        self.name_is_new = false;
        self.pending.clear();
        self.since_checkpoint += 1;
        self.failure = None;
        self.failed.store(false, Ordering::Release);
        Ok(())
    }

    /// What others appended behind it stays.
    fn read_on_after_failure(&mut self) -> std::io::Result<()> {
        if self.others.is_none() {
            return Ok(());
        }
        let reason = self.failure.take();
        let read = self.read_on();
        self.failure = reason;
        read
    }

    fn remove_leftover(&mut self) -> std::io::Result<()> {
        let Some(path) = &self.leftover else {
            return Ok(());
        };
        match self.storage.remove(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => self.storage.sync_directory(&self.directory)?,
        }
        self.leftover = None;
        Ok(())
    }

    /// The last durable record must still be where it was: else the file was changed underneath.
    fn check_durable_end(&self) -> std::io::Result<()> {
        if self.durable.length == 0 {
            return Ok(());
        }
        let line = line_before(&self.segment.path, self.durable.length)?;
        match Stored::read(&line) {
            Ok(stored) if stored.position == self.durable.position => Ok(()),
            _ => Err(std::io::Error::other("the log file was changed by somebody else")),
        }
    }

    fn recovery_body(&self, reason: &str) -> Body {
        let durable = self.durable.position.sequence;
        let unconfirmed = self.last.sequence > durable;
        let mut body = Body::new("repair");
        body.name("action", Some("recovered"));
        body.number("unconfirmed_from", unconfirmed.then_some(durable + 1));
        body.number("unconfirmed_to", unconfirmed.then_some(self.last.sequence));
        body.sentence("message", Some(reason));
        body
    }

    /// Closes the current segment with a checkpoint and starts the next one.
    ///
    /// The old one is durable before there is a new one: no power cut leaves a gap between them. The new one
    /// becomes durable with the next sync, so that nobody waits for it here; but other processes may go on in
    /// it at once, so where there are any it is durable when this returns.
    pub(crate) fn rotate(&mut self, time: Timestamp) -> Result<(), LogFault> {
        if self.since_checkpoint > 0 {
            self.write_checkpoint(time)?;
        }
        self.settle()?;
        let next = Segment::in_directory(&self.directory, self.last.sequence + 1);
        let (before, body) = (self.last, segment_body(&self.log_id, self.checkpoint_records));
        let started = begin_segment(&*self.storage, &next, &before, time, &body);
        let settled = started.and_then(|begun| match self.others {
            Some(_) => begun.settle(&*self.storage, &self.directory).map(|()| begun),
            None => Ok(begun),
        });
        let begun = match settled {
            Ok(begun) => begun,
            Err(error) => return Err(self.undo_rotation(next, &error)),
        };
        if let Some(others) = &mut self.others {
            // If this fails, the next turn finds the segment as if another process had started it.
            others.read_from(&next).map_err(|error| LogFault::Unavailable { reason: error.to_string() })?;
        }
        self.turn_to(next, begun, time);
        Ok(())
    }

    /// Makes everything durable, here and now.
    fn settle(&mut self) -> Result<(), LogFault> {
        if let Some(turn) = self.begin_sync() {
            let result = turn.perform();
            self.finish_sync(&turn, result);
        }
        match &self.failure {
            Some(reason) => Err(LogFault::Unavailable { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    fn turn_to(&mut self, next: Segment, begun: Begun, time: Timestamp) {
        let length = begun.line.len() as u64;
        self.durable = Durable { position: begun.position, length };
        if self.others.is_none() {
            self.durable = Durable { position: self.last, length: 0 };
            self.pending.extend_from_slice(&begun.line);
            self.name_is_new = true;
        }
        self.segment = next;
        self.segment_started = time;
        self.file = begun.file;
        self.length = length;
        self.last = begun.position;
        self.since_checkpoint = 1;
    }
}

impl Writer {
    /// A new segment that cannot be made leaves the old one in use, once nothing of the new one is left.
    fn undo_rotation(&mut self, next: Segment, error: &std::io::Error) -> LogFault {
        let reason = format!("starting a new segment failed: {error}");
        self.leftover = Some(next.path);
        match self.remove_leftover() {
            Ok(()) => LogFault::Unavailable { reason },
            // Other processes may be using it by now: the next turn finds it, or drops it as unfinished.
            Err(_) if self.others.is_some() => {
                self.leftover = None;
                LogFault::Unavailable { reason }
            }
            Err(_) => self.fail(reason),
        }
    }
}

/// The first record of a segment.
pub(crate) fn segment_body(log_id: &str, checkpoint_records: u32) -> Body {
    let mut body = Body::new("segment");
    body.name("log", Some(log_id));
    body.number("format", Some(1));
    body.number("checkpoint_records", Some(u64::from(checkpoint_records)));
    body
}

/// A segment file with its first record, not durable yet.
pub(crate) struct Begun {
    file: Arc<dyn StoredFile>,
    position: Position,
    line: Vec<u8>,
}

impl Begun {
    /// Makes it durable under its name.
    fn settle(&self, storage: &dyn Storage, directory: &std::path::Path) -> std::io::Result<()> {
        self.file.sync()?;
        storage.sync_directory(directory)
    }
}

/// Makes a segment file with its first record. A failure may leave any part of it.
fn begin_segment(
    storage: &dyn Storage,
    segment: &Segment,
    before: &Position,
    time: Timestamp,
    body: &Body,
) -> std::io::Result<Begun> {
    let mut line = Vec::new();
    open_line(&mut line, before, time, body);
    let hash = seal(&mut line);
    line.push(b'\n');
    let file = storage.create(&segment.path)?;
    file.write_at(&line, 0)?;
    Ok(Begun { file, position: Position { sequence: before.sequence + 1, hash }, line })
}

/// Makes a segment file with its first record, durable under its name. A failure may leave any part of it.
pub(crate) fn start_segment(
    storage: &dyn Storage,
    directory: &std::path::Path,
    segment: &Segment,
    before: &Position,
    time: Timestamp,
    body: &Body,
) -> std::io::Result<(Arc<dyn StoredFile>, Durable)> {
    let begun = begin_segment(storage, segment, before, time, body)?;
    begun.settle(storage, directory)?;
    let durable = Durable { position: begun.position, length: begun.line.len() as u64 };
    Ok((begun.file, durable))
}
