//! A stand-in for the interop server inside a Pharo image: a test peer, and not Pharo.
//!
//! It speaks the same HTTP and JSON, quirks included, over a small world of packages, classes,
//! methods, traits and tests that really answer; it misbehaves on cue; it records what it was
//! sent. It shows that a client does its side right, not that it works with a real image.
//!
//! It is stricter than a real image in one point: a parameter that the endpoint does not know is
//! an error, so that no wrong name slips through.

mod answers;
mod body;
mod endpoints;
mod evaluator;
mod extra_endpoints;
mod fault;
mod fixture;
mod request;
mod screen;
mod server;
mod test_runs;
mod tonel;
mod world;

pub use fault::Fault;
pub use request::Recorded;
pub use server::{StandIn, refused_url};

/// How old the image side is that is stood in for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Age {
    /// Version 1: errors are plain texts, and none of the newer endpoints are there.
    PlainTextErrors,
    /// Version 3: errors with stack trace and receiver, none of the newer endpoints.
    Core,
    /// With the transcript, inspect, compile and remove endpoints.
    #[default]
    WithExtras,
}
