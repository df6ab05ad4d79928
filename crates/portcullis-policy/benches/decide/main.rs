//! What a decision costs: `cargo bench -p portcullis-policy`.
//!
//! Each row is the fastest of many batches, beside a yardstick from the same run: reading the same
//! arguments with `serde_json`. Machines differ and are noisy; the ratio travels better than the time.

#![expect(clippy::print_stdout, clippy::panic, reason = "a benchmark prints its table")]

mod fixture;

use std::hint::black_box;
use std::time::Instant;

use portcullis_json::{Limits, parse};
use portcullis_policy::{Counters, Effect, Time};

const BATCHES: usize = 200;

/// Microseconds for one run: the fastest batch, since noise only ever adds.
fn measure(runs_per_batch: u32, mut run: impl FnMut()) -> f64 {
    let mut batch = || {
        let start = Instant::now();
        for _ in 0..runs_per_batch {
            run();
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(runs_per_batch)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

fn row(name: &str, microseconds: f64, yardstick: f64) {
    println!("| {name} | {microseconds:.2} | {:.2} |", microseconds / yardstick);
}

fn main() {
    let arguments = fixture::arguments_1_kb();
    let counters = Counters::new();
    let yardstick = measure(200, || {
        let value: serde_json::Value = serde_json::from_str(black_box(&arguments)).unwrap_or_default();
        black_box(value);
    });
    println!("arguments: {} bytes\n", arguments.len());
    println!("| what | µs | times the yardstick |\n|---|---|---|");
    row("yardstick: `serde_json` reads the arguments", yardstick, yardstick);
    let read = measure(200, || {
        black_box(parse(black_box(arguments.as_bytes()), &Limits::message()))
            .unwrap_or_else(|fault| panic!("{fault}"));
    });
    row("our reader reads the arguments", read, yardstick);
    for others in [9, 9_999] {
        let policy = fixture::policy_with_tools(others);
        let verdict = fixture::read_and_decide(&policy, &arguments, &counters, 0);
        assert!(verdict.effect == Effect::Allow, "all 50 rules are looked at");
        let time = measure(100, || {
            black_box(fixture::read_and_decide(&policy, black_box(&arguments), &counters, 0));
        });
        row(&format!("read and decide, 50 rules, policy of {} tools", others + 1), time, yardstick);
    }
    limits(yardstick);
    worst_case(yardstick);
}

/// A limit that is used 100,000 times in its window.
fn limits(yardstick: f64) {
    let policy = fixture::policy_with_limit();
    let arguments = parse(b"{}", &Limits::message()).unwrap_or_else(|fault| panic!("{fault}"));
    let mut counters = Counters::new();
    let mut now = 0;
    let time = measure(500, || {
        now += 500;
        let verdict = fixture::decide_on(&policy, &arguments, &counters, now);
        let spent = counters.reserve(&verdict.obligations.charges, Time::from_microseconds(now));
        assert!(spent.is_ok(), "a million a minute is not reached");
    });
    row("decide and reserve under one busy sliding limit", time, yardstick);
}

fn worst_case(yardstick: f64) {
    let policy = fixture::policy_of_regexes();
    let text = fixture::text_100_kb();
    let counters = Counters::new();
    let verdict = fixture::read_and_decide(&policy, &text, &counters, 0);
    assert!(verdict.effect == Effect::Allow, "all 20 expressions are tried");
    let time = measure(1, || {
        black_box(fixture::read_and_decide(&policy, black_box(&text), &counters, 0));
    });
    row("worst case: 20 regular expressions on 100 KB", time, yardstick);
}
