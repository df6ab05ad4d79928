//! The few file operations that the log is made of, so that a test can make any one of them fail.
//!
//! `Disk` is the real thing. `FaultyDisk` wraps it and fails where it is told to; it is here, and not in
//! a test, because the tests of the gateway need a failing log as well. Only the log, the `head` file and
//! the counters' snapshot write through this.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where segments live.
pub trait Storage: Send + Sync + 'static {
    /// Opens a file for writing that must exist.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;
    /// Makes an empty file, readable by its owner only; what was there is gone.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;
    /// Moves a file over another one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes new names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// One open file.
pub trait StoredFile: Send + Sync {
    /// Writes all of `bytes` at `offset`, or fails with any part of them written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts or extends.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes the content durable.
    fn sync(&self) -> io::Result<()>;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Ok(Arc::new(OpenOptions::new().write(true).open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        Ok(Arc::new(options.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl StoredFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Replaces a file by another in one step that survives a power cut: either the old content or the new.
pub(crate) fn replace_file(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = path.with_extension("new");
    let file = storage.create(&beside)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    storage.rename(&beside, path)?;
    storage.sync_directory(directory)
}

/// A disk that fails when told to. For tests.
#[derive(Clone, Default)]
pub struct FaultyDisk {
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    operations: AtomicU64,
    /// Operations with a number in this range fail.
    failing: Mutex<std::ops::Range<u64>>,
    full: AtomicBool,
    sync_broken: AtomicBool,
}

impl FaultyDisk {
    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.faults.operations.load(Ordering::SeqCst)
    }

    /// From now on, the operations `after` to `after + count` (counted from 0) fail.
    pub fn fail_after(&self, after: u64, count: u64) {
        let start = self.operations() + after;
        let mut failing = self.faults.failing.lock().unwrap_or_else(PoisonError::into_inner);
        *failing = start..start + count;
    }

    /// While full, a write puts down half of what it was given and fails; creating fails.
    pub fn set_full(&self, full: bool) {
        self.faults.full.store(full, Ordering::SeqCst);
    }

    /// While broken, every sync fails, and what was not durable is lost.
    pub fn set_sync_broken(&self, broken: bool) {
        self.faults.sync_broken.store(broken, Ordering::SeqCst);
    }
}

impl Faults {
    fn next(&self) -> io::Result<()> {
        let number = self.operations.fetch_add(1, Ordering::SeqCst);
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if failing.contains(&number) {
            return Err(io::Error::other("injected fault"));
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }
}

struct FaultyFile {
    file: Arc<dyn StoredFile>,
    faults: Arc<Faults>,
    /// Bytes that a sync has made durable, and bytes written.
    synced: AtomicU64,
    end: AtomicU64,
}

impl FaultyFile {
    /// After a failed sync the system may drop what was not durable: it reads as zeros from then on.
    fn lose_unsynced(&self) -> io::Result<()> {
        let (start, end) = (self.synced.load(Ordering::SeqCst), self.end.load(Ordering::SeqCst));
        let lost = usize::try_from(end.saturating_sub(start)).unwrap_or_default();
        self.file.write_at(&vec![0; lost], start)
    }

    fn wrote(&self, bytes: &[u8], offset: u64) {
        self.end.fetch_max(offset + bytes.len() as u64, Ordering::SeqCst);
    }
}

impl FaultyDisk {
    fn wrap(&self, file: Arc<dyn StoredFile>, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        let length = path.metadata()?.len();
        Ok(Arc::new(FaultyFile {
            file,
            faults: self.faults.clone(),
            synced: AtomicU64::new(length),
            end: AtomicU64::new(length),
        }))
    }
}

impl Storage for FaultyDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.faults.next()?;
        self.wrap(Disk.open(path)?, path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.faults.next()?;
        if self.faults.is_full() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.wrap(Disk.create(path)?, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.next()?;
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.faults.next()?;
        Disk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.next()?;
        Disk.sync_directory(path)
    }
}

impl StoredFile for FaultyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
        let full = self.faults.is_full().then(|| io::ErrorKind::StorageFull.into());
        if let Some(error) = self.faults.next().err().or(full) {
            self.file.write_at(half, offset)?;
            return Err(error);
        }
        self.wrote(bytes, offset);
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.faults.next()?;
        self.end.store(len, Ordering::SeqCst);
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        let end = self.end.load(Ordering::SeqCst);
        let broken = self.faults.sync_broken.load(Ordering::SeqCst);
        let broken = broken.then(|| io::Error::other("injected sync fault"));
        if let Some(error) = self.faults.next().err().or(broken) {
            self.lose_unsynced()?;
            return Err(error);
        }
        self.file.sync()?;
        self.synced.store(end, Ordering::SeqCst);
        Ok(())
    }
}
