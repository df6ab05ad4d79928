//! Rotation, retention, following, refusals of strangers, export.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portcullis_json::{Limits, Value, parse};
use portcullis_state::log::*;

use crate::setup::*;

#[test]
fn a_follower_reads_across_rotation_while_the_log_grows() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 2);
    let mut from_start = Follower::open(&place.log, Begin::Start).unwrap();
    let mut from_end = Follower::open(&place.log, Begin::End).unwrap();
    let mut after = Follower::open(&place.log, Begin::After(log.position().sequence + 1)).unwrap();
    let mut seen: [Vec<String>; 3] = Default::default();
    for round in 1..4 {
        append_many(&log, round * 2, 2);
        log.rotate_now().unwrap();
        for (follower, seen) in [&mut from_start, &mut from_end, &mut after].into_iter().zip(&mut seen) {
            while let Some(followed) = follower.next_record().unwrap() {
                seen.extend(followed.record.text("request").map(str::to_owned));
            }
        }
    }
    assert_eq!(seen[0], ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"]);
    assert_eq!(seen[1], ["r2", "r3", "r4", "r5", "r6", "r7"]);
    assert_eq!(seen[2], ["r3", "r4", "r5", "r6", "r7"]);
}

#[test]
fn a_half_written_line_is_not_seen_yet() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 1);
    drop(log);
    let path = Segment::in_directory(&place.log, 1).path;
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let mut follower = Follower::open(&place.log, Begin::Start).unwrap();
    assert_eq!(follower.next_record().unwrap().unwrap().record.kind, "segment");
    assert!(follower.next_record().unwrap().is_none());
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(follower.next_record().unwrap().unwrap().record.text("request"), Some("r0"));
}

#[test]
fn segments_rotate_by_size() {
    let place = place();
    let log = open(&place, LogOptions { segment_bytes_max: 4096, ..quiet() });
    // Each write is followed by a look of the keeper, which rotates before the next second is over.
    while segments(&place.log).unwrap().len() < 4 {
        append_many(&log, 0, 20);
    }
    log.close().unwrap();
    verify_ok(&place);
}

#[test]
fn a_durable_checkpoint_is_announced_and_kept() {
    let place = place();
    let log = open(&place, LogOptions { checkpoint_records: 4, ..quiet() });
    let mut announced = log.checkpoints();
    announced.mark_unchanged();
    append_many(&log, 0, 3);
    log.sync_now().unwrap();
    let checkpoint = *announced.borrow_and_update();
    assert_eq!(checkpoint.sequence, 5, "a segment record, three decisions, the checkpoint");
    assert!(log.health().durable >= checkpoint.sequence);
    log.close().unwrap();
    assert_eq!(verify_ok(&place).head, Head::Reached(5));
}

#[test]
fn checkpoints_are_signed_by_age_too() {
    let place = place();
    let options = LogOptions { checkpoint_age_max: Duration::ZERO, ..LogOptions::default() };
    let log = open(&place, options);
    append_many(&log, 0, 1);
    // The keeper signs by itself and keeps the checkpoint.
    while log.health().head == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(log);
    assert!(verify_ok(&place).checkpoints >= 1);
}

#[test]
fn retention_keeps_what_the_counters_need() {
    let place = place();
    let retention = Retention { segments_max: Some(1), age_max: None };
    let log = open(&place, LogOptions { retention, ..quiet() });
    append_many(&log, 0, 5);
    for _ in 0..3 {
        log.rotate_now().unwrap();
    }
    assert_eq!(segments(&place.log).unwrap().len(), 4, "there is no snapshot: nothing may go");
    log.write_snapshot(log.position(), b"").unwrap();
    log.rotate_now().unwrap();
    assert_eq!(segments(&place.log).unwrap().len(), 2);
    append_many(&log, 5, 5);
    log.close().unwrap();
    let verified = verify_ok(&place);
    assert!(verified.from > 1, "{verified:?}");
    assert_eq!(requests(&place).len(), 5);
    // It goes on after a restart.
    let log = open(&place, quiet());
    append_many(&log, 10, 1);
    log.close().unwrap();
    verify_ok(&place);
}

#[test]
fn retention_by_age_looks_at_the_records() {
    let place = place();
    let retention = Retention { segments_max: None, age_max: Some(Duration::from_secs(100)) };
    let log = open(&place, LogOptions { retention, ..quiet() });
    append_many(&log, 0, 1);
    log.rotate_now().unwrap();
    log.write_snapshot(log.position(), b"").unwrap();
    log.rotate_now().unwrap();
    assert_eq!(segments(&place.log).unwrap().len(), 3, "nothing is old yet");
    log.close().unwrap();
    // The time that is written is not the one that counts: a step of the clock makes nothing old.
    let stepped = LogOptions { retention, clock: Arc::new(|| at(101)), ..quiet() };
    let log = open(&place, stepped);
    log.replay().unwrap();
    log.rotate_now().unwrap();
    assert_eq!(segments(&place.log).unwrap()[0].first, 1);
    log.close().unwrap();
    let later = LogOptions { retention, age_clock: Arc::new(|| at(101)), ..quiet() };
    let log = open(&place, later);
    log.replay().unwrap();
    log.rotate_now().unwrap();
    let kept = segments(&place.log).unwrap();
    assert!(kept[0].first > 1, "the segment before the snapshot is old: {kept:?}");
    assert_eq!(kept.len(), 4, "the snapshot's own segment is still needed: {kept:?}");
}

#[test]
fn strangers_get_one_line_per_source_and_second() {
    let mut strangers = Strangers::default();
    let source = |n: u32| IpAddr::from(n.to_be_bytes());
    for _ in 0..1000 {
        assert!(strangers.refuse(source(1), "no token", 10).is_empty());
    }
    for n in 0..10_000 {
        assert!(strangers.refuse(source(n), "no token", 10).is_empty());
    }
    let gathered = strangers.refuse(source(7), "bad token", 11);
    assert_eq!(gathered.len(), STRANGERS_MAX + 1);
    assert_eq!(gathered.iter().map(|refusals| refusals.count).sum::<u64>(), 11_000);
    assert!(gathered.len() <= 17, "what a second can cost is small");
    let first = gathered.iter().find(|refusals| refusals.source == "0.0.0.1").unwrap();
    assert_eq!(first.count, 1001);
    let rest = strangers.take_all();
    assert_eq!(rest, [Refusals { source: "0.0.0.7".into(), count: 1, reason: "bad token" }]);
    assert!(strangers.take_before(12).is_empty());
}

fn exported(place: &Place, format: ExportFormat) -> (String, Exported) {
    let mut out = Vec::new();
    let done = export(&place.log, format, &|_| true, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), done)
}

#[test]
fn every_record_has_a_form_for_others() {
    let place = place();
    let log = open(&place, quiet());
    let formula = Decision { message: Some("=HYPERLINK(\"x\")"), ..write_call("=1+1") };
    log.append(at(0), &Entry::Decision(&formula)).unwrap().wait().unwrap();
    let event = Event { grant: Some("g_2"), by: Some("cli"), ..Event::new(Action::GrantRevoked) };
    log.append(at(0), &Entry::Event(&event)).unwrap().wait().unwrap();
    let refusals = Refusals { source: "10.0.0.1".into(), count: 3, reason: "no token" };
    log.append(at(0), &Entry::Refusals(&refusals)).unwrap().wait().unwrap();
    log.close().unwrap();

    let (lines, done) = exported(&place, ExportFormat::JsonLines);
    let stored = std::fs::read_to_string(Segment::in_directory(&place.log, 1).path).unwrap();
    assert_eq!(lines, stored);
    assert_eq!(done, Exported { written: 5, left_out: 0 });

    let (table, _) = exported(&place, ExportFormat::Csv);
    assert_eq!(table.lines().count(), 6);
    assert!(table.contains("\"'=1+1\"") && table.contains("\"'=HYPERLINK(\"\"x\"\")\""), "{table}");

    let (events, done) = exported(&place, ExportFormat::Ocsf);
    assert_eq!(done, Exported { written: 3, left_out: 2 });
    let events: Vec<Value> =
        events.lines().map(|line| parse(line.as_bytes(), &Limits::message()).unwrap()).collect();
    let number = |event: &Value, key: &str| event.get(key).unwrap().to_string();
    let classes: Vec<String> = events.iter().map(|event| number(event, "class_uid")).collect();
    assert_eq!(classes, ["6003", "3004", "3002"]);
    for event in &events {
        for required in ["activity_id", "category_uid", "metadata", "severity_id", "time"] {
            assert!(event.get(required).is_some(), "{required}");
        }
        let class: i64 = number(event, "class_uid").parse().unwrap();
        let activity: i64 = number(event, "activity_id").parse().unwrap();
        assert_eq!(number(event, "type_uid"), (class * 100 + activity).to_string());
    }
    for required in ["actor", "api", "src_endpoint"] {
        assert!(events[0].get(required).is_some(), "{required}");
    }
}

#[test]
fn strangers_of_one_network_share_a_line() {
    let mut strangers = Strangers::default();
    for n in 0..5_u128 {
        let source = IpAddr::from(std::net::Ipv6Addr::from((0x2001_0db8_u128 << 96) + n));
        assert!(strangers.refuse(source, "no token", 10).is_empty());
    }
    assert!(strangers.refuse("::ffff:10.0.0.1".parse().unwrap(), "no token", 10).is_empty());
    assert!(strangers.refuse("::1".parse().unwrap(), "no token", 10).is_empty());
    let told: Vec<_> = strangers.take_all().into_iter().map(|r| (r.source, r.count)).collect();
    let expected = [("10.0.0.1", 1), ("2001:db8::/64", 5), ("::1", 1)];
    assert_eq!(told, expected.map(|(source, count)| (source.to_owned(), count)));
}

/// A disk on which making a new name durable takes until the test lets it.
#[derive(Clone)]
struct Gated {
    reached: SyncSender<()>,
    go_on: Arc<Mutex<Receiver<()>>>,
    closed: Arc<AtomicBool>,
}

impl Storage for Gated {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Disk.open(path)
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
        if self.closed.swap(false, Ordering::SeqCst) {
            self.reached.send(()).unwrap();
            self.go_on.lock().unwrap().recv().unwrap();
        }
        Disk.sync_directory(path)
    }
}

#[test]
fn a_read_call_does_not_wait_for_the_new_segment_to_be_durable() {
    let place = place();
    let ((reached, at_gate), (open_gate, go_on)) = (sync_channel(1), channel());
    let closed = Arc::new(AtomicBool::new(false));
    let gated = Gated { reached, go_on: Arc::new(Mutex::new(go_on)), closed: closed.clone() };
    let log = open(&place, LogOptions { storage: Arc::new(gated), ..quiet() });
    append_many(&log, 0, 2);
    closed.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let rotating = scope.spawn(|| log.rotate_now());
        at_gate.recv().unwrap();
        let (done, appended) = channel();
        let log = &log;
        scope.spawn(move || {
            append_many(log, 2, 1);
            done.send(()).unwrap();
        });
        // Long enough for any machine; without the lock it takes no time.
        let appended = appended.recv_timeout(Duration::from_secs(30));
        open_gate.send(()).unwrap();
        assert!(appended.is_ok(), "the call waited for the disk");
        rotating.join().unwrap().unwrap();
    });
    log.close().unwrap();
    assert_eq!(requests(&place), ["r0", "r1", "r2"]);
    assert_eq!(verify_ok(&place).segments, 2);
}
