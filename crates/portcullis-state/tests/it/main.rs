//! Tests with real files in temporary directories.

mod log_appends;
mod setup;
