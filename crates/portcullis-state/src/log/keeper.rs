//! The keeper: one thread that syncs for all, and looks after the log.
//!
//! Callers who must wait are confirmed by the next sync, which covers everybody who came before it began.
//! Without such callers a sync follows within 10 ms of the [`Nudge`](super::Nudge), within a second at worst.
//! Between syncs the keeper signs checkpoints that are due by age, rotates, retires old segments, keeps the
//! `head` file, and tries to recover a failed log.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

use super::chain::Position;
use super::fault::LogFault;
use super::others::{Held, Others, try_for};
use super::writer::{Checkpoint, Writer};
use super::{LogHealth, LogOptions, checkpoint, lock_plain, lock_writer, retention};

/// A written record is synced after this long at the latest, also if nobody waits for it.
const SYNC_WITHIN: Duration = Duration::from_millis(10);
/// A failed log is tried again after this long.
const RETRY_AFTER: Duration = Duration::from_millis(50);
/// The keeper looks at ages at least this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The `head` file is replaced at most this often, except at rotation and at the end.
const HEAD_EVERY: Duration = Duration::from_secs(1);

/// What is said while the log is being brought back.
pub(crate) const RECOVERING: &str = "it failed and is being brought back";

pub(crate) struct Shared {
    writer: Mutex<Writer>,
    /// Held by whoever syncs, rotates or recovers, so that a sync always belongs to the current segment.
    /// Always taken before `writer`, never while holding it.
    turn: Mutex<HeadState>,
    pub(crate) wake: Condvar,
    pub(crate) options: LogOptions,
    pub(crate) directory: PathBuf,
    pub(crate) checkpoints: watch::Sender<Position>,
    head_sequence: AtomicU64,
    syncs: AtomicU64,
    /// The last record that the counters' snapshot contains, once one is known to belong to this log.
    snapshot_sequence: AtomicU64,
    /// Held while a snapshot is written.
    pub(crate) snapshot_turn: Mutex<()>,
    /// The writer's own, to be looked at without its lock.
    failed: Arc<AtomicBool>,
    stopping: AtomicBool,
}

#[derive(Default)]
struct HeadState {
    durable: Option<Checkpoint>,
    written_at: Option<Instant>,
}

/// The writer, while this process may write.
pub(crate) struct Writing<'a> {
    // Let go before the writer: another thread must not take this turn for its own.
    _turn: Option<Held>,
    writer: MutexGuard<'a, Writer>,
    /// Nothing waited for a sync before.
    pub(crate) was_idle: bool,
}

impl Deref for Writing<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

/// Leave to replace the `head` file or the counters' snapshot, or to remove segments.
pub(crate) enum Keeping {
    /// No other process has the log.
    Alone,
    /// The others must wait.
    #[expect(dead_code, reason = "it is held, not read")]
    Turn(Held),
}

impl Shared {
    pub(crate) fn new(writer: Writer, options: LogOptions) -> Shared {
        let directory = writer.directory.clone();
        let (checkpoints, _) = watch::channel(writer.last);
        let head = checkpoint::read_head(&directory).ok().flatten();
        // One beyond the end is from before damage that was accepted: it does not count any more.
        let head = head.and_then(Result::ok).map_or(0, |head| head.position.sequence);
        let head_sequence = if head > writer.last.sequence { 0 } else { head };
        let failed = writer.failed.clone();
        Shared {
            writer: Mutex::new(writer),
            turn: Mutex::default(),
            wake: Condvar::new(),
            options,
            directory,
            checkpoints,
            head_sequence: AtomicU64::new(head_sequence),
            syncs: AtomicU64::new(0),
            snapshot_sequence: AtomicU64::new(0),
            snapshot_turn: Mutex::default(),
            failed,
            stopping: AtomicBool::new(false),
        }
    }

    /// The writer, to be looked at.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        lock_writer(&self.writer)
    }

    /// Whether the log has failed. Whoever brings it back holds the lock for as long as the disk takes.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The writer, to write: with the turn to append and knowing all that others appended, where there are
    /// others.
    pub(crate) fn writing(&self) -> Result<Writing<'_>, LogFault> {
        let mut writer = self.lock();
        let was_idle = writer.pending.is_empty();
        // What it stumbles over is looked at again when nobody else can write.
        let _ = writer.read_ahead_of_turn();
        let turn = writer.others.as_ref().map(Others::turn).transpose()?;
        writer.catch_up()?;
        Ok(Writing { _turn: turn, writer, was_idle })
    }

    /// The turn to keep what lies beside the segments; nothing if another process is at it.
    pub(crate) fn keeping(&self) -> Option<Keeping> {
        match self.lock().others.as_ref() {
            Some(others) => try_for(&others.keep).map(Keeping::Turn),
            None => Some(Keeping::Alone),
        }
    }

    fn now(&self) -> Timestamp {
        (self.options.clock)()
    }

    /// One sync, outside the writer's lock, so that others append meanwhile.
    pub(crate) fn sync(&self) -> Result<(), LogFault> {
        self.sync_in_turn(&mut lock_plain(&self.turn))
    }

    fn sync_in_turn(&self, head: &mut HeadState) -> Result<(), LogFault> {
        let begun = self.lock().begin_sync();
        if let Some(turn) = begun {
            let result = turn.perform();
            self.syncs.fetch_add(1, Ordering::Relaxed);
            self.lock().finish_sync(&turn, result);
            if self.lock().failure.is_none() {
                self.note_checkpoint(head, turn.checkpoint);
            }
        }
        self.failure()
    }

    fn failure(&self) -> Result<(), LogFault> {
        match self.lock().failure.clone() {
            Some(reason) => Err(LogFault::Unavailable { reason }),
            None => Ok(()),
        }
    }

    fn note_checkpoint(&self, head: &mut HeadState, checkpoint: Option<Checkpoint>) {
        let Some(checkpoint) = checkpoint else {
            return;
        };
        let known = head.durable.as_ref().map(|known| known.position);
        if known != Some(checkpoint.position) {
            self.checkpoints.send_replace(checkpoint.position);
            head.durable = Some(checkpoint);
        }
    }

    /// Keeps the newest durable checkpoint. A failure is tried again: the log itself is not affected.
    fn keep_head(&self, at_once: bool) {
        let mut head = lock_plain(&self.turn);
        let recent = head.written_at.is_some_and(|at| at.elapsed() < HEAD_EVERY);
        let Some(checkpoint) = head.durable.clone() else {
            return;
        };
        let sequence = checkpoint.position.sequence;
        let known = self.head_sequence.load(Ordering::Relaxed) >= sequence;
        if known || (recent && !at_once) {
            return;
        }
        let Some(keeping) = self.keeping() else {
            return;
        };
        head.written_at = Some(Instant::now());
        let storage = &*self.options.storage;
        let newer = matches!(keeping, Keeping::Turn(_)) && self.kept_head() >= sequence;
        if newer || checkpoint::write_head(storage, &self.directory, &checkpoint.line).is_ok() {
            self.head_sequence.store(sequence, Ordering::Relaxed);
        }
    }

    /// The checkpoint in the `head` file: another process may have put it there.
    fn kept_head(&self) -> u64 {
        let head = checkpoint::read_head(&self.directory).ok().flatten().and_then(Result::ok);
        head.map_or(0, |head| head.position.sequence)
    }

    pub(crate) fn recover(&self) -> Result<(), LogFault> {
        let _turn = lock_plain(&self.turn);
        let now = self.now();
        let mut writer = self.lock();
        let _others = writer.others.as_ref().map(Others::turn).transpose()?;
        writer.recover(now)
    }

    pub(crate) fn rotate(&self) -> Result<(), LogFault> {
        self.rotate_if(|_| true)
    }

    /// Rotates unless another process has done it by now.
    fn rotate_if(&self, due: impl FnOnce(&Writer) -> bool) -> Result<(), LogFault> {
        let mut head = lock_plain(&self.turn);
        // Most of it here, so that under the lock there is hardly anything left to wait for.
        self.sync_in_turn(&mut head)?;
        let mut writer = self.writing()?;
        if !due(&writer) {
            return Ok(());
        }
        let result = writer.rotate(self.now());
        let checkpoint = writer.checkpoint.clone();
        let durable = writer.durable.position.sequence;
        drop(writer);
        let is_durable = |checkpoint: &Checkpoint| checkpoint.position.sequence <= durable;
        self.note_checkpoint(&mut head, checkpoint.filter(is_durable));
        // Calls go on meanwhile, in the new segment.
        let synced = self.sync_in_turn(&mut head);
        drop(head);
        result.and(synced)?;
        self.keep_head(true);
        retention::retire(self, self.now(), (self.options.age_clock)())
    }

    pub(crate) fn snapshot_written(&self, position: Position) {
        self.snapshot_sequence.fetch_max(position.sequence, Ordering::SeqCst);
    }

    pub(crate) fn snapshot_sequence(&self) -> u64 {
        self.snapshot_sequence.load(Ordering::SeqCst)
    }

    pub(crate) fn health(&self) -> LogHealth {
        let busy = || self.has_failed().then(|| self.writer.try_lock().err()).flatten();
        if matches!(busy(), Some(TryLockError::WouldBlock)) {
            return LogHealth { failure: Some(RECOVERING.to_owned()), ..LogHealth::default() };
        }
        let writer = self.lock();
        LogHealth {
            failure: writer.failure.clone(),
            written: writer.last.sequence,
            durable: writer.durable.position.sequence,
            pending_bytes: writer.pending.len(),
            head: self.head_sequence.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
        }
    }

    /// The last checkpoint of an orderly end.
    pub(crate) fn seal_off(&self) -> Result<(), LogFault> {
        let now = self.now();
        let mut writer = self.writing()?;
        if writer.since_checkpoint > 0 {
            writer.write_checkpoint(now)?;
        }
        drop(writer);
        self.sync()?;
        self.keep_head(true);
        Ok(())
    }

    pub(crate) fn request_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Taken and released, so that the keeper is either waiting or will look again.
        drop(self.lock());
        self.wake.notify_all();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// Starts the keeper.
pub(crate) fn spawn(shared: Arc<Shared>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("log-keeper".to_owned()).spawn(move || run(&shared))
}

/// Nobody waits for a keeper that is gone.
struct FailAtEnd<'a>(&'a Shared);

impl Drop for FailAtEnd<'_> {
    fn drop(&mut self) {
        if !self.0.is_stopping() {
            drop(self.0.lock().fail("the thread that looks after the log has ended; restart".to_owned()));
        }
    }
}

fn run(shared: &Shared) {
    let _guard = FailAtEnd(shared);
    while !shared.is_stopping() {
        wait_for_work(shared);
        if shared.failure().is_err() {
            // The reason stays in the log's health until it works.
            let _ = shared.recover();
            continue;
        }
        // A failure is kept in the writer and seen in the next round.
        let _ = shared.sync();
        look_after(shared);
        // Small steps, so that the next record of this process need not wait.
        let _ = shared.lock().read_ahead(0);
    }
    // The last chance for what a failure has left open: who starts next finds it on the disk or not at all.
    let _ = shared.recover();
    let _ = shared.sync();
}

/// Returns when a sync is due, a retry is due, or it is time to look round.
fn wait_for_work(shared: &Shared) {
    let mut writer = shared.lock();
    let mut deadline = None;
    loop {
        if shared.is_stopping() || (writer.failure.is_none() && writer.has_waiters()) {
            return;
        }
        let patience = match (&writer.failure, writer.pending.is_empty()) {
            (Some(_), _) => RETRY_AFTER,
            (None, false) => SYNC_WITHIN,
            (None, true) => LOOK_EVERY,
        };
        let now = Instant::now();
        let due = now + patience;
        let until = *deadline.insert(deadline.map_or(due, |set: Instant| set.min(due)));
        if until <= now {
            return;
        }
        let waited = shared.wake.wait_timeout(writer, until - now);
        writer = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// What the log needs by age or size.
#[derive(PartialEq, Eq)]
enum Due {
    Nothing,
    Checkpoint,
    Rotation,
}

/// Checkpoints by age, rotation, the `head` file. What fails is due again in the next round.
fn look_after(shared: &Shared) {
    let found = what_is_due(shared, &shared.lock());
    match found {
        Due::Nothing => {}
        Due::Checkpoint => drop(sign(shared)),
        Due::Rotation => drop(shared.rotate_if(|writer| what_is_due(shared, writer) == Due::Rotation)),
    }
    shared.keep_head(false);
}

/// Signs what is there, unless another process has done it by now.
fn sign(shared: &Shared) -> Result<(), LogFault> {
    let mut writer = shared.writing()?;
    if what_is_due(shared, &writer) == Due::Checkpoint {
        writer.write_checkpoint(shared.now())?;
    }
    Ok(())
}

fn what_is_due(shared: &Shared, writer: &Writer) -> Due {
    let now = shared.now();
    let older =
        |since: Timestamp, age: Duration| now > since && now.duration_since(since).unsigned_abs() >= age;
    let options = &shared.options;
    let unsigned = writer.since_checkpoint > 0;
    if writer.length >= options.segment_bytes_max
        || unsigned && older(writer.segment_started, options.segment_age_max)
    {
        Due::Rotation
    } else if unsigned && older(writer.checkpoint_time, options.checkpoint_age_max) {
        Due::Checkpoint
    } else {
        Due::Nothing
    }
}
