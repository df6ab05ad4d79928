//! Limits as values: what was charged when, whether more would fit, and when it is worth trying again.
//!
//! Pure: the clock is passed in, nothing is stored anywhere. The engine looks, the caller reserves; all
//! charges of a call are reserved together or not at all.

mod calendar;
mod counter;
mod counters;
mod snapshot;
mod window;

pub use calendar::Unit;
pub use counter::STEPS_MAX;
pub use counters::{COUNTERS_MAX, Charge, CounterKey, Counters, Limit, OverLimit, Reservation, Scope};
pub use window::Window;
pub(crate) use window::WindowLength;
