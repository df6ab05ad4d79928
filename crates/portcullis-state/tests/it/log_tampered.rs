//! Tampering: each way to change the log is found, and the place is named.

use portcullis_state::CheckpointKey;
use portcullis_state::log::*;

use crate::setup::*;

/// Three segments with checkpoints in between, closed in order.
fn a_log() -> Place {
    let place = place();
    let log = open(&place, LogOptions { checkpoint_records: 5, ..quiet() });
    for round in 0..3 {
        append_many(&log, round * 10, 10);
        if round < 2 {
            log.rotate_now().unwrap();
        }
    }
    log.close().unwrap();
    place
}

fn lines(segment: &Segment) -> Vec<String> {
    let text = std::fs::read_to_string(&segment.path).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn put(segment: &Segment, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&segment.path, text).unwrap();
}

/// Changes the second segment and returns the first break.
fn tamper(change: impl Fn(&mut Vec<String>)) -> Break {
    let place = a_log();
    let second = segments(&place.log).unwrap().remove(1);
    let mut content = lines(&second);
    change(&mut content);
    put(&second, &content);
    let broken = first_break(&place);
    assert!(broken.before.segments == 1, "the first segment holds: {broken:?}");
    broken
}

/// The same record with its hash made right again, as a careful forger would.
fn resealed(line: &str, from: &str, to: &str) -> String {
    use sha2::Digest as _;
    let open = line.split(",\"hash\":").next().unwrap().replace(from, to);
    let hash = sha2::Sha256::new()
        .chain_update(b"portcullis.decision-log.v1\n")
        .chain_update(open.as_bytes())
        .finalize();
    format!("{open},\"hash\":\"{}\"}}", data_encoding::HEXLOWER.encode(&hash))
}

#[test]
fn an_untouched_log_holds_and_says_what_was_verified() {
    let place = a_log();
    let verified = verify_ok(&place);
    assert_eq!(verified.segments, 3);
    assert_eq!((verified.from, verified.to), (1, verified.records));
    assert!(verified.checkpoints >= 6, "{verified:?}");
    assert_eq!(verified.unsigned_tail, 0);
    assert_eq!(verified.head, Head::Reached(verified.to));
    let unkeyed = verify(&place.log, None).unwrap();
    assert_eq!((unkeyed.checkpoints, unkeyed.checkpoints_unchecked), (0, verified.checkpoints));
    // A copy elsewhere verifies the same.
    let copy = crate::setup::place();
    for entry in std::fs::read_dir(&place.log).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.log.join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(verify_ok(&copy), verified);
}

#[test]
fn a_changed_record_is_named() {
    let broken = tamper(|lines| lines[3] = lines[3].replace("allowed", "Allowed"));
    assert_eq!(broken.line, 4);
    assert_eq!(broken.what, Broken::NotARecord(NotARecord::HashWrong));
    for field in ["\"seq\":", "\"time\":\"2027", "g_1", "pharo"] {
        let broken = tamper(|lines| lines[3] = lines[3].replace(field, &field.to_uppercase()));
        assert_eq!(broken.line, if field.to_uppercase() == field { 0 } else { 4 }, "{field}");
    }
}

#[test]
fn any_changed_byte_is_found() {
    let place = a_log();
    let second = segments(&place.log).unwrap().remove(1);
    let whole = std::fs::read(&second.path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&second.path, &bytes).unwrap();
        first_break(&place);
    }
}

#[test]
fn a_changed_record_with_a_right_hash_is_found_at_the_next_one() {
    let broken = tamper(|lines| lines[3] = resealed(&lines[3], "allowed", "denied"));
    assert_eq!((broken.line, broken.what), (5, Broken::PreviousReplaced));
}

#[test]
fn a_rewritten_rest_is_found_at_the_next_checkpoint() {
    let broken = tamper(|lines| {
        let mut changed = resealed(&lines[1], "allowed", "denied");
        for at in 2..lines.len() {
            let old_hash = lines[at - 1].rsplit('"').nth(1).unwrap().to_owned();
            let new_hash = changed.rsplit('"').nth(1).unwrap().to_owned();
            lines[at - 1] = changed;
            changed = resealed(&lines[at], &old_hash, &new_hash);
        }
        *lines.last_mut().unwrap() = changed;
    });
    assert_eq!(broken.what, Broken::CheckpointForged);
}

#[test]
fn a_deleted_record_is_named() {
    let broken = tamper(|lines| drop(lines.remove(3)));
    let sequence = broken.sequence.unwrap();
    assert_eq!(broken.line, 4);
    assert_eq!(broken.what, Broken::Missing { expected: sequence, found: sequence + 1 });
}

#[test]
fn an_inserted_record_is_found() {
    let broken = tamper(|lines| lines.insert(3, lines[3].clone()));
    assert_eq!(broken.line, 5);
    assert!(matches!(broken.what, Broken::OutOfPlace { .. }), "{broken:?}");
}

#[test]
fn swapped_records_are_found() {
    let broken = tamper(|lines| lines.swap(3, 4));
    assert_eq!(broken.line, 4);
    assert!(matches!(broken.what, Broken::Missing { .. }), "{broken:?}");
}

#[test]
fn a_truncated_line_is_found() {
    let place = a_log();
    let second = segments(&place.log).unwrap().remove(1);
    let bytes = std::fs::read(&second.path).unwrap();
    std::fs::write(&second.path, &bytes[..bytes.len() - 10]).unwrap();
    assert_eq!(first_break(&place).what, Broken::Torn);
}

#[test]
fn a_closed_segment_that_lost_its_end_is_found() {
    let broken = tamper(|lines| lines.truncate(lines.len() - 1));
    assert_eq!(broken.what, Broken::UnsignedEnd);
}

#[test]
fn swapped_segments_are_found() {
    let place = a_log();
    let found = segments(&place.log).unwrap();
    let (first, second) = (lines(&found[0]), lines(&found[1]));
    put(&found[0], &second);
    put(&found[1], &first);
    let broken = first_break(&place);
    assert_eq!(broken.file, found[0].path);
    assert!(matches!(broken.what, Broken::WrongName { named: 1, .. }), "{broken:?}");
}

#[test]
fn a_missing_segment_is_found() {
    for (index, name) in ["the first", "one between", "the last"].into_iter().enumerate() {
        let place = a_log();
        let found = segments(&place.log).unwrap();
        std::fs::remove_file(&found[index].path).unwrap();
        let what = first_break(&place).what;
        match index {
            0 => assert_eq!(what, Broken::BeginningMissing { first: found[1].first }, "{name}"),
            1 => assert!(matches!(what, Broken::Missing { .. }), "{name}: {what:?}"),
            _ => assert!(matches!(what, Broken::EndMissing { .. }), "{name}: {what:?}"),
        }
    }
}

#[test]
fn a_cut_tail_shows_against_the_kept_checkpoint() {
    let place = a_log();
    let last = segments(&place.log).unwrap().pop().unwrap();
    let mut content = lines(&last);
    content.truncate(content.len() - 3);
    put(&last, &content);
    let broken = first_break(&place);
    assert!(matches!(broken.what, Broken::EndMissing { .. }), "{broken:?}");
    // Without `head` the cut cannot be seen, and the result says that nothing vouches for the end.
    std::fs::remove_file(place.log.join("head")).unwrap();
    let verified = verify_ok(&place);
    assert_eq!(verified.head, Head::Absent);
    assert!(verified.unsigned_tail > 0);
}

#[test]
fn a_checkpoint_by_another_key_is_forged() {
    let place = a_log();
    let other = CheckpointKey::from_bytes(&[8; 32]).public();
    match verify(&place.log, Some(&other)) {
        Err(VerifyFault::Broken(broken)) => assert_eq!(broken.what, Broken::CheckpointForged),
        result => panic!("{result:?}"),
    }
}

#[test]
fn removed_checkpoints_are_missed() {
    // A forger without the key rewrites the whole log and leaves the checkpoints out.
    let place = place();
    let log = open(&place, LogOptions { checkpoint_records: u32::MAX, ..quiet() });
    append_many(&log, 0, 200);
    drop(log);
    let first = segments(&place.log).unwrap().remove(0);
    let mut content = lines(&first);
    let mut changed = resealed(&content[0], "4294967295", "5");
    for at in 1..content.len() {
        let old_hash = content[at - 1].rsplit('"').nth(1).unwrap().to_owned();
        let new_hash = changed.rsplit('"').nth(1).unwrap().to_owned();
        content[at - 1] = changed;
        changed = resealed(&content[at], &old_hash, &new_hash);
    }
    *content.last_mut().unwrap() = changed;
    put(&first, &content);
    assert_eq!(first_break(&place).what, Broken::CheckpointMissing { every: 5 });
}

#[test]
fn a_forged_head_is_found() {
    let place = a_log();
    let head = place.log.join("head");
    let text = std::fs::read_to_string(&head).unwrap();
    std::fs::write(&head, text.replace("\"covers\":", "\"covers\":1")).unwrap();
    assert_eq!(first_break(&place).what, Broken::HeadForged);
}

#[test]
fn a_segment_of_another_log_is_found() {
    let (one, two) = (a_log(), a_log());
    let (ours, theirs) = (segments(&one.log).unwrap(), segments(&two.log).unwrap());
    std::fs::copy(&theirs[1].path, &ours[1].path).unwrap();
    let broken = first_break(&one);
    assert_eq!((broken.file, broken.line), (ours[1].path.clone(), 1));
}

/// Anybody can append a record with the right hash; only the gateway can sign.
#[test]
fn a_beginning_that_only_an_unsigned_record_explains_is_missing() {
    let place = place();
    let retention = Retention { segments_max: Some(0), age_max: None };
    let log = open(&place, LogOptions { retention, ..quiet() });
    append_many(&log, 0, 2);
    log.rotate_now().unwrap();
    append_many(&log, 2, 2);
    log.write_snapshot(log.position(), b"").unwrap();
    log.rotate_now().unwrap();
    log.close().unwrap();
    assert!(verify_ok(&place).from > 1, "what the gateway retired is explained");
    let kept = segments(&place.log).unwrap().pop().unwrap().path;
    let text = std::fs::read_to_string(&kept).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let retired = lines.iter().position(|line| line.contains("\"kind\":\"retention\"")).unwrap();
    assert!(lines[retired + 1].contains("\"kind\":\"checkpoint\""), "signed before anything goes");
    // Everything behind the record is gone, the kept checkpoint too: nobody vouches for it any more.
    let cut: String = lines[..=retired].iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&kept, cut).unwrap();
    std::fs::remove_file(place.log.join("head")).unwrap();
    assert!(matches!(first_break(&place).what, Broken::BeginningMissing { .. }));
}
