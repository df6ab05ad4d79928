//! The `portcullis` command as its users run it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod commands;
mod documents;
mod peers;
mod pins;
mod policy_check;
mod policy_commands;
mod protect;
mod running;
mod scan;
mod serve;
mod stack;
mod up;
mod wrap;
