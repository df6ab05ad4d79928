//! Every manipulation at every place of a log: `verify` names the file and the line. `log_tampered.rs` tells the
//! ways apart one by one; here none may be forgotten anywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portcullis_state::log::*;

use crate::setup::*;

/// A log as texts: lines by segment.
#[derive(Clone)]
struct Text {
    segments: Vec<(PathBuf, Vec<String>)>,
}

/// A line's segment and number in it, from 0.
#[derive(Clone, Copy, Debug)]
struct At {
    segment: usize,
    line: usize,
}

impl Text {
    fn of(place: &Place) -> Text {
        let read = |segment: Segment| {
            let text = std::fs::read_to_string(&segment.path).unwrap();
            (segment.path, text.lines().map(str::to_owned).collect())
        };
        Text { segments: segments(&place.log).unwrap().into_iter().map(read).collect() }
    }

    fn write(&self) {
        for (path, lines) in &self.segments {
            std::fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
    }

    fn lines(&mut self, at: At) -> &mut Vec<String> {
        &mut self.segments[at.segment].1
    }

    fn line(&self, at: At) -> &str {
        &self.segments[at.segment].1[at.line]
    }

    fn places(&self) -> Vec<At> {
        let of_segment = |(segment, (_, lines)): (usize, &(PathBuf, Vec<String>))| {
            (0..lines.len()).map(move |line| At { segment, line })
        };
        self.segments.iter().enumerate().flat_map(of_segment).collect()
    }

    /// The place behind this one; nothing at the end of the log.
    fn after(&self, at: At) -> Option<At> {
        let next = At { line: at.line + 1, ..at };
        if next.line < self.segments[at.segment].1.len() {
            return Some(next);
        }
        (at.segment + 1 < self.segments.len()).then_some(At { segment: at.segment + 1, line: 0 })
    }

    /// The number of the record at a place.
    fn sequence(&self, at: At) -> u64 {
        let (before, _) = self.segments.split_at(at.segment);
        before.iter().map(|(_, lines)| lines.len() as u64).sum::<u64>() + at.line as u64 + 1
    }

    fn is_checkpoint(&self, at: At) -> bool {
        self.line(at).contains("\"kind\":\"checkpoint\"")
    }
}

/// Three segments with checkpoints in between, closed in order.
fn a_log() -> Place {
    let place = place();
    let log = open(&place, LogOptions { checkpoint_records: 4, ..quiet() });
    for round in 0..3 {
        append_many(&log, round * 7, 7);
        if round < 2 {
            log.rotate_now().unwrap();
        }
    }
    log.close().unwrap();
    place
}

/// The same line, its hash made right again.
fn resealed(line: &str, change: impl Fn(&str) -> String) -> String {
    use sha2::Digest as _;
    let open = change(line.split(",\"hash\":").next().unwrap());
    let hash = sha2::Sha256::new()
        .chain_update(b"portcullis.decision-log.v1\n")
        .chain_update(open.as_bytes())
        .finalize();
    format!("{open},\"hash\":\"{}\"}}", data_encoding::HEXLOWER.encode(&hash))
}

/// The time is in every record, and no signature covers that of a checkpoint directly.
fn later(open: &str) -> String {
    let changed = open.replacen("\"time\":\"2027", "\"time\":\"2028", 1);
    assert_ne!(changed, open);
    changed
}

fn without_seal_change(line: &str) -> String {
    line.replacen("\"time\":\"2027", "\"time\":\"2028", 1)
}

/// Where a break must be found: in a segment's line, or in the `head` file.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Line(PathBuf, u64),
    Head,
}

fn found(place: &Place) -> (Found, Break) {
    let broken = first_break(place);
    let found = if broken.file == place.log.join("head") {
        Found::Head
    } else {
        Found::Line(broken.file.clone(), broken.line)
    };
    (found, broken)
}

/// Applies a manipulation at every place where it makes sense. It says where the break is to be found.
fn everywhere(name: &str, manipulate: impl Fn(&mut Text, At) -> Option<Found>) -> usize {
    let place = a_log();
    let whole = Text::of(&place);
    let mut tried = 0;
    for at in whole.places() {
        let mut text = whole.clone();
        let Some(expected) = manipulate(&mut text, at) else {
            continue;
        };
        text.write();
        let (found, broken) = found(&place);
        assert_eq!(found, expected, "{name} at {at:?}: {broken:?}");
        tried += 1;
        whole.write();
    }
    verify_ok(&place);
    assert!(tried > 20, "{name} was tried at {tried} places only");
    tried
}

/// The break shows at this place.
fn here(text: &Text, at: At) -> Found {
    Found::Line(text.segments[at.segment].0.clone(), at.line as u64 + 1)
}

/// The break shows behind the place; where that is the end, only the kept checkpoint can tell.
fn behind(text: &Text, at: At) -> Found {
    text.after(at).map_or(Found::Head, |next| here(text, next))
}

#[test]
fn a_change_is_named_at_every_place() {
    everywhere("a changed record", |text, at| {
        let changed = without_seal_change(text.line(at));
        text.lines(at)[at.line] = changed;
        Some(here(text, at))
    });
    everywhere("a changed record with its hash made right", |text, at| {
        let changed = resealed(text.line(at), later);
        text.lines(at)[at.line] = changed;
        Some(behind(text, at))
    });
    everywhere("a changed number", |text, at| {
        let (from, to) =
            (format!("\"seq\":{},", text.sequence(at)), format!("\"seq\":{},", text.sequence(at) + 1));
        let changed = resealed(text.line(at), |open| open.replacen(&from, &to, 1));
        text.lines(at)[at.line] = changed;
        // The very first may have any number: then its file has the wrong name.
        Some(here(text, at))
    });
    everywhere("an emptied line", |text, at| {
        text.lines(at)[at.line].clear();
        Some(here(text, at))
    });
    everywhere("a line cut in half", |text, at| {
        let line = &mut text.lines(at)[at.line];
        line.truncate(line.len() / 2);
        Some(here(text, at))
    });
}

#[test]
fn what_was_removed_inserted_or_moved_is_named_at_every_place() {
    everywhere("a deleted record", |text, at| {
        let last = at.line + 1 == text.segments[at.segment].1.len();
        text.lines(at).remove(at.line);
        match (last, at.segment + 1 == text.segments.len()) {
            (true, true) => Some(Found::Head),
            // A segment that ends without its checkpoint is named at its last line.
            (true, false) => Some(here(text, At { line: at.line - 1, ..at })),
            (false, _) => Some(here(text, at)),
        }
    });
    everywhere("a repeated record", |text, at| {
        let line = text.line(at).to_owned();
        text.lines(at).insert(at.line, line);
        Some(here(text, At { line: at.line + 1, ..at }))
    });
    everywhere("an inserted record that fits what is before it", |text, at| {
        let first = At { segment: 0, line: 1 };
        if at.line == 0 || text.is_checkpoint(at) {
            return None;
        }
        let before = text.line(At { line: at.line - 1, ..at });
        let hash = before.rsplit('"').nth(1).unwrap().to_owned();
        let forged = text.line(first).split("\"kind\":").nth(1).unwrap().split(",\"hash\":").next().unwrap();
        let forged = format!(
            "{{\"seq\":{},\"prev\":\"{hash}\",\"time\":\"2027-01-15T08:00:00.000000Z\",\"kind\":{forged}",
            text.sequence(at)
        );
        text.lines(at).insert(at.line, resealed(&forged, str::to_owned));
        Some(here(text, At { line: at.line + 1, ..at }))
    });
    everywhere("swapped records", |text, at| {
        let next = At { line: at.line + 1, ..at };
        if next.line >= text.segments[at.segment].1.len() {
            return None;
        }
        text.lines(at).swap(at.line, next.line);
        Some(here(text, at))
    });
    everywhere("everything cut off from here on", |text, at| {
        if at.segment + 1 == text.segments.len() {
            text.lines(at).truncate(at.line);
            let empty = text.segments[at.segment].1.is_empty();
            return Some(if empty {
                Found::Line(text.segments[at.segment].0.clone(), 0)
            } else {
                Found::Head
            });
        }
        // One that ends with a checkpoint is whole by itself: the next one does not continue it.
        let signed = at.line > 0 && text.is_checkpoint(At { line: at.line - 1, ..at });
        text.lines(at).truncate(at.line);
        let next = At { segment: at.segment + 1, line: 0 };
        let cut = Found::Line(text.segments[at.segment].0.clone(), at.line as u64);
        Some(if signed { here(text, next) } else { cut })
    });
}

#[test]
fn a_forged_checkpoint_is_named_at_every_place() {
    let place = a_log();
    let whole = Text::of(&place);
    let checkpoints: Vec<At> = whole.places().into_iter().filter(|at| whole.is_checkpoint(*at)).collect();
    assert!(checkpoints.len() >= 6);
    for at in &checkpoints {
        for other in &checkpoints {
            let mut text = whole.clone();
            // A real signature, of another place; or of this one, with a digit changed.
            let signature = |line: &str| line.split("\"signature\":\"").nth(1).unwrap()[..128].to_owned();
            let (own, theirs) = (signature(whole.line(*at)), signature(whole.line(*other)));
            let forged = if own == theirs { own.replacen(['0', '1'], "2", 1) } else { theirs };
            let line = resealed(whole.line(*at), |open| open.replace(&own, &forged));
            text.lines(*at)[at.line] = line;
            text.write();
            let (found, broken) = found(&place);
            assert_eq!((found, broken.what), (here(&text, *at), Broken::CheckpointForged), "{at:?}");
        }
    }
    whole.write();
    verify_ok(&place);
}

#[test]
fn swapped_missing_and_foreign_segments_are_named() {
    let (place, stranger) = (a_log(), a_log());
    let (whole, theirs) = (Text::of(&place), Text::of(&stranger));
    let count = whole.segments.len();
    for one in 0..count {
        for other in 0..count {
            let mut text = whole.clone();
            text.segments[one].1 = whole.segments[other].1.clone();
            text.segments[other].1 = whole.segments[one].1.clone();
            if one != other {
                text.write();
                let first = one.min(other);
                assert_eq!(found(&place).0, here(&text, At { segment: first, line: 0 }), "{one} and {other}");
            }
        }
        let mut text = whole.clone();
        text.segments[one].1 = theirs.segments[one].1.clone();
        text.write();
        let (found, broken) = found(&place);
        let next = At { segment: one.max(1), line: 0 };
        // A first segment of another log is sound by itself: the second does not continue it.
        assert_eq!(found, here(&text, next), "{broken:?}");
    }
    whole.write();
    for (path, lines) in &whole.segments {
        std::fs::remove_file(path).unwrap();
        first_break(&place);
        std::fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    verify_ok(&place);
}

/// The end is cut behind every checkpoint, and `head` is made to fit: only a copy kept elsewhere can tell, and does.
#[test]
fn an_end_cut_with_its_head_shows_against_a_checkpoint_kept_elsewhere() {
    let place = a_log();
    let whole = Text::of(&place);
    let elsewhere = place.log.with_file_name("kept-elsewhere");
    std::fs::copy(place.log.join("head"), &elsewhere).unwrap();
    let public = key().public();
    let newest = verify_ok(&place).to;
    for at in whole.places().into_iter().filter(|at| whole.is_checkpoint(*at)) {
        let last = whole.sequence(at);
        cut_behind(&place, &whole, at);
        assert_eq!(verify_ok(&place).to, last, "nothing on this machine tells");
        let told = verify_against(&place.log, Some(&public), std::slice::from_ref(&elsewhere));
        match told {
            Err(VerifyFault::Broken(broken)) => {
                assert_eq!(
                    (broken.file, broken.what),
                    (elsewhere.clone(), Broken::EndMissing { head: newest, last })
                );
            }
            held => assert!(last == newest && held.is_ok(), "{held:?}"),
        }
    }
    // A kept checkpoint that was changed, or is not there, is no proof of anything.
    whole.write();
    std::fs::write(&elsewhere, "{}").unwrap();
    assert!(verify_against(&place.log, Some(&public), std::slice::from_ref(&elsewhere)).is_err());
    std::fs::remove_file(&elsewhere).unwrap();
    assert!(verify_against(&place.log, Some(&public), &[elsewhere]).is_err());
}

fn cut_behind(place: &Place, whole: &Text, at: At) {
    let mut text = whole.clone();
    text.lines(at).truncate(at.line + 1);
    for (path, _) in text.segments.drain(at.segment + 1..) {
        let _ = std::fs::remove_file(path);
    }
    text.write();
    std::fs::write(place.log.join("head"), format!("{}\n", whole.line(at))).unwrap();
}

/// Nothing but the files of the log and the public key are needed.
#[test]
fn a_bare_copy_verifies_and_breaks_at_the_same_place() {
    let place = a_log();
    let copy = crate::setup::place();
    let files: BTreeMap<PathBuf, Vec<u8>> = contents(&place.log);
    for (path, content) in &files {
        std::fs::write(copy.log.join(path.file_name().unwrap()), content).unwrap();
    }
    assert_eq!(verify_ok(&copy), verify_ok(&place));
    for place in [&place, &copy] {
        let mut text = Text::of(place);
        let at = At { segment: 1, line: 3 };
        text.lines(at).remove(at.line);
        text.write();
    }
    let (here, there) = (first_break(&place), first_break(&copy));
    assert_eq!((here.line, here.sequence, here.what), (there.line, there.sequence, there.what));
    assert_eq!(here.file.file_name(), there.file.file_name());
}

fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
