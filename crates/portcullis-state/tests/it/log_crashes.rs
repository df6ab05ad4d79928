//! kill -9: this test binary starts itself again as a process that appends, and kills it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use portcullis_state::log::*;

use crate::setup::*;

const DIRECTORY: &str = "PORTCULLIS_TEST_APPEND_INTO";
const ROUNDS: u32 = 12;
const WRITERS: u64 = 4;

/// Not a test by itself: the process that gets killed. Prints what was confirmed, until it dies.
#[test]
fn the_process_that_appends() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let options = LogOptions { checkpoint_records: 50, segment_bytes_max: 64 << 10, ..LogOptions::default() };
    let (log, _) = DecisionLog::open(directory.as_ref(), key(), options).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &log;
            scope.spawn(move || append_for_ever(log, writer));
        }
    });
}

fn append_for_ever(log: &DecisionLog, writer: u64) {
    let started = log.position().sequence;
    for number in 0u64.. {
        let request = format!("{started}-{writer}-{number}");
        let call = if number % 3 == 0 { write_call(&request) } else { read_call(&request) };
        log.append(at(0), &Entry::Decision(&call)).unwrap().wait().unwrap();
        println!("confirmed {request}");
    }
}

fn start(place: &Place) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "log_crashes::the_process_that_appends", "--nocapture"])
        .env(DIRECTORY, &place.log)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets the process confirm `count` records, kills it, and returns all that it confirmed.
fn confirmed_before_death(place: &Place, count: usize) -> Vec<String> {
    let mut child = start(place);
    let mut confirmed = Vec::new();
    let mut killed = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap_or_default();
        confirmed.extend(line.strip_prefix("confirmed ").map(str::to_owned));
        if confirmed.len() >= count && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    child.wait().unwrap();
    assert!(killed, "the process ended by itself after {} records", confirmed.len());
    // The last line may have been cut in the middle by the death of the process.
    confirmed.pop();
    confirmed
}

#[test]
fn what_was_confirmed_survives_kill_9() {
    let place = place();
    let mut confirmed = Vec::new();
    for round in 0..ROUNDS {
        confirmed.extend(confirmed_before_death(&place, 40 + 23 * round as usize));
        let (log, _) = DecisionLog::open(&place.log, key(), quiet()).unwrap();
        drop(log);
        verify_ok(&place);
    }
    let stored: std::collections::HashSet<String> = requests(&place).into_iter().collect();
    let lost: Vec<_> = confirmed.iter().filter(|request| !stored.contains(*request)).collect();
    assert!(lost.is_empty(), "of {} confirmed records these are lost: {lost:?}", confirmed.len());
    assert!(confirmed.len() > 1000, "only {} records were confirmed", confirmed.len());
    assert!(verify_ok(&place).segments > 1, "the log never rotated");
}

#[test]
fn a_torn_tail_is_cut_at_any_byte_and_the_repair_recorded() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 3);
    drop(log);
    let path = Segment::in_directory(&place.log, 1).path;
    let whole = std::fs::read(&path).unwrap();
    let second_last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    for end in second_last..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let (log, opened) = DecisionLog::open(&place.log, key(), quiet()).unwrap();
        assert_eq!(opened.cut_bytes, (end - second_last) as u64);
        drop(log);
        assert_eq!(requests(&place), ["r0", "r1"], "cut at {end}");
        let repairs = verify_ok(&place).repairs;
        assert_eq!(repairs, u64::from(end > second_last));
    }
}

#[test]
fn garbage_behind_the_end_is_set_aside() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    drop(log);
    let path = Segment::in_directory(&place.log, 1).path;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(&[0; 4096]);
    bytes.extend_from_slice(b"\n{\"seq\":5}\n");
    std::fs::write(&path, &bytes).unwrap();
    let (log, opened) = DecisionLog::open(&place.log, key(), quiet()).unwrap();
    assert_eq!(opened.cut_bytes, 4096 + 11);
    drop(log);
    verify_ok(&place);
    let aside = std::fs::read_dir(&place.log).unwrap().map(|entry| entry.unwrap().path());
    let aside: Vec<_> = aside.filter(|path| path.extension().unwrap_or_default() == "bin").collect();
    assert_eq!(aside.len(), 1, "what was cut is kept: {aside:?}");
    assert_eq!(std::fs::read(&aside[0]).unwrap().len(), 4096 + 11);
}

#[test]
fn confirmed_records_that_are_gone_stop_the_start() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 5);
    log.close().unwrap();
    let path = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&path).unwrap();
    let shorter: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, shorter).unwrap();
    let refused = DecisionLog::open(&place.log, key(), quiet()).err().unwrap();
    assert!(refused.to_string().contains("the last good one is 3"), "{refused}");
    // The operator may decide to go on; the log says so.
    let accept = LogOptions { accept_damage: true, ..quiet() };
    let (log, opened) = DecisionLog::open(&place.log, key(), accept).unwrap();
    assert!(opened.damage.is_some());
    drop(log);
    // It is accepted once; the next start is an ordinary one.
    let log = open(&place, quiet());
    log.close().unwrap();
    assert_eq!(verify_ok(&place).repairs, 1);
}

#[test]
fn a_segment_that_was_only_begun_is_set_aside() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    log.rotate_now().unwrap();
    drop(log);
    let last = segments(&place.log).unwrap().pop().unwrap();
    for content in ["", "{\"seq\":"] {
        std::fs::write(&last.path, content).unwrap();
        let (log, opened) = DecisionLog::open(&place.log, key(), quiet()).unwrap();
        assert_eq!(opened.cut_bytes, content.len() as u64);
        drop(log);
        assert_eq!(segments(&place.log).unwrap().len(), 1);
        verify_ok(&place);
    }
}
