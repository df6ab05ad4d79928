//! The data directory: what is where, who may read it, who holds it.
//!
//! ```text
//! DIR/                     mode 0700
//!   format                 `portcullis-data 1`; written last, so a directory without it is unfinished
//!   lock                   held by the running gateway, or by any number of wraps; says who they are
//!   portcullis.sock        where the running gateway listens for commands
//!   state.db               grants, servers, policies (SQLite)
//!   pins.db                definitions of tools, as they were accepted (SQLite)
//!   index.db               the log's index (SQLite); can be deleted
//!   counters.snapshot      the counters as of one record
//!   keys/                  checkpoint.key, digest.key, sealing-1.key (mode 0600), checkpoint.pub
//!   log/                   segments, `head`, `cut-…` files of repairs, `append.lock` and `keep.lock` of wraps
//! ```
//!
//! A directory from a newer version is refused; nothing in it is touched.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;

use crate::StateFault;
use crate::holders;
use crate::keys::{CheckpointKey, DigestKey, PublicKey, create_key_file, read_key_file};
use crate::sealed::SealingKeys;

/// The newest format that this version reads.
pub const FORMAT: u32 = 1;

const FORMAT_WORD: &str = "portcullis-data ";
/// What an unfinished directory may contain.
const OUR_NAMES: [&str; 4] = ["keys", "log", "lock", "format.new"];

/// A data directory that is ours and readable.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// Opens the directory; makes it, with its keys, if it is not there or empty.
    pub fn open_or_create(path: &Path) -> Result<DataDirectory, StateFault> {
        let directory = DataDirectory { path: path.to_owned() };
        match directory.format()? {
            Some(found) if found > FORMAT => {
                Err(StateFault::Newer { path: path.to_owned(), found, known: FORMAT })
            }
            Some(_) => directory.check_rights().map(|()| directory),
            None => directory.create_once().map(|()| directory),
        }
    }

    fn format(&self) -> Result<Option<u32>, StateFault> {
        let path = self.path.join("format");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StateFault::file("read", &path, error)),
        };
        let number = text.trim_end().strip_prefix(FORMAT_WORD).and_then(|n| n.parse().ok());
        number.map(Some).ok_or(StateFault::NotOurs { path: self.path.clone() })
    }

    /// Nobody but the owner may look into it, and the owner is who runs this.
    fn check_rights(&self) -> Result<(), StateFault> {
        for path in [self.path.clone(), self.path.join("keys"), self.log()] {
            let metadata = fs::metadata(&path).map_err(|error| StateFault::file("read", &path, error))?;
            check_owner(&path, &metadata)?;
            if metadata.permissions().mode() & 0o077 != 0 {
                return Err(StateFault::TooOpen { path, wanted: "700" });
            }
        }
        Ok(())
    }

    /// Several processes may want the same new directory: one makes it, the others wait.
    fn create_once(&self) -> Result<(), StateFault> {
        // Looked at before anything is done to it: it may be somebody's home.
        if self.path.exists()
            && let Err(fault) = self.check_unused()
        {
            // Unless another process has made it since we looked.
            return self.format()?.map(drop).ok_or(fault);
        }
        self.make_private(&self.path)?;
        let lock = self.lock_file()?;
        holders::wait_to_make(&lock).map_err(|error| self.lock_fault(error))?;
        match self.format()? {
            Some(_) => Ok(()),
            None => self.create(),
        }
    }

    fn create(&self) -> Result<(), StateFault> {
        let keys = self.path.join("keys");
        self.make_private(&keys)?;
        self.make_private(&self.log())?;
        for name in ["checkpoint.key", "digest.key", "sealing-1.key"] {
            make_key(&keys.join(name))?;
        }
        let public = self.checkpoint_key()?.public();
        self.write("keys/checkpoint.pub", &format!("{public}\n"))?;
        self.write("format", &format!("{FORMAT_WORD}{FORMAT}\n"))
    }

    fn make_private(&self, path: &Path) -> Result<(), StateFault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        let mode = fs::Permissions::from_mode(0o700);
        made.and_then(|()| fs::set_permissions(path, mode))
            .map_err(|error| StateFault::file("make", path, error))
    }

    /// Only an empty directory, or one whose making was interrupted, becomes ours.
    fn check_unused(&self) -> Result<(), StateFault> {
        let metadata =
            fs::metadata(&self.path).map_err(|error| StateFault::file("read", &self.path, error))?;
        check_owner(&self.path, &metadata)?;
        let entries = fs::read_dir(&self.path);
        let entries = entries.map_err(|error| StateFault::file("read", &self.path, error))?;
        let ours = |name: &str| OUR_NAMES.contains(&name);
        for entry in entries.flatten() {
            if !entry.file_name().to_str().is_some_and(ours) {
                return Err(StateFault::NotOurs { path: self.path.clone() });
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), StateFault> {
        let path = self.path.join(name);
        crate::log::replace_file(&crate::log::Disk, &path, text.as_bytes())
            .map_err(|error| StateFault::file("write", &path, error))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The log's directory.
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// The log's index.
    pub fn index(&self) -> PathBuf {
        self.path.join("index.db")
    }

    /// The pins' database.
    pub fn pins(&self) -> PathBuf {
        self.path.join("pins.db")
    }

    /// The store's database.
    pub fn store(&self) -> PathBuf {
        self.path.join("state.db")
    }

    /// Where the running gateway listens for commands.
    pub fn socket(&self) -> PathBuf {
        self.path.join("portcullis.sock")
    }

    /// The key that signs checkpoints.
    pub fn checkpoint_key(&self) -> Result<CheckpointKey, StateFault> {
        CheckpointKey::read(&self.path.join("keys/checkpoint.key"))
    }

    /// The key that checks them. Keep a copy elsewhere: who can change the log can change this file.
    pub fn public_key(&self) -> Result<PublicKey, StateFault> {
        let path = self.path.join("keys/checkpoint.pub");
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| StateFault::file("read", &path, error))?;
        PublicKey::parse(&text).ok_or(StateFault::BadKeyFile { path })
    }

    /// The key that digests arguments.
    pub fn digest_key(&self) -> Result<DigestKey, StateFault> {
        DigestKey::read(&self.path.join("keys/digest.key"))
    }

    /// The keys that seal credentials.
    pub fn sealing_keys(&self) -> Result<SealingKeys, StateFault> {
        SealingKeys::read(&self.path.join("keys"))
    }

    /// Takes the directory for this process alone, until the lock is dropped or the process ends.
    pub fn lock(&self, purpose: &str, now: Timestamp) -> Result<DirectoryLock, StateFault> {
        let (file, fault) = (self.lock_file()?, |error| self.lock_fault(error));
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(holders::held(self)),
            Err(TryLockError::Error(error)) => return Err(fault(error)),
        }
        file.set_len(0).map_err(fault)?;
        holders::write(&file, &holders::alone(purpose, now)).map_err(fault)?;
        file.sync_all().map_err(fault)?;
        Ok(DirectoryLock { _file: file })
    }

    /// Takes the directory together with other processes that do the same, and keeps out those that want it
    /// alone.
    pub fn lock_shared(&self, purpose: &str, now: Timestamp) -> Result<DirectoryLock, StateFault> {
        let (file, fault) = (self.lock_file()?, |error| self.lock_fault(error));
        let begun = Instant::now();
        loop {
            match file.try_lock_shared() {
                Ok(()) => break,
                // A process that only looks whether the directory is made has it for a moment.
                Err(TryLockError::WouldBlock) => match holders::held(self) {
                    held if holders::is_passing(&held, begun) => std::thread::sleep(holders::MAKING_PAUSE),
                    held => return Err(held),
                },
                Err(TryLockError::Error(error)) => return Err(fault(error)),
            }
        }
        holders::write(&file, &holders::among_others(purpose, now)).map_err(fault)?;
        Ok(DirectoryLock { _file: file })
    }

    pub(crate) fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }

    fn lock_file(&self) -> Result<File, StateFault> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        options.open(self.lock_path()).map_err(|error| self.lock_fault(error))
    }

    fn lock_fault(&self, error: io::Error) -> StateFault {
        StateFault::file("lock", &self.lock_path(), error)
    }
}

/// A key that is there stays; one that was being made when the making was interrupted is made again.
fn make_key(path: &Path) -> Result<(), StateFault> {
    match read_key_file(path) {
        Err(StateFault::BadKeyFile { .. }) => {
            fs::remove_file(path).map_err(|error| StateFault::file("replace", path, error))?;
            create_key_file(path)
        }
        Err(_) if !path.exists() => create_key_file(path),
        found => found.map(drop),
    }
}

/// Whoever owns a directory can put something else in its place.
fn check_owner(path: &Path, metadata: &fs::Metadata) -> Result<(), StateFault> {
    // The system shows a process's own entry as its user's. Where there is none, rights must do.
    let Ok(own) = fs::metadata("/proc/self") else {
        return Ok(());
    };
    if metadata.uid() != own.uid() {
        return Err(StateFault::OtherOwner { path: path.to_owned(), owner: metadata.uid() });
    }
    Ok(())
}

/// The directory is this process's, alone or with others, while this lives. The system lets go when the
/// process ends, however.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}
