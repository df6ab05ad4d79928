//! The data directory: rights, lock, versions, keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use portcullis_state::log::{DecisionLog, LogOptions, verify};
use portcullis_state::{DataDirectory, PublicKey, StateFault};

use crate::setup::at;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn fault(path: &Path) -> StateFault {
    DataDirectory::open_or_create(path).unwrap_err()
}

#[test]
fn everything_is_for_its_owner_only() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    let directory = DataDirectory::open_or_create(&path).unwrap();
    let key = directory.checkpoint_key().unwrap();
    let (log, _) = DecisionLog::open(&directory.log(), key, LogOptions::default()).unwrap();
    log.write_snapshot(log.position(), b"x").unwrap();
    log.close().unwrap();
    portcullis_state::store::Store::open(&directory).unwrap();
    let _lock = directory.lock("serve", at(0)).unwrap();
    for folder in ["", "keys", "log"] {
        assert_eq!(mode(&path.join(folder)), 0o700, "{folder}");
    }
    for folder in ["", "keys", "log"] {
        for entry in fs::read_dir(path.join(folder)).unwrap() {
            let entry = entry.unwrap().path();
            assert_eq!(mode(&entry) & 0o077, 0, "{}", entry.display());
        }
    }
    let public = directory.public_key().unwrap();
    verify(&directory.log(), Some(&public)).unwrap();
    assert_eq!(PublicKey::parse(&public.to_string()), Some(public));
}

#[test]
fn opening_again_finds_the_same_keys() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    let one = DataDirectory::open_or_create(&path).unwrap().checkpoint_key().unwrap().public();
    let two = DataDirectory::open_or_create(&path).unwrap().checkpoint_key().unwrap().public();
    assert_eq!(one, two);
}

#[test]
fn a_newer_or_foreign_directory_is_refused_untouched() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    DataDirectory::open_or_create(&path).unwrap();
    fs::write(path.join("format"), "portcullis-data 2\n").unwrap();
    assert!(matches!(fault(&path), StateFault::Newer { found: 2, known: 1, .. }));
    fs::write(path.join("format"), "something else").unwrap();
    assert!(matches!(fault(&path), StateFault::NotOurs { .. }));

    let foreign = temporary.path().join("home");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.txt"), "important").unwrap();
    assert!(matches!(fault(&foreign), StateFault::NotOurs { .. }));
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
}

#[test]
fn somebody_elses_directory_keeps_its_rights() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("home");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter"), "dear").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(fault(&path), StateFault::NotOurs { .. }));
    assert_eq!(mode(&path), 0o755);
}

#[test]
fn a_group_that_may_look_inside_is_refused_at_every_level() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    DataDirectory::open_or_create(&path).unwrap();
    for folder in ["", "keys", "log"] {
        let folder = path.join(folder);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(fault(&path), StateFault::TooOpen { .. }), "{}", folder.display());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    DataDirectory::open_or_create(&path).unwrap();
}

#[test]
fn an_interrupted_making_leaves_nothing_that_stands_in_the_way() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    fs::create_dir_all(path.join("keys")).unwrap();
    fs::write(path.join("format.new"), "port").unwrap();
    fs::write(path.join("keys/digest.key"), "").unwrap();
    fs::set_permissions(path.join("keys/digest.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let directory = DataDirectory::open_or_create(&path).unwrap();
    directory.digest_key().unwrap();
    DataDirectory::open_or_create(&path).unwrap();
}

#[test]
fn an_interrupted_start_is_finished_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    let directory = DataDirectory::open_or_create(&path).unwrap();
    let key = directory.checkpoint_key().unwrap().public();
    fs::remove_file(path.join("format")).unwrap();
    fs::remove_file(path.join("keys/digest.key")).unwrap();
    let directory = DataDirectory::open_or_create(&path).unwrap();
    directory.digest_key().unwrap();
    assert_eq!(directory.checkpoint_key().unwrap().public(), key);
}

#[test]
fn a_key_that_is_missing_or_open_to_others_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    let directory = DataDirectory::open_or_create(&path).unwrap();
    let key = path.join("keys/digest.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(directory.digest_key().err(), Some(StateFault::TooOpen { .. })));
    fs::remove_file(&key).unwrap();
    let directory = DataDirectory::open_or_create(&path).unwrap();
    assert!(directory.digest_key().is_err(), "a lost key is not replaced");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(fault(&path), StateFault::TooOpen { .. }));
}

#[test]
fn the_second_one_hears_who_holds_the_directory() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = DataDirectory::open_or_create(&temporary.path().join("data")).unwrap();
    let lock = directory.lock("serve", at(0)).unwrap();
    let refused = directory.lock("grant create", at(5)).unwrap_err();
    let text = refused.to_string();
    let pid = format!("process {}", std::process::id());
    for part in [pid.as_str(), "serve", "2027-01-15T08:00:00Z", "portcullis.sock"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    drop(lock);
    directory.lock("grant create", at(5)).unwrap();
}

#[test]
fn many_share_a_directory_and_keep_out_who_wants_it_alone() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("data");
    let made: Vec<DataDirectory> = std::thread::scope(|scope| {
        let makers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| DataDirectory::open_or_create(&path).unwrap())).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    let directory = made.first().unwrap();
    // One that ended alone is not in the way.
    drop(directory.lock("serve", at(0)).unwrap());
    let shared: Vec<_> = made.iter().map(|one| one.lock_shared("wrap notes", at(1)).unwrap()).collect();
    let pid = std::process::id().to_string();
    match directory.lock("serve", at(2)).unwrap_err() {
        StateFault::HeldByWraps { holders, .. } => {
            assert!(holders.contains(&pid) && holders.contains("wrap notes"), "{holders}");
        }
        other => panic!("{other}"),
    }
    drop(shared);
    let alone = directory.lock("serve", at(3)).unwrap();
    match directory.lock_shared("wrap notes", at(4)).unwrap_err() {
        StateFault::Held { purpose, .. } => assert_eq!(purpose, "serve"),
        other => panic!("{other}"),
    }
    drop(alone);
}

#[test]
fn a_process_that_only_looks_whether_the_directory_is_made_keeps_nobody_out() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = DataDirectory::open_or_create(&temporary.path().join("data")).unwrap();
    drop(directory.lock_shared("wrap one", at(1)).unwrap());
    // As the making does: the lock, and no line.
    let looking = fs::OpenOptions::new().append(true).open(directory.path().join("lock")).unwrap();
    looking.lock().unwrap();
    let waiting = std::thread::spawn(move || directory.lock_shared("wrap two", at(2)).map(drop));
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(looking);
    waiting.join().unwrap().unwrap();
}
