//! The decision log: append-only segments of JSON lines, chained by hash, signed at checkpoints.
//!
//! `DecisionLog` is what the gateway holds. `append` numbers, chains and writes a record under one lock;
//! the ticket it returns resolves when the caller may go on. A background thread (`keeper.rs`) shares one
//! `fdatasync` among all who wait, makes checkpoints, rotates and retires segments, and brings the log back
//! after a failure. Everything else here reads: `verify`, `replay`, `follow`, `export`.
//!
//! It knows nothing of policies or protocols: what was decided comes in as plain data.

mod chain;
mod checkpoint;
mod export;
mod fault;
mod follow;
mod join;
mod judge;
mod keeper;
mod line;
mod ocsf;
mod open;
mod others;
mod record;
mod replay;
mod retention;
mod segment;
mod storage;
mod stored;
mod strangers;
mod text;
mod verify;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{oneshot, watch};

pub use chain::{GENESIS, Hash, Position, hex};
pub use export::{ExportFormat, Exported, export};
pub use fault::{LogFault, OpenFault};
pub use follow::{Begin, Followed, Follower};
pub use join::Joining;
pub use open::Opened;
pub use others::{Foreign, TURN_WAIT_MAX};
pub use record::*;
pub use replay::{Coverage, Movement, Replay, ReplayFault, Replayed};
pub use retention::Retention;
pub use segment::{Segment, segments};
pub use storage::{Disk, FaultyDisk, Storage, StoredFile};
pub use stored::{LINE_BYTES_MAX, NotARecord, Stored};
pub use strangers::{STRANGERS_MAX, Strangers};
pub use verify::{Break, Broken, Head, Verified, VerifyFault, verify, verify_against};
pub use writer::{PENDING_BYTES_MAX, WAITERS_MAX};

pub(crate) use chain::parse_hex;
pub(crate) use segment::read_line;
pub(crate) use storage::replace_file;

use crate::directory::DirectoryLock;
use crate::keys::CheckpointKey;
use crate::snapshot::{self, SnapshotFault};
use keeper::{Keeping, Shared};
use writer::Writer;

/// How the log behaves.
#[derive(Clone)]
pub struct LogOptions {
    /// Who waits for the disk.
    pub sync: SyncMode,
    /// A segment that has grown beyond this is closed.
    pub segment_bytes_max: u64,
    /// A segment that is older than this is closed.
    pub segment_age_max: Duration,
    /// A checkpoint is signed after so many records.
    pub checkpoint_records: u32,
    /// A checkpoint is signed when records have waited this long for one.
    pub checkpoint_age_max: Duration,
    /// Which segments are removed.
    pub retention: Retention,
    /// Go on from the last good record although confirmed ones are missing.
    pub accept_damage: bool,
    /// Where segments live.
    pub storage: Arc<dyn Storage>,
    /// The time for records that the log makes by itself.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The time by which segments age; a step forward of the clock should not move it.
    pub age_clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            sync: SyncMode::Group,
            segment_bytes_max: 64 << 20,
            segment_age_max: Duration::from_secs(24 * 60 * 60),
            checkpoint_records: 1000,
            checkpoint_age_max: Duration::from_secs(60),
            retention: Retention::default(),
            accept_damage: false,
            storage: Arc::new(Disk),
            clock: Arc::new(Timestamp::now),
            age_clock: Arc::new(Timestamp::now),
        }
    }
}

/// How the log is doing; for health checks and metrics.
#[derive(Clone, Debug, Default)]
pub struct LogHealth {
    /// Why nothing is taken at the moment.
    pub failure: Option<String>,
    /// The last record written.
    pub written: u64,
    /// The last record on stable storage.
    pub durable: u64,
    /// Bytes that wait for a sync.
    pub pending_bytes: usize,
    /// The checkpoint in the `head` file.
    pub head: u64,
    /// Syncs since the log was opened.
    pub syncs: u64,
}

/// The log, open for appending. One per process; `open` for one process alone, `join` for several.
pub struct DecisionLog {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
    /// Dropped last: nobody else may open the log before this one is closed.
    _lock: Option<DirectoryLock>,
}

/// An appended record that may still have to become durable.
#[must_use = "the call may leave only after the ticket says so"]
#[derive(Debug)]
pub struct Ticket {
    position: Position,
    waiting: Option<oneshot::Receiver<Result<(), LogFault>>>,
    nudge: Option<Nudge>,
}

/// Wakes the keeper when it is dropped, so that a record is synced for which nobody waits. Waking a thread takes
/// a while: whoever holds this may first do what somebody does wait for.
#[must_use = "dropped at once, it wakes the keeper at once"]
pub struct Nudge(Arc<Shared>);

impl Drop for Nudge {
    fn drop(&mut self) {
        self.0.wake.notify_one();
    }
}

impl fmt::Debug for Nudge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Nudge")
    }
}

impl Ticket {
    /// What is left to do for a record that nobody waits for.
    pub fn take_nudge(&mut self) -> Option<Nudge> {
        self.nudge.take()
    }

    /// The record's place in the log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Resolves when the caller may go on: at once, or after the shared sync.
    pub async fn settled(self) -> Result<Position, LogFault> {
        match self.waiting {
            Some(waiting) => waiting.await.map_err(|_| LogFault::Closed)?.map(|()| self.position),
            None => Ok(self.position),
        }
    }

    /// The same for threads. Not to be called from async code.
    pub fn wait(self) -> Result<Position, LogFault> {
        match self.waiting {
            Some(waiting) => waiting.blocking_recv().map_err(|_| LogFault::Closed)?.map(|()| self.position),
            None => Ok(self.position),
        }
    }
}

impl DecisionLog {
    /// Opens the log in `directory`, repairs its tail and starts the keeper.
    pub fn open(
        directory: &Path,
        key: CheckpointKey,
        options: LogOptions,
    ) -> Result<(DecisionLog, Opened), OpenFault> {
        let now = (options.clock)();
        let (writer, opened) = open::open_writer(directory, key, &options, now)?;
        let shared = Arc::new(Shared::new(writer, options));
        if opened.damage.is_some() {
            // From here on the log vouches for what is left.
            shared.seal_off()?;
        }
        let keeper = keeper::spawn(shared.clone())
            .map_err(|error| OpenFault::File { path: directory.to_owned(), error })?;
        Ok((DecisionLog { shared, keeper: Some(keeper), _lock: None }, opened))
    }

    /// Keeps the lock of the data directory until the log is closed.
    pub fn holding(mut self, lock: DirectoryLock) -> DecisionLog {
        self._lock = Some(lock);
        self
    }

    /// Appends a record. INVARIANT (no record, no call): the call may leave only when the ticket settles.
    pub fn append(&self, time: Timestamp, entry: &Entry<'_>) -> Result<Ticket, LogFault> {
        self.append_if(entry, || Ok(time))
    }

    /// Appends a record unless `settle` refuses, which is asked when nobody else can append any more and all
    /// that others charged is known; it gives the record's time.
    pub fn append_if<E: From<LogFault>>(
        &self,
        entry: &Entry<'_>,
        settle: impl FnOnce() -> Result<Timestamp, E>,
    ) -> Result<Ticket, E> {
        let body = line::body_of(entry)?;
        let must_be_durable = entry.must_be_durable(self.shared.options.sync);
        if self.shared.has_failed() {
            self.shared.wake.notify_one();
            return Err(LogFault::Unavailable { reason: keeper::RECOVERING.to_owned() }.into());
        }
        let mut writer = self.shared.writing()?;
        let time = settle()?;
        // The keeper is woken by a failure too: it brings the log back.
        let position = writer.append(time, &body).inspect_err(|_| self.shared.wake.notify_one())?;
        let waiting = must_be_durable.then(|| writer.wait_for_last()).transpose()?;
        let was_idle = writer.was_idle;
        drop(writer);
        if waiting.is_some() {
            self.shared.wake.notify_one();
        }
        let nudge = (was_idle && waiting.is_none()).then(|| Nudge(self.shared.clone()));
        Ok(Ticket { position, waiting, nudge })
    }

    /// The last record.
    pub fn position(&self) -> Position {
        self.shared.lock().last
    }

    /// Tells of every checkpoint that has become durable: a good moment for a counters' snapshot.
    pub fn checkpoints(&self) -> watch::Receiver<Position> {
        self.shared.checkpoints.subscribe()
    }

    /// Moves on when another process on the same log notes that a changed tool was accepted; nothing for a
    /// log that this process has for itself.
    pub fn accepted_by_others(&self) -> Option<watch::Receiver<u64>> {
        self.shared.lock().others.as_ref().map(others::Others::accepted)
    }

    /// How it is doing.
    pub fn health(&self) -> LogHealth {
        self.shared.health()
    }

    /// Makes everything durable that was appended so far.
    pub fn sync_now(&self) -> Result<(), LogFault> {
        self.shared.sync()
    }

    /// Tries to bring a failed log back; the keeper does the same by itself.
    pub fn recover_now(&self) -> Result<(), LogFault> {
        self.shared.recover()
    }

    /// Closes the current segment, starts the next and retires what may go.
    pub fn rotate_now(&self) -> Result<(), LogFault> {
        self.shared.rotate()
    }

    /// Keeps the counters as of `position`, and lets retention go that far. `payload` must contain every
    /// charge up to `position`.
    pub fn write_snapshot(&self, position: Position, payload: &[u8]) -> Result<(), SnapshotFault> {
        let _turn = lock_plain(&self.shared.snapshot_turn);
        if position.sequence < self.shared.snapshot_sequence() {
            // A newer one is there already.
            return Ok(());
        }
        // A snapshot must never be ahead of the log that it belongs to.
        self.shared.sync()?;
        let storage = &*self.shared.options.storage;
        let path = snapshot::path_beside(&self.shared.directory);
        let Some(keeping) = self.shared.keeping() else {
            return Ok(());
        };
        if matches!(keeping, Keeping::Turn(_)) && snapshot::reaches(&path, position) {
            self.shared.snapshot_written(position);
            return Ok(());
        }
        snapshot::write(storage, &path, &snapshot::Snapshot { position, payload: payload.into() })?;
        self.shared.snapshot_written(position);
        Ok(())
    }

    /// What was charged, from the counters' snapshot (if it fits) to the last record. To be called once,
    /// at start.
    pub fn replay(&self) -> Result<(Option<snapshot::Snapshot>, Coverage, Replay), ReplayFault> {
        let now = (self.shared.options.clock)();
        let (snapshot, coverage, replay) =
            replay::replay(&self.shared.directory, self.position().sequence, now)?;
        if let Some(snapshot) = &snapshot {
            // Only one that belongs to this log lets retention go anywhere.
            self.shared.snapshot_written(snapshot.position);
        }
        Ok((snapshot, coverage, replay))
    }

    /// Goes on although what stands before cannot be replayed: the operator decided it, and the log says so.
    pub fn accept_damage(&self, what: &str) -> Result<(), LogFault> {
        let now = (self.shared.options.clock)();
        self.shared.writing()?.append(now, &open::repair_body(open::DAMAGE_ACCEPTED, 0, Some(what)))?;
        self.shared.seal_off()
    }

    /// Signs what is there, makes it durable and stops.
    pub fn close(mut self) -> Result<(), LogFault> {
        // One attempt for a log that has failed: else what it holds back would be gone.
        let result = self.shared.recover().and_then(|()| self.shared.seal_off());
        self.stop();
        result
    }

    fn stop(&mut self) {
        self.shared.request_stop();
        if let Some(keeper) = self.keeper.take() {
            // A panic in the keeper has been reported already.
            let _ = keeper.join();
        }
    }
}

impl Drop for DecisionLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Locks the writer. A thread that panicked inside leaves a failed log, which `recover` restores.
fn lock_writer(mutex: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    mutex.lock().unwrap_or_else(|poisoned| {
        mutex.clear_poison();
        let mut writer = poisoned.into_inner();
        drop(writer.fail("a thread panicked while it wrote".to_owned()));
        writer
    })
}

/// Locks something that no panic can leave half done.
fn lock_plain<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
