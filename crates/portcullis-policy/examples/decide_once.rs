//! Decides the benchmark's call so many times: `decide_once 1000`. For counting instructions with
//! callgrind, which does not depend on how busy the machine is.

#![expect(clippy::panic, reason = "a program for measuring")]

#[path = "../benches/decide/fixture.rs"]
#[expect(dead_code, reason = "the benchmark uses the rest")]
mod fixture;

fn main() {
    let times: u32 = std::env::args().nth(1).and_then(|times| times.parse().ok()).unwrap_or(1);
    let policy = fixture::policy_with_tools(9);
    let arguments = fixture::arguments_1_kb();
    let counters = portcullis_policy::Counters::new();
    for _ in 0..times {
        std::hint::black_box(fixture::read_and_decide(
            &policy,
            std::hint::black_box(&arguments),
            &counters,
            0,
        ));
    }
}
