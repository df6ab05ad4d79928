//! The `portcullis` command as its users run it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod catalogue;
mod command;
mod commands;
mod documents;
mod local_servers;
#[cfg(feature = "otlp")]
mod otlp;
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
