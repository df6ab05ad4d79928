//! `cargo xtask fuzz-policy`: the engine against the oracle, on as many random cases as asked for.
//!
//! The comparison itself is a test of `portcullis-policy`; this only starts it in release and hands it
//! the number of cases and the seed.

use anyhow::{Result, bail};

use crate::process;

const TEST: &str = "oracle_agreement::engine_and_oracle_agree";
const CASES_VARIABLE: &str = "PORTCULLIS_ORACLE_CASES";
const SEED_VARIABLE: &str = "PORTCULLIS_ORACLE_SEED";

/// What `cargo xtask fuzz-policy` takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many random cases to compare
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// The seed to start from, to see the same cases again
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Runs the comparison; fails when the two disagree, or when the test is not there.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // A filter that matches no test would pass without comparing anything.
    let listed = process::capture(process::cargo(&TEST_BINARY).args(["--exact", TEST, "--list"]))?;
    if !lists_the_test(&listed.stdout) {
        bail!("`portcullis-policy` has no test `{TEST}`; name it in `crates/xtask/src/fuzz_policy.rs`");
    }
    let mut command = process::cargo(&TEST_BINARY);
    command.args(["--exact", TEST, "--nocapture"]);
    command.env(CASES_VARIABLE, arguments.cases.to_string());
    if let Some(seed) = arguments.seed {
        command.env(SEED_VARIABLE, seed.to_string());
    }
    process::run(&mut command)
}

const TEST_BINARY: [&str; 7] = ["test", "--release", "--package", "portcullis-policy", "--test", "it", "--"];

fn lists_the_test(listed: &str) -> bool {
    listed.lines().any(|line| line.strip_suffix(": test") == Some(TEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_listed_is_not_taken_for_a_pass() {
        assert!(lists_the_test(&format!("{TEST}: test\n\n1 test, 0 benchmarks\n")));
        assert!(!lists_the_test("0 tests, 0 benchmarks\n"));
        assert!(!lists_the_test(&format!("{TEST}_slowly: test\n")));
    }
}
