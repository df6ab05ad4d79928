//! Other processes that append to the same log.
//!
//! A log that was joined (`join.rs`) belongs to several processes at once. Whoever writes holds the lock of
//! `append.lock`, and first reads what the others appended since: number and hash of the last record, what
//! was charged, whether a new segment was started. Nothing new costs one look at the end of the file.
//! What the holder of the lock left half written when it died is cut off by the next one, and recorded.
//!
//! A log that one process has for itself has no `Others`, and pays nothing for them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

use super::chain::{Position, SEAL_BYTES, ends_with};
use super::checkpoint;
use super::fault::LogFault;
use super::line::Body;
use super::open::keep_cut_bytes;
use super::record::Action;
use super::replay::{Movement, Replayed, moved};
use super::segment::{Lines, Segment, segments};
use super::stored::{LINE_BYTES_MAX, Stored};
use super::writer::{Durable, Writer};

/// How long to wait until the other processes are done; then the record is not taken.
pub const TURN_WAIT_MAX: Duration = Duration::from_secs(5);
/// Between two tries for the lock.
const TURN_PAUSE: Duration = Duration::from_micros(30);
/// More than this is read before the lock is taken, so that nobody waits for it.
const READ_AHEAD_BYTES: u64 = 64 << 10;
/// So much of the others' records waits for a sync at most while it is read.
const UNSYNCED_BYTES_MAX: usize = 4 << 20;
const APPEND_LOCK: &str = "append.lock";
const KEEP_LOCK: &str = "keep.lock";

/// Hears of every record of another process that moved counters, in the log's order. An error keeps this
/// process from appending anything.
pub type Foreign = Box<dyn Fn(Replayed) -> Result<(), String> + Send + Sync>;

/// What is needed to share a log.
pub(crate) struct Others {
    append: Arc<File>,
    /// For the `head` file, the counters' snapshot and retention: they take long, and nobody waits for them.
    pub(crate) keep: Arc<File>,
    reader: File,
    foreign: Foreign,
    /// Whether records of others were read since the last turn: then there may be many more by now.
    have_written: bool,
    /// Moves on with every tool that another process accepted.
    accepted: watch::Sender<u64>,
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// A lock between processes, until dropped.
pub(crate) struct Held(Arc<File>);

impl Drop for Held {
    fn drop(&mut self) {
        // It cannot fail for a file that is open; and closing it would unlock, too.
        let _ = self.0.unlock();
    }
}

/// Takes the lock of `append.lock` in a log's directory.
pub(crate) fn open_append_lock(directory: &Path) -> io::Result<Arc<File>> {
    open_lock(&directory.join(APPEND_LOCK))
}

fn open_lock(path: &Path) -> io::Result<Arc<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map(Arc::new)
}

/// Waits for the lock, but not for ever.
pub(crate) fn wait_for(lock: &Arc<File>) -> io::Result<Held> {
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Held(lock.clone())),
            Err(TryLockError::WouldBlock) if begun.elapsed() < TURN_WAIT_MAX => {
                std::thread::sleep(TURN_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process has held the log for too long"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Takes the lock if nobody has it.
pub(crate) fn try_for(lock: &Arc<File>) -> Option<Held> {
    lock.try_lock().ok().map(|()| Held(lock.clone()))
}

impl Others {
    pub(crate) fn new(
        append: Arc<File>,
        directory: &Path,
        segment: &Segment,
        foreign: Foreign,
        clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> io::Result<Others> {
        let keep = open_lock(&directory.join(KEEP_LOCK))?;
        let (reader, accepted) = (File::open(&segment.path)?, watch::Sender::new(0));
        Ok(Others { append, keep, reader, foreign, have_written: true, accepted, clock })
    }

    /// Moves on when another process notes that a changed tool was accepted.
    pub(crate) fn accepted(&self) -> watch::Receiver<u64> {
        self.accepted.subscribe()
    }

    /// The turn of this process to append.
    pub(crate) fn turn(&self) -> Result<Held, LogFault> {
        wait_for(&self.append).map_err(unavailable)
    }

    /// The reader of a segment that this process started itself.
    pub(crate) fn read_from(&mut self, segment: &Segment) -> io::Result<()> {
        self.reader = File::open(&segment.path)?;
        Ok(())
    }
}

fn unavailable(error: io::Error) -> LogFault {
    LogFault::Unavailable { reason: error.to_string() }
}

fn changed(what: &str) -> io::Error {
    let what = format!("{what}; stop everything that uses it and run `portcullis log verify`");
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Writer {
    /// Reads what others appended. To be called with the turn to append.
    pub(crate) fn catch_up(&mut self) -> Result<(), LogFault> {
        // A failed log is restored first; until then nothing is appended anyway.
        if self.others.is_none() || self.failure.is_some() {
            return Ok(());
        }
        self.read_on().map_err(unavailable)
    }

    /// Reads much of what others appended without holding them up.
    pub(crate) fn read_ahead(&mut self, more_than: u64) -> Result<(), LogFault> {
        if self.others.is_some() && self.failure.is_none() {
            while self.behind().map_err(unavailable)? > more_than {
                if self.read_some().map_err(unavailable)? == 0 {
                    // Somebody is just writing.
                    break;
                }
            }
        }
        Ok(())
    }

    /// The same before a turn, unless nobody else was seen: the keeper looks every second in any case.
    pub(crate) fn read_ahead_of_turn(&mut self) -> Result<(), LogFault> {
        match self.others.as_mut().map(|others| std::mem::take(&mut others.have_written)) {
            Some(true) => self.read_ahead(READ_AHEAD_BYTES),
            _ => Ok(()),
        }
    }

    fn reader(&self) -> io::Result<&File> {
        self.others.as_ref().map(|others| &others.reader).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Bytes of the current segment that were not read yet.
    fn behind(&self) -> io::Result<u64> {
        let end = self.reader()?.metadata()?.len();
        end.checked_sub(self.length).ok_or_else(|| changed("the log has become shorter"))
    }

    pub(crate) fn read_on(&mut self) -> io::Result<()> {
        loop {
            if !self.knows_the_end()? {
                if self.read_some()? == 0 {
                    self.cut_torn_tail()?;
                }
                continue;
            }
            // A segment is closed by a checkpoint; only then there can be a next one.
            if self.since_checkpoint > 0 || !self.turn_page()? {
                return Ok(());
            }
        }
    }

    /// Whether nothing follows the last record that this process knows, which must be where it was. One
    /// look for both, since every call that is admitted waits for it.
    fn knows_the_end(&self) -> io::Result<bool> {
        let mut bytes = [0; SEAL_BYTES + 2];
        let start = self.length.checked_sub(SEAL_BYTES as u64 + 1).ok_or(io::ErrorKind::InvalidData)?;
        let read = self.reader()?.read_at(&mut bytes, start)?;
        if read <= SEAL_BYTES {
            return Err(changed("the log has become shorter"));
        }
        match ends_with(bytes.get(..=SEAL_BYTES).unwrap_or_default(), &self.last.hash) {
            true => Ok(read == SEAL_BYTES + 1),
            false => Err(changed("the end of the log was changed")),
        }
    }

    /// The bytes behind the last known record, as many as a line can have.
    fn unread(&self) -> io::Result<Vec<u8>> {
        let most = LINE_BYTES_MAX + 1;
        let mut bytes = vec![0; usize::try_from(self.behind()?).map_or(most, |behind| behind.min(most))];
        let read = self.reader()?.read_at(&mut bytes, self.length)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Takes in a piece of the others' records; gives how many bytes of whole lines there were.
    fn read_some(&mut self) -> io::Result<usize> {
        let bytes = self.unread()?;
        let mut taken = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                break;
            };
            self.take_foreign(line)?;
            taken += line.len() + 1;
        }
        if taken == 0 && bytes.len() > LINE_BYTES_MAX {
            return Err(changed("a line of the log is longer than any record"));
        }
        Ok(taken)
    }

    fn take_foreign(&mut self, line: &[u8]) -> io::Result<()> {
        let record = Stored::read(line).map_err(|fault| changed(&fault.to_string()))?;
        if record.position.sequence != self.last.sequence + 1 || record.previous != self.last.hash {
            return Err(changed("a record does not follow the one before"));
        }
        self.apply(&record)?;
        if let Some(others) = &mut self.others {
            others.have_written = true;
        }
        self.length += line.len() as u64 + 1;
        self.pending.extend_from_slice(line);
        self.pending.push(b'\n');
        self.known(&record);
        if self.pending.len() > UNSYNCED_BYTES_MAX { self.settle_all() } else { Ok(()) }
    }

    /// INVARIANT (limits never exceed): what others charged counts before this process admits anything.
    fn apply(&self, record: &Stored) -> io::Result<()> {
        let number = record.position.sequence;
        let moved =
            moved(record).ok_or_else(|| changed(&format!("record {number} has unreadable charges")))?;
        if let Some(others) = &self.others
            && record.kind == "event"
            && record.text("action") == Some(Action::ToolAccepted.as_str())
        {
            others.accepted.send_modify(|count| *count += 1);
        }
        let tells = !moved.charges.is_empty() || moved.movement == Movement::Forgotten;
        match &self.others {
            Some(others) if tells => (others.foreign)(moved).map_err(io::Error::other),
            _ => Ok(()),
        }
    }

    fn known(&mut self, record: &Stored) {
        self.last = record.position;
        if record.kind == checkpoint::KIND {
            self.since_checkpoint = 0;
            self.checkpoint_time = record.time;
        } else {
            self.since_checkpoint += 1;
        }
    }

    /// Makes everything durable that is in the current segment.
    fn settle_all(&mut self) -> io::Result<()> {
        self.file.sync().inspect_err(|error| drop(self.fail(format!("syncing failed: {error}"))))?;
        self.confirm(Durable { position: self.last, length: self.length });
        Ok(())
    }

    /// The holder of the lock died while it wrote: nobody was told that the record is there.
    fn cut_torn_tail(&mut self) -> io::Result<()> {
        let tail = self.unread()?;
        keep_cut_bytes(&self.directory, &self.segment, self.length, &tail)?;
        self.file.set_len(self.length)?;
        self.record_cut(tail.len() as u64)
    }

    fn record_cut(&mut self, cut_bytes: u64) -> io::Result<()> {
        let mut body = Body::new("repair");
        body.name("action", Some("tail_cut"));
        body.number("cut_bytes", Some(cut_bytes));
        let now = self.others.as_ref().map_or(Timestamp::UNIX_EPOCH, |others| (others.clock)());
        self.append(now, &body).map(|_| ()).map_err(io::Error::other)
    }

    /// Goes over to the segment that another process started, if there is one.
    fn turn_page(&mut self) -> io::Result<bool> {
        let found = segments(&self.directory)?;
        if found.last().is_none_or(|newest| newest.first == self.segment.first) {
            return Ok(false);
        }
        let next = Segment::in_directory(&self.directory, self.last.sequence + 1);
        if !found.contains(&next) {
            return Err(changed("the log has gone on without this process"));
        }
        let line = Lines::open(&next.path, 0)?.next_line()?.filter(|line| line.complete);
        let header = line.and_then(|line| Stored::read(&line.bytes).ok().map(|record| (record, line.bytes)));
        match header.filter(|(record, _)| self.is_next(record)) {
            Some((record, line)) => self.enter(next, &record, &line).map(|()| true),
            None => self.drop_unfinished(&next).map(|()| false),
        }
    }

    fn is_next(&self, header: &Stored) -> bool {
        header.position.sequence == self.last.sequence + 1
            && header.previous == self.last.hash
            && header.kind == "segment"
    }

    fn enter(&mut self, next: Segment, header: &Stored, line: &[u8]) -> io::Result<()> {
        // Who started it made the one before durable; asking again shows whether that failed for us.
        self.settle_all()?;
        let file = self.storage.open(&next.path)?;
        if let Some(others) = &mut self.others {
            others.read_from(&next)?;
        }
        let before = Position { sequence: self.last.sequence, hash: self.last.hash };
        self.file = file;
        self.segment = next;
        self.segment_started = header.time;
        self.durable = Durable { position: before, length: 0 };
        self.length = line.len() as u64 + 1;
        self.pending.extend_from_slice(line);
        self.pending.push(b'\n');
        self.known(header);
        Ok(())
    }

    /// Whoever started this segment died before its first record was written.
    fn drop_unfinished(&mut self, next: &Segment) -> io::Result<()> {
        let bytes = next.path.metadata()?.len();
        self.storage.remove(&next.path)?;
        self.storage.sync_directory(&self.directory)?;
        self.record_cut(bytes)
    }
}
