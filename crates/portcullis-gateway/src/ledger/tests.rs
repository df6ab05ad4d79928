//! What is known stays known over restarts, and limits hold under any concurrency.

use std::sync::atomic::AtomicI64;

use super::*;
use portcullis_state::CheckpointKey;
use portcullis_state::log::{Action, Entry, Event, LogOptions, segments};

/// Confirmed records are lost, the operator accepts it; that start and the ones after it deny.
#[test]
fn what_is_not_known_stays_unknown_over_restarts() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("log");
    std::fs::create_dir(&directory).unwrap();
    let open = |accept_damage| {
        let options = LogOptions { accept_damage, ..LogOptions::default() };
        DecisionLog::open(&directory, CheckpointKey::from_bytes(&[1; 32]), options).unwrap().0
    };
    let log = open(false);
    drop(log.append(Timestamp::now(), &Entry::Event(&Event::new(Action::Started))).unwrap());
    log.close().unwrap();
    let segment = &segments(&directory).unwrap()[0].path;
    let text = std::fs::read_to_string(segment).unwrap();
    std::fs::write(segment, text.lines().take(1).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    let key = CounterKey { policy: "p".into(), counter: "c".into(), scope: Scope::Global };
    let written = log::Charge { counter: counter_text(&key), amount: "1".into(), window_seconds: 60 };
    let charge = charge_again(&written).unwrap();
    let clock: Clock = Arc::new(Timestamp::now);
    for accept_damage in [true, false, false] {
        let log = open(accept_damage);
        let ledger = Ledger::from_log(&log).unwrap();
        let refused = ledger.reserve(std::slice::from_ref(&charge), &clock);
        assert!(matches!(refused, Err(NotReserved::Unknown(_))));
        ledger.save(&log).unwrap();
        log.close().unwrap();
    }
}

/// A record in an old segment was changed: nobody knows what was charged. The operator accepts it once; what
/// was charged before then stays unknown, and later starts do not read that far.
#[test]
fn a_break_in_an_old_segment_is_refused_until_it_is_accepted() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("log");
    std::fs::create_dir(&directory).unwrap();
    let open = || {
        DecisionLog::open(&directory, CheckpointKey::from_bytes(&[1; 32]), LogOptions::default()).unwrap().0
    };
    let log = open();
    for _ in 0..3 {
        drop(log.append(Timestamp::now(), &Entry::Event(&Event::new(Action::Started))).unwrap());
        log.rotate_now().unwrap();
    }
    log.close().unwrap();
    let old = &segments(&directory).unwrap()[1].path;
    let text = std::fs::read_to_string(old).unwrap();
    std::fs::write(old, text.replacen("started", "stopped", 1)).unwrap();
    let log = open();
    let fault = Ledger::from_log(&log).err().unwrap();
    assert!(fault.to_string().contains("--accept-log-damage"), "{fault}");
    let charge = limited_to(5, 60);
    let clock: Clock = Arc::new(Timestamp::now);
    let unknown = |ledger: &Ledger| {
        matches!(ledger.reserve(std::slice::from_ref(&charge), &clock), Err(NotReserved::Unknown(_)))
    };
    assert!(unknown(&Ledger::accept_damage(&log, &fault, Timestamp::now()).unwrap()));
    log.close().unwrap();
    let log = open();
    assert!(
        unknown(&Ledger::from_log(&log).unwrap()),
        "what was accepted is not refused again, nor forgotten"
    );
    let records = std::fs::read_to_string(segments(&directory).unwrap().pop().unwrap().path).unwrap();
    assert!(records.contains("damage_accepted"), "{records}");
}

#[test]
fn every_counter_is_read_back_from_its_text() {
    let scopes = [
        Scope::Grant("g".into()),
        Scope::Session("g".into(), "s\"]".into()),
        Scope::Server("x".into()),
        Scope::Global,
    ];
    for scope in scopes {
        let key = CounterKey { policy: "p\",\"".into(), counter: "c".into(), scope };
        assert_eq!(counter_key(&counter_text(&key)), Some(key));
    }
    assert_eq!(counter_key("[\"a\"]"), None);
}

const SEEDS: u64 = 40;
const TASKS: u64 = 256;
const ATTEMPTS: u64 = 12;
const MAX: usize = 1_000;

fn limited_to(max: usize, window_seconds: u64) -> Charge {
    let key = CounterKey { policy: "p".into(), counter: "c".into(), scope: Scope::Global };
    let written = log::Charge { counter: counter_text(&key), amount: "1".into(), window_seconds };
    let mut charge = charge_again(&written).unwrap();
    let max: Decimal = max.to_string().parse().unwrap();
    charge.limit = Arc::new(Limit { max, ..Arc::into_inner(charge.limit).unwrap() });
    charge
}

/// More ask than fit, in an order that each seed makes another one: exactly as many as fit get in.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_at_once_never_get_more_than_the_limit() {
    for seed in 0..SEEDS {
        let ledger = Arc::new(Ledger::empty());
        let charge = limited_to(MAX, 3_600);
        let tasks = (0..TASKS).map(|task| {
            let (ledger, charge) = (ledger.clone(), charge.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed * TASKS + task);
                let clock: Clock = Arc::new(|| Timestamp::UNIX_EPOCH);
                let mut admitted = 0;
                for _ in 0..ATTEMPTS {
                    for _ in 0..random.u8(0..3) {
                        tokio::task::yield_now().await;
                    }
                    admitted += usize::from(ledger.reserve(std::slice::from_ref(&charge), &clock).is_ok());
                }
                admitted
            })
        });
        let mut admitted = 0;
        for task in tasks.collect::<Vec<_>>() {
            admitted += task.await.unwrap();
        }
        assert_eq!(admitted, MAX, "seed {seed}");
    }
}

/// Threads push across the edges of the window while time runs: no interval of its length holds more than `max`.
#[test]
fn a_burst_across_the_edge_of_a_window_gets_no_more_than_the_limit() {
    const WINDOW: u64 = 1;
    const BURST_MAX: usize = 50;
    let ledger = Ledger::empty();
    let charge = limited_to(BURST_MAX, WINDOW);
    let now = AtomicI64::new(1_000_000_000);
    let admitted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (ledger, charge, now, admitted) = (&ledger, &charge, &now, &admitted);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                for _ in 0..4_000 {
                    // A step of up to 2 ms; one in five steps back.
                    let step = if random.u8(0..5) == 0 { -700 } else { random.i64(0..2_000) };
                    let at = now.fetch_add(step, Ordering::SeqCst);
                    let clock: Clock = Arc::new(move || Timestamp::from_microsecond(at).unwrap());
                    if let Ok(reservation) = ledger.reserve(std::slice::from_ref(charge), &clock) {
                        admitted.lock().unwrap().push(reservation.at());
                    }
                }
            });
        }
    });
    let mut times: Vec<i64> = admitted.into_inner().unwrap().iter().map(|at| at.as_microseconds()).collect();
    times.sort_unstable();
    let window = i64::try_from(WINDOW).unwrap() * 1_000_000;
    assert!(times.len() > 4 * BURST_MAX, "only {} were admitted: the window never moved", times.len());
    for (first, beyond) in times.iter().zip(times.iter().skip(BURST_MAX)) {
        assert!(beyond - first >= window, "{BURST_MAX} and one more between {first} and {beyond}");
    }
}
