//! Counters come back from snapshot and log, and what is not covered is said.

use portcullis_state::log::*;

use crate::setup::*;

fn spend(log: &DecisionLog, second: i64, amount: &str) -> Position {
    let charges = [charge("p/spend/g_1", amount)];
    let decision = Decision { charges: &charges, ..write_call("r") };
    log.append(at(second), &Entry::Decision(&decision)).unwrap().wait().unwrap()
}

fn amounts(replay: Replay) -> Vec<(u64, String)> {
    let flat = |moved: Replayed| (moved.sequence, moved.charges[0].amount.clone());
    replay.map(|moved| flat(moved.unwrap())).collect()
}

#[test]
fn without_a_snapshot_everything_is_replayed() {
    let place = place();
    let log = open(&place, quiet());
    spend(&log, 1, "0.1");
    append_many(&log, 0, 3);
    let decision = spend(&log, 2, "0.2");
    let back = [charge("p/spend/g_1", "0.2")];
    let outcome = Outcome {
        decision: decision.sequence,
        ending: Ending::NotSent,
        given_back: &back,
        ..Outcome::default()
    };
    log.append(at(9), &Entry::Outcome(&outcome)).unwrap().wait().unwrap();
    let (snapshot, coverage, mut replay) = log.replay().unwrap();
    assert!(snapshot.is_none());
    assert_eq!(coverage, Coverage::Complete);
    let moved: Vec<Replayed> = replay.by_ref().map(Result::unwrap).collect();
    assert_eq!(moved.len(), 3);
    assert_eq!((moved[0].time, moved[0].charges[0].amount.as_str()), (at(1), "0.1"));
    assert_eq!(moved[2].movement, Movement::GivenBack { decision: decision.sequence });
    assert_eq!(replay.latest_time(), Some(at(9)));
}

#[test]
fn with_a_snapshot_only_what_came_after_is_replayed() {
    let place = place();
    let log = open(&place, quiet());
    spend(&log, 1, "1");
    let position = spend(&log, 2, "2");
    log.write_snapshot(position, b"three").unwrap();
    log.rotate_now().unwrap();
    let last = spend(&log, 3, "4");
    drop(log);
    let log = open(&place, quiet());
    let (snapshot, coverage, replay) = log.replay().unwrap();
    assert_eq!(snapshot.unwrap().payload, b"three");
    assert_eq!(coverage, Coverage::Complete);
    assert_eq!(amounts(replay), [(last.sequence, "4".to_owned())]);
}

#[test]
fn a_damaged_snapshot_is_none() {
    let place = place();
    let log = open(&place, quiet());
    let position = spend(&log, 1, "1");
    log.write_snapshot(position, b"payload").unwrap();
    let path = place.log.with_file_name("counters.snapshot");
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let (snapshot, coverage, replay) = log.replay().unwrap();
        assert!(snapshot.is_none(), "byte {at}");
        assert_eq!(coverage, Coverage::Complete);
        assert_eq!(amounts(replay).len(), 1);
    }
}

#[test]
fn what_snapshot_and_log_do_not_cover_is_said() {
    let place = place();
    let retention = Retention { segments_max: Some(0), age_max: None };
    let log = open(&place, LogOptions { retention, ..quiet() });
    let position = spend(&log, 1, "1");
    log.write_snapshot(position, b"one").unwrap();
    log.rotate_now().unwrap();
    spend(&log, 2, "2");
    log.write_snapshot(log.position(), b"three").unwrap();
    log.rotate_now().unwrap();
    let last = spend(&log, 3, "4");
    // The first segments are retired; only the snapshot knows of them.
    let first = segments(&place.log).unwrap().remove(0).first;
    assert!(first > 1);
    assert_eq!(amounts(log.replay().unwrap().2), [(last.sequence, "4".to_owned())]);
    std::fs::remove_file(place.log.with_file_name("counters.snapshot")).unwrap();
    let (snapshot, coverage, _) = log.replay().unwrap();
    assert!(snapshot.is_none());
    assert!(matches!(coverage, Coverage::Since { time, .. } if time == at(0)), "{coverage:?}");
}

#[test]
fn a_snapshot_of_another_log_does_not_count() {
    let (one, two) = (place(), place());
    let log = open(&one, quiet());
    let position = spend(&log, 1, "1");
    log.write_snapshot(position, b"other").unwrap();
    let snapshot = one.log.with_file_name("counters.snapshot");
    std::fs::copy(&snapshot, two.log.with_file_name("counters.snapshot")).unwrap();
    let log = open(&two, quiet());
    spend(&log, 1, "5");
    let (snapshot, coverage, replay) = log.replay().unwrap();
    assert!(snapshot.is_none());
    // It speaks of charges that nobody has seen here.
    assert!(matches!(coverage, Coverage::Since { time, .. } if time == at(0)), "{coverage:?}");
    assert_eq!(amounts(replay)[0].1, "5");
}

#[test]
fn a_log_with_a_hole_does_not_replay_as_one_with_fewer_charges() {
    let place = place();
    let log = open(&place, quiet());
    for second in 0..3 {
        spend(&log, second, "1");
        log.rotate_now().unwrap();
    }
    std::fs::remove_file(&segments(&place.log).unwrap()[1].path).unwrap();
    let (_, _, replay) = log.replay().unwrap();
    let last = replay.last().unwrap();
    assert!(matches!(last, Err(ReplayFault::Incomplete { .. })), "{last:?}");
}

/// Cuts everything behind the first `lines` of the first segment.
fn keep_lines(place: &Place, lines: usize) {
    let path = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: String = text.lines().take(lines).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, kept).unwrap();
}

#[test]
fn damage_that_was_accepted_is_told_at_every_later_start() {
    let place = place();
    let log = open(&place, quiet());
    let position = spend(&log, 1, "1");
    log.write_snapshot(position, b"one").unwrap();
    spend(&log, 2, "2");
    log.close().unwrap();
    keep_lines(&place, 2);
    let accept = LogOptions { accept_damage: true, clock: std::sync::Arc::new(|| at(77)), ..quiet() };
    open(&place, accept).close().unwrap();
    let log = open(&place, quiet());
    let (snapshot, _, mut replay) = log.replay().unwrap();
    assert!(snapshot.is_some(), "it belongs to what is left");
    assert_eq!(replay.by_ref().count(), 0);
    assert_eq!(replay.damaged(), Some(at(77)));
}

#[test]
fn a_snapshot_ahead_of_the_log_tells_that_charges_are_missing() {
    let place = place();
    let retention = Retention { segments_max: Some(0), age_max: None };
    let options = || LogOptions { retention, clock: std::sync::Arc::new(|| at(77)), ..quiet() };
    let log = open(&place, options());
    spend(&log, 1, "1");
    log.write_snapshot(spend(&log, 2, "2"), b"three").unwrap();
    log.close().unwrap();
    // As after a backup from before was put back: neither the records nor the kept checkpoint.
    keep_lines(&place, 2);
    std::fs::remove_file(place.log.join("head")).unwrap();
    let log = open(&place, options());
    let (snapshot, coverage, replay) = log.replay().unwrap();
    assert!(snapshot.is_none());
    assert!(matches!(coverage, Coverage::Since { time, .. } if time == at(77)), "{coverage:?}");
    assert_eq!(amounts(replay).len(), 1);
    log.rotate_now().unwrap();
    assert_eq!(segments(&place.log).unwrap()[0].first, 1, "nothing is retired on its word");
}
