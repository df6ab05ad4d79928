//! The reader, the writers and the canonical form, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod properties;
mod reading;
mod writing;
