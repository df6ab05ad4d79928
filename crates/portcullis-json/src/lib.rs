//! Strict JSON as a value: one reader for messages and for policy documents.
//!
//! Whatever two readers could understand differently is refused: a key that stands twice in one object
//! (at any depth, however it is escaped), bytes that are not UTF-8, lone surrogates, a byte order mark,
//! anything after the value. Numbers keep their spelling and are compared by exact decimal value.
//! Depth, size and the length of numbers are bounded.
//!
//! This crate knows nothing of what the JSON means. Everything else in the workspace reads through it.

mod canonical;
mod decimal;
mod fault;
mod number;
mod pointer;
mod positions;
mod read;
mod value;
mod write;

pub use canonical::{Digest, canonical, digest};
pub use decimal::Decimal;
pub use fault::{Fault, FaultKind, Place};
pub use number::{EXPONENT_MAX, NUMBER_DIGITS_MAX, Number};
pub use pointer::Pointer;
pub use positions::{Position, Positions};
pub use read::{Limits, parse};
pub use value::{Key, Kind, Member, Object, Value};
pub use write::{compact, pretty, push_object, push_string};
