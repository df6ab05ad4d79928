//! Real peers: reference servers and the official SDK clients, with the real gateway between them.
//!
//! What is needed from npm and PyPI is installed below the target directory, pinned, by the first test that
//! wants it. A scenario that cannot run fails; each test says how many have run.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod everything;
mod gateway;
mod install;
mod local;
mod modern;
mod older;
mod pair;
mod pharo;
mod protected;
mod servers;

/// What is shown of a peer, and how.
type Scenario<S> = (&'static str, fn(&mut S));

/// Runs them in order; how many there were.
#[expect(clippy::print_stderr, reason = "shown only when the test fails")]
fn play<S>(stage: &mut S, scenarios: &[Scenario<S>]) -> usize {
    for (name, scenario) in scenarios {
        eprintln!("scenario: {name}");
        scenario(stage);
    }
    scenarios.len()
}
