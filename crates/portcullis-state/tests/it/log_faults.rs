//! A disk that fails: nothing is confirmed that is not there, and the log comes back by itself.

use std::sync::Arc;
use std::time::Duration;

use portcullis_state::log::*;

use crate::setup::*;

/// What a caller was told about one record.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Confirmed(String),
    Refused,
}

fn append(log: &DecisionLog, call: &Decision<'_>) -> Told {
    let ticket = log.append(at(0), &Entry::Decision(call));
    match ticket.and_then(Ticket::wait) {
        Ok(_) => Told::Confirmed(call.request.to_owned()),
        Err(_) => Told::Refused,
    }
}

/// A workload with all there is: Read, Write, rotation, snapshot, retention, end. Goes on after every fault.
fn work(log: DecisionLog) -> Vec<Told> {
    let mut told = Vec::new();
    let _ = log.rotate_now();
    for number in 0..6 {
        let request = format!("r{number}");
        let call = if number % 2 == 0 { write_call(&request) } else { read_call(&request) };
        told.push(append(&log, &call));
        if number == 3 {
            // Rotation and snapshots may fail; the records must not suffer.
            let _ = log.rotate_now();
            let _ = log.write_snapshot(log.position(), b"counters");
            // This one retires the first segment, which has no calls, now that the snapshot covers it.
            let _ = log.rotate_now();
        }
        while log.health().failure.is_some() {
            let _ = log.recover_now();
        }
    }
    let _ = log.close();
    told
}

fn confirmed(told: &[Told]) -> Vec<String> {
    let name = |told: &Told| match told {
        Told::Confirmed(request) => Some(request.clone()),
        Told::Refused => None,
    };
    told.iter().filter_map(name).collect()
}

fn check_everything_confirmed_is_there(place: &Place, told: &[Told], n: u64) {
    let stored = requests(place);
    for request in confirmed(told) {
        assert!(stored.contains(&request), "fault {n}: {request} was confirmed, log has {stored:?}");
    }
    let verified = verify(&place.log, Some(&key().public()));
    assert!(verified.is_ok(), "fault {n}: {verified:?}");
}

#[test]
fn any_single_operation_may_fail() {
    let mut faults_hit = 0;
    for n in 0.. {
        let place = place();
        let disk = FaultyDisk::default();
        let retention = Retention { segments_max: Some(2), age_max: None };
        let storage = Arc::new(disk.clone());
        let options = LogOptions { storage, retention, checkpoint_records: 3, ..quiet() };
        disk.fail_after(n, 1);
        let opened = DecisionLog::open(&place.log, key(), options.clone());
        let told = match opened {
            Ok((log, _)) => work(log),
            Err(_) => Vec::new(),
        };
        if disk.operations() <= n {
            assert!(confirmed(&told).len() == 6, "without a fault all six are taken: {told:?}");
            assert!(verify_ok(&place).from > 1, "without a fault the first segment is retired");
            break;
        }
        faults_hit += 1;
        // The log must open again, and go on.
        let log = open(&place, options);
        assert_eq!(append(&log, &write_call("after")), Told::Confirmed("after".into()));
        log.close().unwrap();
        check_everything_confirmed_is_there(&place, &told, n);
    }
    assert!(faults_hit > 30, "only {faults_hit} operations could fail");
}

#[test]
fn a_crash_while_failed_loses_nothing_confirmed() {
    for n in 0..40 {
        let place = place();
        let disk = FaultyDisk::default();
        let options = LogOptions { storage: Arc::new(disk.clone()), checkpoint_records: 3, ..quiet() };
        let log = open(&place, options.clone());
        disk.fail_after(n, 1_000_000);
        let mut told = Vec::new();
        for number in 0..12 {
            told.push(append(&log, &write_call(&format!("r{number}"))));
        }
        // Everything fails until the end: the log is dropped as a crash would leave it.
        drop(log);
        disk.fail_after(0, 0);
        let log = open(&place, options);
        log.close().unwrap();
        check_everything_confirmed_is_there(&place, &told, n);
    }
}

#[test]
fn a_full_disk_denies_and_recovers_without_a_restart() {
    let place = place();
    let disk = FaultyDisk::default();
    let options = LogOptions { storage: Arc::new(disk.clone()), ..quiet() };
    let log = open(&place, options);
    assert_eq!(append(&log, &write_call("before")), Told::Confirmed("before".into()));
    disk.set_full(true);
    // Long enough that what was left of it reaches beyond the records that follow.
    let long = "x".repeat(1000);
    let keys = [long.as_str(); 60];
    for class in [None, Some(RiskClass::Read), Some(RiskClass::Financial)] {
        let call = Decision {
            class,
            message: Some(&long),
            arguments: Arguments { keys: &keys, digest: None },
            ..write_call("meanwhile")
        };
        assert_eq!(append(&log, &call), Told::Refused);
    }
    assert!(log.health().failure.is_some());
    disk.set_full(false);
    // The keeper brings it back by itself.
    while log.health().failure.is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(append(&log, &write_call("after")), Told::Confirmed("after".into()));
    log.close().unwrap();
    assert_eq!(requests(&place), ["before", "after"]);
    let repair = records(&place).into_iter().find(|record| record.kind == "repair").unwrap();
    assert_eq!(repair.text("action"), Some("recovered"));
    verify_ok(&place);
}

#[test]
fn a_failed_sync_is_recorded_with_the_records_it_left_open() {
    let place = place();
    let disk = FaultyDisk::default();
    let log = open(&place, LogOptions { storage: Arc::new(disk.clone()), ..quiet() });
    disk.set_sync_broken(true);
    let ticket = log.append(at(0), &Entry::Decision(&write_call("w"))).unwrap();
    let sequence = ticket.position().sequence;
    assert!(ticket.wait().is_err());
    disk.set_sync_broken(false);
    while log.recover_now().is_err() {}
    log.close().unwrap();
    let repair = records(&place).into_iter().find(|record| record.kind == "repair").unwrap();
    assert_eq!(repair.number("unconfirmed_from"), Some(sequence));
    assert_eq!(repair.number("unconfirmed_to"), Some(sequence));
}

#[test]
fn a_log_changed_underneath_is_not_written_over() {
    let place = place();
    let disk = FaultyDisk::default();
    let log = open(&place, LogOptions { storage: Arc::new(disk.clone()), ..quiet() });
    assert_eq!(append(&log, &write_call("kept")), Told::Confirmed("kept".into()));
    let path = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("kept", "bent")).unwrap();
    disk.fail_after(0, 1);
    assert_eq!(append(&log, &write_call("next")), Told::Refused);
    assert!(log.recover_now().is_err());
    assert_eq!(append(&log, &write_call("next")), Told::Refused);
}
