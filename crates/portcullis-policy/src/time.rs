//! Points in time, passed in from outside: this crate has no clock.

use std::fmt;

use jiff::Timestamp;

/// A point in time, in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

pub(crate) const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

impl Time {
    /// Microseconds since 1970 began in UTC.
    pub fn from_microseconds(microseconds: i64) -> Time {
        Time(microseconds)
    }

    /// Microseconds since 1970 began in UTC.
    pub fn as_microseconds(self) -> i64 {
        self.0
    }

    /// Reads `2026-11-15T10:00:00Z`, with any offset and fraction.
    pub fn parse(text: &str) -> Result<Time, String> {
        let timestamp: Timestamp = text
            .parse()
            .map_err(|_| format!("`{text}` is not a point in time; write it like `2026-11-15T10:00:00Z`"))?;
        Ok(Time(timestamp.as_microsecond()))
    }

    pub(crate) fn plus_seconds(self, seconds: u64) -> Time {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(seconds.saturating_mul(MICROSECONDS_PER_SECOND)))
    }

    pub(crate) fn minus_seconds(self, seconds: u64) -> Time {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Time(self.0.saturating_sub(seconds.saturating_mul(MICROSECONDS_PER_SECOND)))
    }

    pub(crate) fn next(self) -> Time {
        Time(self.0.saturating_add(1))
    }

    /// Whole seconds from here to `later`, rounded up, at least 1.
    pub(crate) fn seconds_until(self, later: Time) -> u64 {
        let microseconds = later.0.saturating_sub(self.0).max(1);
        u64::try_from(microseconds).unwrap_or(1).div_ceil(MICROSECONDS_PER_SECOND.unsigned_abs())
    }

    /// As the calendar's crate has it; beyond the years it knows, its first or last instant.
    pub fn timestamp(self) -> Timestamp {
        let edge = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_microsecond(self.0).unwrap_or(edge)
    }

    pub(crate) fn from_timestamp(timestamp: Timestamp) -> Time {
        Time(timestamp.as_microsecond())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.timestamp().fmt(f)
    }
}
