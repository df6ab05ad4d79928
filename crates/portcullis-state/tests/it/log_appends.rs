//! Appending: what is stored, in which order, and who waits.

use portcullis_state::DigestKey;
use portcullis_state::log::*;

use crate::setup::*;

#[test]
fn a_decision_is_stored_with_everything_but_values() {
    let place = place();
    let log = open(&place, quiet());
    let arguments = portcullis_json::parse(
        br#"{"path":"/tmp/CANARY","amount":12.50}"#,
        &portcullis_json::Limits::message(),
    )
    .unwrap();
    let digest = DigestKey::from_bytes(&[1; 32]).digest(&arguments);
    let charges = [charge("pharo-daily/spend/grant:g_1", "12.50")];
    let decision = Decision {
        session: Some("s1"),
        resource: Some("https://u:CANARY@host/x?CANARY=1"),
        policy: Some(PolicyName { name: "pharo-daily", version: 7, hash: &[9; 32] }),
        rule: Some("/tools/eval/limits/0"),
        message: Some("Daily budget reached."),
        arguments: Arguments { keys: &["path", "amount"], digest: Some(&digest) },
        charges: &charges,
        ..write_call("r1")
    };
    let position = log.append(at(1), &Entry::Decision(&decision)).unwrap().wait().unwrap();
    let outcome = Outcome {
        request: "r1",
        decision: position.sequence,
        ending: Ending::Answered,
        status: Some(200),
        latency_us: 1234,
        ..Outcome::default()
    };
    log.append(at(2), &Entry::Outcome(&outcome)).unwrap().wait().unwrap();
    log.close().unwrap();

    let stored = records(&place);
    let decision = stored.iter().find(|record| record.kind == "decision").unwrap();
    assert_eq!(decision.position, position);
    assert_eq!(decision.time, at(1));
    assert_eq!(decision.text("resource"), Some("https://host/x"));
    assert_eq!(decision.text("class"), Some("Write"));
    assert_eq!(decision.number("policy_version"), Some(7));
    assert_eq!(decision.hash("policy_hash"), Some([9; 32]));
    assert_eq!(decision.hash("arguments_digest"), Some(digest));
    assert_eq!(decision.charges("charges").unwrap(), charges);
    let outcome = stored.iter().find(|record| record.kind == "outcome").unwrap();
    assert_eq!(outcome.number("decision"), Some(position.sequence));
    assert_eq!(outcome.number("latency_us"), Some(1234));
    let text = std::fs::read_to_string(Segment::in_directory(&place.log, 1).path).unwrap();
    assert!(!text.contains("CANARY"), "{text}");
    assert!(text.contains("\"time\":\"2027-01-15T08:00:01.000000Z\""), "{text}");
    verify_ok(&place);
}

#[test]
fn hostile_text_stays_on_its_line() {
    let place = place();
    let log = open(&place, quiet());
    let nasty = "x\n{\"seq\":99}\r\u{1b}[31m\u{202e}\u{2028}";
    let long = "k".repeat(10_000);
    let keys: Vec<&str> = std::iter::repeat_n(long.as_str(), 200).collect();
    let decision = Decision {
        tool: Some(nasty),
        message: Some(&long),
        arguments: Arguments { keys: &keys, digest: None },
        ..read_call(nasty)
    };
    log.append(at(0), &Entry::Decision(&decision)).unwrap().wait().unwrap();
    log.close().unwrap();
    let bytes = std::fs::read(Segment::in_directory(&place.log, 1).path).unwrap();
    let printable = |byte: &u8| (b' '..=b'~').contains(byte) || *byte == b'\n';
    assert!(bytes.iter().all(printable));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), records(&place).len());
    let stored = records(&place).into_iter().find(|record| record.kind == "decision").unwrap();
    assert_eq!(stored.text("tool"), Some(nasty));
    assert_eq!(stored.number("argument_keys_more"), Some(200 - ARGUMENT_KEYS_MAX as u64));
    assert!(stored.text("message").unwrap().ends_with("k…"));
}

#[test]
fn what_was_charged_is_never_cut() {
    let place = place();
    let log = open(&place, quiet());
    let many: Vec<Charge> = (0..=CHARGES_MAX).map(|n| charge(&n.to_string(), "1")).collect();
    let decision = Decision { charges: &many, ..read_call("r") };
    let refused = log.append(at(0), &Entry::Decision(&decision));
    assert!(matches!(refused, Err(LogFault::TooLarge { .. })), "{refused:?}");
    let long = [charge(&"c".repeat(5000), "1")];
    let decision = Decision { charges: &long, ..read_call("r") };
    let refused = log.append(at(0), &Entry::Decision(&decision));
    assert!(matches!(refused, Err(LogFault::TooLarge { .. })), "{refused:?}");
    assert!(log.health().failure.is_none(), "a record too large is no fault of the log");
}

#[test]
fn the_class_says_who_waits_for_the_disk() {
    let write = write_call("r");
    let read = read_call("r");
    let unknown = Decision { class: None, ..read };
    let denied = Decision { verdict: Verdict::Denied, ..write };
    for (decision, group, all) in
        [(&write, true, true), (&denied, true, true), (&unknown, true, true), (&read, false, true)]
    {
        let entry = Entry::Decision(decision);
        assert_eq!(entry.must_be_durable(SyncMode::Group), group, "{decision:?}");
        assert_eq!(entry.must_be_durable(SyncMode::All), all, "{decision:?}");
    }
    assert!(Entry::Event(&Event::new(Action::GrantRevoked)).must_be_durable(SyncMode::Group));
}

#[test]
fn a_write_is_confirmed_only_when_it_is_durable() {
    let place = place();
    let disk = FaultyDisk::default();
    let options = LogOptions { storage: std::sync::Arc::new(disk.clone()), ..quiet() };
    let log = open(&place, options);
    disk.set_sync_broken(true);
    let ticket = log.append(at(0), &Entry::Decision(&write_call("w"))).unwrap();
    assert!(matches!(ticket.wait(), Err(LogFault::Unavailable { .. })));
    disk.set_sync_broken(false);
    // A Read is written and goes on; the disk follows.
    while log.recover_now().is_err() {}
    let ticket = log.append(at(0), &Entry::Decision(&read_call("r"))).unwrap();
    ticket.wait().unwrap();
    log.close().unwrap();
    assert_eq!(requests(&place), ["w", "r"]);
}

#[test]
fn sixty_four_writers_leave_one_unbroken_chain() {
    const WRITERS: u64 = 64;
    const EACH: u64 = 500;
    let place = place();
    let options = LogOptions { segment_bytes_max: 2 << 20, checkpoint_records: 97, ..quiet() };
    let log = open(&place, options);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &log;
            scope.spawn(move || {
                for number in 0..EACH {
                    let request = format!("{writer}-{number}");
                    let call = if number % 50 == 0 { write_call(&request) } else { read_call(&request) };
                    log.append(at(0), &Entry::Decision(&call)).unwrap().wait().unwrap();
                }
            });
        }
    });
    log.close().unwrap();
    let verified = verify_ok(&place);
    assert_eq!(verified.records, verified.to);
    assert_eq!(verified.unsigned_tail, 0);
    let mut seen = requests(&place);
    for writer in 0..WRITERS {
        let own: Vec<_> = seen.iter().filter(|r| r.starts_with(&format!("{writer}-"))).collect();
        assert!(own.is_sorted_by_key(|r| r.split('-').nth(1).unwrap().parse::<u64>().unwrap()));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len() as u64, WRITERS * EACH);
}

#[test]
fn a_waiting_future_is_woken_by_the_shared_sync() {
    let place = place();
    let log = open(&place, quiet());
    let ticket = log.append(at(0), &Entry::Decision(&write_call("w"))).unwrap();
    let sequence = ticket.position().sequence;
    let settled = block_on(ticket.settled()).unwrap();
    assert_eq!(settled.sequence, sequence);
    assert!(log.health().durable >= sequence);
}

/// The smallest executor: no runtime is needed to wait for the log.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
