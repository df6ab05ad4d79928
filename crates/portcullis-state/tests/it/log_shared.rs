//! Several processes, one log: this test binary starts itself again as processes that append.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use portcullis_state::log::*;

use crate::setup::*;

const DIRECTORY: &str = "PORTCULLIS_TEST_SHARE";
const MAX: &str = "PORTCULLIS_TEST_SHARE_MAX";
const PROCESSES: usize = 5;

/// A log that is shared, and a counter that hears of what others charge: as the gateway's ledger does.
struct Member {
    log: DecisionLog,
    charged: Arc<AtomicU64>,
}

fn options() -> LogOptions {
    LogOptions { checkpoint_records: 50, segment_bytes_max: 32 << 10, ..LogOptions::default() }
}

fn join(directory: &Path, options: LogOptions) -> Member {
    let joining = DecisionLog::joining(directory, key(), options).unwrap();
    let kept = joining
        .snapshot
        .as_ref()
        .map_or(0, |kept| std::str::from_utf8(&kept.payload).unwrap().parse().unwrap());
    let charged = Arc::new(AtomicU64::new(kept));
    let mut joining = joining;
    for moved in joining.replay.take().into_iter().flatten() {
        count(&charged, &moved.unwrap());
    }
    let heard = charged.clone();
    let log = joining
        .join(Box::new(move |moved| {
            count(&heard, &moved);
            Ok(())
        }))
        .unwrap();
    Member { log, charged }
}

fn count(charged: &AtomicU64, moved: &Replayed) {
    match moved.movement {
        Movement::Charged => charged.fetch_add(1, Ordering::SeqCst),
        Movement::GivenBack { .. } => charged.fetch_sub(1, Ordering::SeqCst),
        Movement::Forgotten => panic!("nothing was forgotten"),
    };
}

enum Refused {
    Over,
    Log(LogFault),
}

impl From<LogFault> for Refused {
    fn from(fault: LogFault) -> Refused {
        Refused::Log(fault)
    }
}

impl Member {
    /// Admits a call under a limit of `max`, as one step with its record.
    fn admit(&self, request: &str, max: u64, class: RiskClass) -> Result<Position, Refused> {
        let charges = [charge("c", "1")];
        let decision = Decision { charges: &charges, class: Some(class), ..read_call(request) };
        let ticket = self.log.append_if(&Entry::Decision(&decision), || {
            if self.charged.load(Ordering::SeqCst) >= max {
                return Err(Refused::Over);
            }
            self.charged.fetch_add(1, Ordering::SeqCst);
            Ok(at(0))
        })?;
        Ok(ticket.wait()?)
    }

    fn snapshot(&self) {
        // What others charged up to here is known once this process has had its turn.
        let charged = || self.charged.load(Ordering::SeqCst);
        append_many(&self.log, 0, 1);
        let (position, payload) = (self.log.position(), charged());
        self.log.write_snapshot(position, payload.to_string().as_bytes()).unwrap();
    }
}

/// Not a test by itself: one of the processes. Admits calls until the limit is reached, and prints each.
#[test]
fn the_process_that_shares() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let max: u64 = std::env::var(MAX).unwrap().parse().unwrap();
    let member = join(directory.as_ref(), options());
    let pid = std::process::id();
    for number in 0u64.. {
        let class = if number % 4 == 0 { RiskClass::Write } else { RiskClass::Read };
        match member.admit(&format!("{pid}-{number}"), max, class) {
            Ok(_) => println!("admitted {pid}-{number}"),
            Err(Refused::Over) => break,
            Err(Refused::Log(fault)) => panic!("{fault}"),
        }
    }
    println!("done");
    member.log.close().unwrap();
}

fn start(place: &Place, max: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "log_shared::the_process_that_shares", "--nocapture"])
        .env(DIRECTORY, &place.log)
        .env(MAX, max.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// What a process admitted before it ended by itself, or was killed after `kill_after` calls.
fn admitted_by(mut child: Child, kill_after: Option<usize>) -> Vec<String> {
    let mut admitted = Vec::new();
    let mut done = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap_or_default();
        admitted.extend(line.strip_prefix("admitted ").map(str::to_owned));
        done |= line == "done";
        if kill_after.is_some_and(|count| admitted.len() >= count) {
            let _ = child.kill();
        }
    }
    let status = child.wait().unwrap();
    assert!(kill_after.is_some() || (done && status.success()), "a process failed: {status}");
    if kill_after.is_some() {
        // The last line may have been cut in the middle.
        admitted.pop();
    }
    admitted
}

fn all_admitted(children: Vec<Child>, kill_after: impl Fn(usize) -> Option<usize> + Sync) -> Vec<String> {
    let admitted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (index, child) in children.into_iter().enumerate() {
            let (admitted, kill_after) = (&admitted, &kill_after);
            scope.spawn(move || admitted.lock().unwrap().extend(admitted_by(child, kill_after(index))));
        }
    });
    admitted.into_inner().unwrap()
}

fn charged_in_log(place: &Place) -> usize {
    records(place).iter().filter(|record| !record.charges("charges").unwrap().is_empty()).count()
}

#[test]
fn several_processes_admit_exactly_what_a_limit_allows() {
    let place = place();
    let children = (0..PROCESSES).map(|_| start(&place, 1500)).collect();
    let admitted = all_admitted(children, |_| None);
    assert_eq!(admitted.len(), 1500);
    assert_eq!(charged_in_log(&place), 1500);
    let verified = verify_ok(&place);
    assert!(verified.segments > 3, "the log was not rotated");
    let processes: std::collections::HashSet<_> =
        admitted.iter().filter_map(|request| request.split('-').next()).collect();
    assert!(processes.len() > 1, "one process did everything");
}

#[test]
fn processes_that_are_killed_leave_a_log_that_the_others_go_on_with() {
    let place = place();
    let children = (0..PROCESSES).map(|_| start(&place, 3000)).collect();
    // All but the first die at some point.
    let admitted = all_admitted(children, |index| (index > 0).then_some(60 * index + 7));
    let stored: std::collections::HashSet<String> = requests(&place).into_iter().collect();
    let lost: Vec<_> = admitted.iter().filter(|request| !stored.contains(*request)).collect();
    assert!(lost.is_empty(), "of {} confirmed records these are lost: {lost:?}", admitted.len());
    assert_eq!(charged_in_log(&place), 3000, "what died without a word still counts");
    verify_ok(&place);
}

#[test]
fn what_a_dead_process_left_half_written_is_cut_off_by_the_next() {
    let place = place();
    let (first, second) = (join(&place.log, quiet()), join(&place.log, quiet()));
    append_many(&first.log, 0, 3);
    append_many(&second.log, 10, 2);
    let path = Segment::in_directory(&place.log, 1).path;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"seq\":9,\"prev\":\"00");
    std::fs::write(&path, &bytes).unwrap();
    append_many(&first.log, 20, 1);
    append_many(&second.log, 30, 1);
    assert_eq!(requests(&place), ["r0", "r1", "r2", "r10", "r11", "r20", "r30"]);
    assert_eq!(verify_ok(&place).repairs, 1);
    let cut = std::fs::read_dir(&place.log)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert_eq!(cut.filter(|name| name.starts_with("cut-")).count(), 1);
}

#[test]
fn a_log_that_was_changed_underneath_takes_nothing() {
    let place = place();
    let (first, second) = (join(&place.log, quiet()), join(&place.log, quiet()));
    append_many(&first.log, 0, 3);
    let path = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&path).unwrap().replace("\"r1\"", "\"r9\"");
    std::fs::write(&path, text).unwrap();
    let call = read_call("x");
    let refused = second.log.append(at(0), &Entry::Decision(&call)).unwrap_err();
    assert!(refused.to_string().contains("log verify"), "{refused}");
    // Shorter than known is worse.
    std::fs::write(&path, "").unwrap();
    assert!(first.log.append(at(0), &Entry::Decision(&call)).is_err());
}

#[test]
fn a_segment_that_one_process_starts_is_found_by_the_others() {
    let place = place();
    let (first, second) = (join(&place.log, quiet()), join(&place.log, quiet()));
    append_many(&first.log, 0, 2);
    append_many(&second.log, 10, 2);
    first.log.rotate_now().unwrap();
    append_many(&second.log, 20, 2);
    second.log.rotate_now().unwrap();
    second.log.rotate_now().unwrap();
    append_many(&first.log, 30, 1);
    // An unfinished one is dropped.
    let next = Segment::in_directory(&place.log, {
        first.log.rotate_now().unwrap();
        let after = first.log.position().sequence;
        append_many(&second.log, 40, 1);
        drop(second);
        first.log.close().unwrap();
        after + 3
    });
    std::fs::write(&next.path, "{\"seq\":").unwrap();
    let third = join(&place.log, quiet());
    append_many(&third.log, 50, 1);
    assert!(!next.path.exists());
    assert_eq!(requests(&place), ["r0", "r1", "r10", "r11", "r20", "r21", "r30", "r40", "r50"]);
    verify_ok(&place);
}

#[test]
fn who_joins_later_begins_at_the_snapshot() {
    let place = place();
    let first = join(&place.log, options());
    for number in 0..500 {
        assert!(first.admit(&format!("a{number}"), 1000, RiskClass::Read).is_ok());
    }
    first.snapshot();
    for number in 0..20 {
        assert!(first.admit(&format!("b{number}"), 1000, RiskClass::Read).is_ok());
    }
    let joining = DecisionLog::joining(&place.log, key(), options()).unwrap();
    assert!(joining.snapshot.is_some() && joining.replay.is_none(), "it reads the whole log");
    let second = join(&place.log, options());
    assert_eq!(second.charged.load(Ordering::SeqCst), 520);
    assert!(second.admit("c", 521, RiskClass::Write).is_ok());
    assert!(matches!(first.admit("d", 521, RiskClass::Write), Err(Refused::Over)));
    drop((first, second));
    verify_ok(&place);
}

#[test]
fn a_sync_confirms_what_was_written_before_another_process_rotated() {
    let place = place();
    let (first, second) = (join(&place.log, quiet()), join(&place.log, quiet()));
    for round in 0..20 {
        let request = format!("w{round}");
        let call = write_call(&request);
        let ticket = first.log.append(at(0), &Entry::Decision(&call)).unwrap();
        second.log.rotate_now().unwrap();
        let request = format!("v{round}");
        let call = write_call(&request);
        first.log.append(at(0), &Entry::Decision(&call)).unwrap().wait().unwrap();
        ticket.wait().unwrap();
    }
    assert_eq!(requests(&place).len(), 40);
    verify_ok(&place);
}

#[test]
fn the_disk_fails_for_one_process_and_the_records_of_the_other_stay() {
    let place = place();
    let disk = FaultyDisk::default();
    let faulty = LogOptions { storage: Arc::new(disk.clone()), ..quiet() };
    let (first, second) = (join(&place.log, faulty), join(&place.log, quiet()));
    append_many(&first.log, 0, 2);
    disk.set_full(true);
    let call = read_call("lost");
    assert!(first.log.append(at(0), &Entry::Decision(&call)).is_err());
    append_many(&second.log, 10, 2);
    disk.set_full(false);
    first.log.recover_now().unwrap();
    append_many(&first.log, 20, 1);
    append_many(&second.log, 30, 1);
    assert_eq!(requests(&place), ["r0", "r1", "r10", "r11", "r20", "r30"]);
    drop((first, second));
    verify_ok(&place);
}
