//! `cargo xtask ci`: the steps that every change must pass, in order; the first failure stops.
//!
//! All steps that build use the same profile and the same set of packages, so that each crate is
//! compiled once for checking and once for running.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::{conformance, faults, process, tidy, workspace};

/// One thing to do, under the name that the summary shows.
struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "format", run: format },
    Step { name: "clippy", run: clippy },
    // Before tidy, which asks the built binary for the generated documents.
    Step { name: "build", run: build },
    Step { name: "tidy", run: check_tidiness },
    Step { name: "tests", run: tests },
    Step { name: "policy tests", run: policy_tests },
    Step { name: "conformance", run: conformance::run_short },
    Step { name: "faults", run: faults::run_short },
    Step { name: "fuzz targets", run: fuzz_targets },
    Step { name: "docs", run: docs },
    // Last: it puts a product with the feature in the place of the one without.
    Step { name: "otlp", run: otlp },
];

/// The fuzz targets, which are no part of the workspace.
const FUZZ_MANIFEST: &str = "fuzz/Cargo.toml";

/// How a step ended.
struct Outcome {
    name: &'static str,
    took: Option<Duration>,
    failed: bool,
}

/// Runs all steps and prints the summary; fails with the step that failed.
pub(crate) fn run() -> Result<()> {
    let (outcomes, result) = run_steps(STEPS);
    print!("\n{}", summary(&outcomes));
    result
}

fn run_steps(steps: &[Step]) -> (Vec<Outcome>, Result<()>) {
    let mut outcomes = Vec::new();
    let mut result = Ok(());
    for step in steps {
        if result.is_err() {
            outcomes.push(Outcome { name: step.name, took: None, failed: false });
            continue;
        }
        println!("\n── {} ──", step.name);
        let start = Instant::now();
        result = (step.run)().with_context(|| format!("ci stopped at step `{}`", step.name));
        let took = start.elapsed();
        println!("── {}: {:.1} s ──", step.name, took.as_secs_f64());
        outcomes.push(Outcome { name: step.name, took: Some(took), failed: result.is_err() });
    }
    (outcomes, result)
}

fn summary(outcomes: &[Outcome]) -> String {
    let mut table = format!("{:<14}{:<9}{:>9}\n", "step", "result", "time");
    for outcome in outcomes {
        let (result, time) = match outcome.took {
            None => ("not run", String::new()),
            Some(took) => {
                (if outcome.failed { "FAILED" } else { "ok" }, format!("{:.1} s", took.as_secs_f64()))
            }
        };
        let line = format!("{:<14}{result:<9}{time:>9}", outcome.name);
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

fn format() -> Result<()> {
    process::run(&mut process::cargo(&["fmt", "--all", "--check"]))?;
    process::run(&mut process::cargo(&["fmt", "--manifest-path", FUZZ_MANIFEST, "--check"]))
}

fn clippy() -> Result<()> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    process::run(&mut process::cargo(&arguments))
}

fn build() -> Result<()> {
    // With the tests, so that features are those of the test step and nothing is built twice.
    process::run(&mut process::cargo(&["build", "--workspace", "--bins", "--tests"]))
}

fn check_tidiness() -> Result<()> {
    tidy::run(&workspace::product()?)
}

fn tests() -> Result<()> {
    let arguments: &[&str] = if process::is_installed("cargo-nextest") {
        &["nextest", "run", "--workspace"]
    } else {
        &["test", "--workspace", "--bins", "--lib", "--tests"]
    };
    process::run(&mut process::cargo(arguments))
}

fn policy_tests() -> Result<()> {
    let files = workspace::files()?;
    let product = workspace::product()?;
    run_policy_tests(&product, files.iter().filter(|path| is_example_test(path)))?;
    run_policy_tests(&product, files.iter().filter(|path| is_policy_case(path)))
}

fn is_example_test(path: &str) -> bool {
    path.starts_with("examples/policies/") && path.ends_with(".test.json")
}

fn is_policy_case(path: &str) -> bool {
    path.starts_with("cases/policy/") && (path.ends_with(".json") || path.ends_with(".yaml"))
}

fn run_policy_tests<'a>(product: &Path, files: impl Iterator<Item = &'a String>) -> Result<()> {
    let files: Vec<&String> = files.collect();
    ensure!(
        !files.is_empty(),
        "no policy tests found; expected `examples/policies/*.test.json` and `cases/policy/`"
    );
    process::run(process::command(product).args(["policy", "test"]).args(files))
}

fn fuzz_targets() -> Result<()> {
    // Without its default feature, the fuzzer's own engine in C++ is left out: only our part is checked.
    let manifest = ["--manifest-path", "fuzz/Cargo.toml", "--no-default-features"];
    process::run(process::cargo(&["check", "--quiet"]).args(manifest))
}

fn docs() -> Result<()> {
    let mut cargo = process::cargo(&["doc", "--workspace", "--no-deps"]);
    process::run(cargo.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The feature that is off by default: it compiles without a warning, and a collector receives a span.
fn otlp() -> Result<()> {
    let feature = ["--workspace", "--features", "portcullis/otlp"];
    let mut clippy = process::cargo(&["clippy", "--all-targets"]);
    process::run(clippy.args(feature).args(["--", "-D", "warnings"]))?;
    let mut tests = match process::is_installed("cargo-nextest") {
        true => process::cargo(&["nextest", "run", "-E", "test(/^otlp::/)"]),
        false => process::cargo(&["test", "--test", "it", "otlp::"]),
    };
    process::run(tests.args(feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn succeed() -> Result<()> {
        Ok(())
    }

    fn fail() -> Result<()> {
        anyhow::bail!("something is wrong")
    }

    #[test]
    fn the_first_failure_stops_and_is_named() {
        let steps = [
            Step { name: "one", run: succeed },
            Step { name: "two", run: fail },
            Step { name: "three", run: || panic!("ran after a failure") },
        ];
        let (outcomes, result) = run_steps(&steps);
        let message = format!("{:#}", result.unwrap_err());
        assert_eq!(message, "ci stopped at step `two`: something is wrong");
        let failed: Vec<_> = outcomes.iter().map(|outcome| outcome.failed).collect();
        assert_eq!(failed, [false, true, false]);
        assert!(outcomes[2].took.is_none());
    }

    #[test]
    fn the_summary_tells_passed_failed_and_not_run_apart() {
        let outcomes = [
            Outcome { name: "format", took: Some(Duration::from_millis(840)), failed: false },
            Outcome { name: "clippy", took: Some(Duration::from_secs(30)), failed: true },
            Outcome { name: "tests", took: None, failed: false },
        ];
        let expected = "\
step          result        time
format        ok           0.8 s
clippy        FAILED      30.0 s
tests         not run
";
        assert_eq!(summary(&outcomes), expected);
    }

    #[test]
    fn policy_tests_are_found_by_place_and_name() {
        assert!(is_example_test("examples/policies/pharo.test.json"));
        assert!(!is_example_test("examples/policies/pharo.json"));
        assert!(is_policy_case("cases/policy/limits/sliding.yaml"));
        assert!(!is_policy_case("cases/policy/README.md"));
    }

    #[test]
    fn policy_tests_that_are_not_there_are_a_failure() {
        assert!(run_policy_tests(Path::new("unused"), std::iter::empty()).is_err());
    }
}
