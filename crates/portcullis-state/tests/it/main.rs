//! Tests with real files in temporary directories.

mod log_appends;
mod log_crashes;
mod log_faults;
mod log_replays;
mod log_rotates;
mod log_tampered;
mod setup;
