//! Tests with real files in temporary directories.

mod directory;
mod grants;
mod index;
mod log_appends;
mod log_crashes;
mod log_faults;
mod log_replays;
mod log_rotates;
mod log_tampered;
mod servers_and_policies;
mod setup;
