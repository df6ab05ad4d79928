//! Who holds the data directory, from the first byte to the last.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use portcullis_state::DataDirectory;
use portcullis_state::log::*;

use crate::setup::*;

/// Notes for each operation whether somebody else could have taken the directory.
struct Watching {
    directory: DataDirectory,
    taken: Arc<Mutex<Vec<bool>>>,
}

impl Watching {
    fn look(&self) {
        let free = self.directory.lock("other", at(0)).is_ok();
        self.taken.lock().unwrap().push(free);
    }
}

impl Storage for Watching {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.look();
        Disk.open(path)
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.look();
        Disk.create(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.look();
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.look();
        Disk.remove(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.look();
        Disk.sync_directory(path)
    }
}

#[test]
fn the_directory_is_held_until_the_log_is_closed() {
    let guard = tempfile::tempdir().unwrap();
    let directory = DataDirectory::open_or_create(&guard.path().join("data")).unwrap();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let storage = Arc::new(Watching { directory: directory.clone(), taken: taken.clone() });
    let lock = directory.lock("serve", at(0)).unwrap();
    let options = LogOptions { storage, ..quiet() };
    let (log, _) = DecisionLog::open(&directory.log(), key(), options).unwrap();
    let log = log.holding(lock);
    append_many(&log, 0, 2);
    log.close().unwrap();
    let taken = taken.lock().unwrap();
    assert!(taken.len() > 4, "closing writes the kept checkpoint: {taken:?}");
    assert!(!taken.contains(&true), "{taken:?}");
    drop(directory.lock("next", at(0)).unwrap());
}
