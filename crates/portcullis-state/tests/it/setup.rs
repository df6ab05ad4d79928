//! A log in a temporary directory, and records to put into it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use portcullis_state::CheckpointKey;
use portcullis_state::log::*;

pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) struct Place {
    _guard: tempfile::TempDir,
    pub(crate) log: PathBuf,
}

/// A directory for a log, with room for the snapshot beside it.
pub(crate) fn place() -> Place {
    let guard = tempfile::tempdir().unwrap();
    let log = guard.path().join("log");
    std::fs::create_dir(&log).unwrap();
    Place { _guard: guard, log }
}

pub(crate) fn key() -> CheckpointKey {
    CheckpointKey::from_bytes(&KEY)
}

pub(crate) fn open(place: &Place, options: LogOptions) -> DecisionLog {
    DecisionLog::open(&place.log, key(), options).unwrap().0
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Options whose log does nothing by itself except syncing.
pub(crate) fn quiet() -> LogOptions {
    LogOptions { clock: Arc::new(|| at(0)), age_clock: Arc::new(|| at(0)), ..LogOptions::default() }
}

pub(crate) fn read_call<'a>(request: &'a str) -> Decision<'a> {
    Decision {
        request,
        grant: Some("g_1"),
        server: Some("pharo"),
        method: "tools/call",
        tool: Some("find"),
        class: Some(RiskClass::Read),
        verdict: Verdict::Allowed,
        ..Decision::default()
    }
}

pub(crate) fn write_call<'a>(request: &'a str) -> Decision<'a> {
    Decision { class: Some(RiskClass::Write), tool: Some("save"), ..read_call(request) }
}

pub(crate) fn charge(counter: &str, amount: &str) -> Charge {
    Charge { counter: counter.to_owned(), amount: amount.to_owned(), window_seconds: 60 }
}

/// Appends `count` Read decisions, numbered from `first`.
pub(crate) fn append_many(log: &DecisionLog, first: u64, count: u64) {
    for number in first..first + count {
        let request = format!("r{number}");
        let ticket = log.append(at(0), &Entry::Decision(&read_call(&request)));
        ticket.unwrap().wait().unwrap();
    }
}

/// All records of a log.
pub(crate) fn records(place: &Place) -> Vec<Stored> {
    let mut follower = Follower::open(&place.log, Begin::Start).unwrap();
    std::iter::from_fn(|| follower.next_record().unwrap()).map(|followed| followed.record).collect()
}

pub(crate) fn requests(place: &Place) -> Vec<String> {
    records(place).iter().filter_map(|record| record.text("request").map(str::to_owned)).collect()
}

pub(crate) fn verify_ok(place: &Place) -> Verified {
    verify(&place.log, Some(&key().public())).unwrap()
}

pub(crate) fn first_break(place: &Place) -> Break {
    match verify(&place.log, Some(&key().public())) {
        Err(VerifyFault::Broken(broken)) => *broken,
        other => panic!("expected a break, got {other:?}"),
    }
}
