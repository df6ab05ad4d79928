//! The MCP configurations of client programs: found, read, and changed without touching the rest.
//!
//! Knows files and their formats; starts nothing, asks no network, and knows neither the gateway nor a
//! policy. The commands `protect` and `stack` use it.
//!
//! INVARIANT: secrets do not print. Values of environments and headers are [`Hidden`]: they can be written
//! back into the file that they came from, and shown nowhere.

mod backup;
mod client;
mod document;
mod entry;
mod guard;
mod jsonc;
mod mask;
mod package;
mod places;
mod protect;
mod redirect;
mod table;

pub use backup::{Additions, Backups, StepFault};
pub use client::{Client, UnknownClient};
pub use document::{Document, DocumentFault};
pub use entry::{Entry, HeaderValue, Hidden, Remote, Transport, Way};
pub use guard::{Guard, is_guarded, label};
pub use mask::{is_secret_name, masked_arguments, masked_url, may_stay_readable};
pub use places::{Format, Home, Place, Scope};
pub use protect::{Change, FileFault, Found, TakenBack, Undone, find, protect, read, redirect, undo};
pub use redirect::{Bridge, Redirected};
