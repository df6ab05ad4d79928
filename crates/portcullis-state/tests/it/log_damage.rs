//! Damage: refused with nothing touched, accepted with everything accounted for. Torn tails are in
//! `log_crashes.rs`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use portcullis_state::log::*;

use crate::setup::*;

fn refused(place: &Place) -> String {
    match DecisionLog::open(&place.log, key(), quiet()) {
        Err(fault @ OpenFault::Damaged { .. }) => fault.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it must not be opened"),
    }
}

/// Every file with its content.
fn files(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(&place.log).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Refused with nothing touched; accepted once, it is an ordinary log again.
fn refused_until_accepted(place: &Place, told: &str) -> Opened {
    let before = files(place);
    let message = refused(place);
    assert!(message.contains(told), "{message}");
    assert_eq!(files(place), before, "a log that is refused is not changed");
    let accept = LogOptions { accept_damage: true, ..quiet() };
    let (log, opened) = DecisionLog::open(&place.log, key(), accept).unwrap();
    append_many(&log, 900, 1);
    log.close().unwrap();
    open(place, quiet()).close().unwrap();
    verify_ok(place);
    opened
}

/// A log of two records, closed in order.
fn two_records() -> Place {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    log.close().unwrap();
    place
}

/// Two segments with two records each, closed in order.
fn two_segments() -> Place {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    log.rotate_now().unwrap();
    append_many(&log, 2, 2);
    log.close().unwrap();
    place
}

fn first(place: &Place) -> PathBuf {
    segments(&place.log).unwrap()[0].path.clone()
}

/// Changes one byte of the line that contains `needle`.
fn bend(path: &Path, needle: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(needle));
    std::fs::write(path, text.replacen(needle, &needle.replace('r', "R"), 1)).unwrap();
}

#[test]
fn a_changed_record_with_good_ones_behind_it_is_no_torn_tail() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 6);
    drop(log);
    bend(&first(&place), "\"r2\"");
    let opened = refused_until_accepted(&place, "record 4 was changed, the last good one is 3");
    assert!(opened.cut_bytes > 0);
    assert_eq!(requests(&place), ["r0", "r1", "r900"]);
}

#[test]
fn a_changed_last_record_is_no_torn_tail() {
    for needle in ["\"r2\"", "\"}\n{\"seq\":4"] {
        let place = place();
        let log = open(&place, quiet());
        append_many(&log, 0, 3);
        drop(log);
        let path = first(&place);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(needle));
        std::fs::write(&path, text.replacen(needle, &needle.replace(['r', '\n'], "x"), 1)).unwrap();
        refused_until_accepted(&place, "was changed");
    }
}

#[test]
fn a_segment_whose_first_record_was_changed_stays_until_damage_is_accepted() {
    let place = two_segments();
    bend(&segments(&place.log).unwrap()[1].path, "checkpoint_records");
    refused_until_accepted(&place, "the first record of the last segment was changed");
    assert_eq!(requests(&place), ["r0", "r1", "r900"]);
}

#[test]
fn a_broken_link_between_segments_can_be_accepted() {
    let place = two_segments();
    let text = std::fs::read_to_string(first(&place)).unwrap();
    let shorter: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(first(&place), shorter).unwrap();
    let opened = refused_until_accepted(&place, "does not continue the one before");
    assert!(opened.damage.is_some());
    assert_eq!(requests(&place), ["r0", "r900"]);
}

#[test]
fn an_unreadable_head_can_be_accepted() {
    let place = two_records();
    std::fs::write(place.log.join("head"), "nothing").unwrap();
    refused_until_accepted(&place, "the `head` file is unreadable");
    assert_eq!(requests(&place), ["r0", "r1", "r900"]);
}

#[test]
fn a_log_without_segments_can_be_accepted() {
    let place = two_records();
    std::fs::remove_file(first(&place)).unwrap();
    refused_until_accepted(&place, "all segments are missing");
    assert_eq!(requests(&place), ["r900"]);
}

#[test]
fn the_rest_of_a_failed_rotation_is_set_aside() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    log.rotate_now().unwrap();
    log.close().unwrap();
    // The rotation is undone, the first segment goes on, and the second comes back.
    let second = segments(&place.log).unwrap()[1].path.clone();
    let text = std::fs::read_to_string(&second).unwrap();
    let header = format!("{}\n", text.lines().next().unwrap());
    std::fs::remove_file(&second).unwrap();
    let whole = std::fs::read(first(&place)).unwrap();
    std::fs::write(place.log.join("head"), last_line(&whole)).unwrap();
    let log = open(&place, quiet());
    append_many(&log, 2, 2);
    drop(log);
    std::fs::write(&second, &header).unwrap();
    let (log, opened) = DecisionLog::open(&place.log, key(), quiet()).unwrap();
    assert_eq!((opened.cut_bytes, opened.damage), (header.len() as u64, None));
    log.close().unwrap();
    assert_eq!(requests(&place), ["r0", "r1", "r2", "r3"]);
    verify_ok(&place);
}

fn last_line(text: &[u8]) -> Vec<u8> {
    let end = text.len() - 1;
    let start = text[..end].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    text[start..].to_vec()
}

#[test]
fn nothing_is_taken_while_the_rest_of_a_failed_rotation_is_there() {
    let place = place();
    let disk = FaultyDisk::default();
    let log = open(&place, LogOptions { storage: Arc::new(disk.clone()), ..quiet() });
    append_many(&log, 0, 2);
    log.sync_now().unwrap();
    // Checkpoint, sync, create; then the write of the first record and the removal fail.
    disk.fail_after(3, 2);
    assert!(log.rotate_now().is_err());
    // The keeper removes it in its own time; nothing is taken before.
    while log.append(at(0), &Entry::Decision(&read_call("r2"))).is_err() {}
    assert_eq!(segments(&place.log).unwrap().len(), 1);
    log.close().unwrap();
    open(&place, quiet()).close().unwrap();
    assert_eq!(requests(&place), ["r0", "r1", "r2"]);
    verify_ok(&place);
}

/// A disk that notes where it is written to.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<(u64, u64)>>>);

struct NotingFile(Noting, Arc<dyn StoredFile>);

impl StoredFile for NotingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.0.lock().unwrap().push((offset, offset + bytes.len() as u64));
        self.1.write_at(bytes, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.1.set_len(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.sync()
    }
}

impl Storage for Noting {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Ok(Arc::new(NotingFile(self.clone(), Disk.open(path)?)))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Disk.create(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Disk.sync_directory(path)
    }
}

/// A sync that failed may have marked what it did not write as written: the next sync says nothing.
#[test]
fn what_no_checkpoint_vouches_for_is_written_again_at_the_start() {
    let place = two_records();
    let vouched = first(&place).metadata().unwrap().len();
    let log = open(&place, quiet());
    append_many(&log, 2, 2);
    drop(log);
    let whole = first(&place).metadata().unwrap().len();
    let disk = Noting::default();
    drop(open(&place, LogOptions { storage: Arc::new(disk.clone()), ..quiet() }));
    assert_eq!(disk.0.lock().unwrap().first(), Some(&(vouched, whole)));
    assert_eq!(requests(&place), ["r0", "r1", "r2", "r3"]);
}

#[test]
fn a_failed_log_is_tried_once_more_when_it_is_closed() {
    let place = place();
    let disk = FaultyDisk::default();
    let log = open(&place, LogOptions { storage: Arc::new(disk.clone()), ..quiet() });
    append_many(&log, 0, 1);
    log.sync_now().unwrap();
    disk.set_sync_broken(true);
    assert!(log.append(at(0), &Entry::Decision(&write_call("w"))).unwrap().wait().is_err());
    disk.set_sync_broken(false);
    log.close().unwrap();
    assert_eq!(requests(&place), ["r0", "w"]);
    verify_ok(&place);
}
