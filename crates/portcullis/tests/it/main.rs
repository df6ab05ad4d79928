//! The `portcullis` command as its users run it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod policy_check;
mod policy_commands;
