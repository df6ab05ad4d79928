//! JSON-RPC and MCP messages as types, read strictly and written from what was read.
//!
//! The way in is [`Incoming::read`]: bytes to a message whose envelope, method and keys hold, or a
//! [`Refused`]. [`Incoming::claim`] says which era the message names for itself, [`Incoming::place`] makes
//! it a [`Message`] of one era. [`params`] reads what a judge needs to know, [`headers`] compares and
//! builds the HTTP headers that repeat the body, [`list`] reads and filters lists, [`mod@write`] makes the
//! bytes that leave, [`sse`] frames event streams.
//!
//! Pure: this crate knows nothing of HTTP connections, of time, or of policies.

mod era;
mod id;
mod incoming;
mod keys;
mod message;
mod method;
mod refusal;

pub mod headers;
pub mod list;
pub mod meta;
pub mod params;
pub mod result;
pub mod sse;
pub mod tool;
pub mod write;

pub use era::{Claim, Era, LegacyRevision, SUPPORTED_REVISIONS};
pub use id::{ID_BYTES_MAX, Id};
pub use incoming::Incoming;
pub use message::{ErrorObject, Message, Notification, Outcome, Request, Response};
pub use method::{METHODS, Method, MethodKind, Sender, Subject};
pub use refusal::{FieldFault, Problem, Refusal, Refused, code, revisions};
