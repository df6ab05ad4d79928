//! Tests with real files in temporary directories.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::print_stdout,
    reason = "in tests a panic is the message, also in the functions that the tests share"
)]

mod directory;
mod exports;
mod grants;
mod index;
mod log_appends;
mod log_crashes;
mod log_damage;
mod log_faults;
mod log_locks;
mod log_replays;
mod log_rotates;
mod log_shared;
mod log_tampered;
mod log_tampered_anywhere;
mod pins;
mod servers_and_policies;
mod setup;
