//! Microseconds per append, on this machine: `cargo run --release -p portcullis-state --example append_speed`.
//!
//! Three figures: Read decisions from one thread (nobody waits for the disk), the same from 16 threads, and
//! Write decisions from 16 threads that share the syncs.

#![expect(clippy::print_stdout, reason = "printing figures is what it is for")]

use std::error::Error;
use std::time::Instant;

use jiff::Timestamp;
use portcullis_state::CheckpointKey;
use portcullis_state::log::{
    Arguments, Charge, Decision, DecisionLog, Entry, LogOptions, PolicyName, RiskClass, Verdict,
};

const HASH: [u8; 32] = [5; 32];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).unwrap_or_else(|| "target/append-speed".into());
    let log_directory = std::path::Path::new(&directory).join("log");
    std::fs::create_dir_all(&log_directory)?;
    let key = CheckpointKey::from_bytes(&[1; 32]);
    let (log, _) = DecisionLog::open(&log_directory, key, LogOptions::default())?;
    report("read, 1 thread", &log, RiskClass::Read, 1, 100_000);
    report("read, 16 threads", &log, RiskClass::Read, 16, 20_000);
    report("write, 16 threads", &log, RiskClass::Write, 16, 200);
    report("write, 1 thread", &log, RiskClass::Write, 1, 200);
    log.close()?;
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn report(name: &str, log: &DecisionLog, class: RiskClass, threads: u32, each: u32) {
    let started = Instant::now();
    let mut taken = 0;
    std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(move || append(log, class, each));
        let running: Vec<_> = (0..threads).map(spawn).collect();
        taken = running.into_iter().filter_map(|thread| thread.join().ok()).sum();
    });
    let elapsed = started.elapsed();
    let microseconds = elapsed.as_secs_f64() * 1e6 / f64::from(taken);
    println!("{name:<20} {microseconds:>9.2} us per record   {taken} records in {elapsed:.2?}");
}

/// Appends records as the gateway does; returns how many were taken.
fn append(log: &DecisionLog, class: RiskClass, count: u32) -> u32 {
    let charges = [Charge {
        counter: "pharo-daily/calls/grant:g_01JCQ5Z8V3T9N4M6K2R7B1X0YD".to_owned(),
        amount: "1".to_owned(),
        window_seconds: 60,
    }];
    let decision = Decision {
        request: "d_01JCQ5Z8V3T9N4M6K2R7B1X0YD",
        grant: Some("g_01JCQ5Z8V3T9N4M6K2R7B1X0YD"),
        server: Some("pharo"),
        method: "tools/call",
        tool: Some("find-references-to-class"),
        class: Some(class),
        policy: Some(PolicyName { name: "pharo-daily", version: 7, hash: &HASH }),
        verdict: Verdict::Allowed,
        arguments: Arguments { keys: &["class", "package", "limit"], digest: Some(&HASH) },
        charges: &charges,
        ..Decision::default()
    };
    let taken = (0..count).filter(|_| {
        let ticket = log.append(Timestamp::now(), &Entry::Decision(&decision));
        ticket.is_ok_and(|ticket| ticket.wait().is_ok())
    });
    u32::try_from(taken.count()).unwrap_or(u32::MAX)
}
