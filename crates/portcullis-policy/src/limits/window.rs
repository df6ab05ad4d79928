//! How long a limit looks back: a sliding length, or a calendar unit in a time zone.

use jiff::tz::TimeZone;

use super::calendar::{self, Unit};
use crate::path::listed;
use crate::time::Time;

/// The longest window.
pub(crate) const WINDOW_SECONDS_MAX: u64 = 366 * 86_400;

/// A window as a policy writes it: `"minute"`, `60`, `"15m"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowLength {
    pub(crate) seconds: u64,
    /// Set when it was written by name; only then can it follow the calendar.
    pub(crate) unit: Option<Unit>,
}

impl WindowLength {
    pub(crate) fn parse(text: &str) -> Result<WindowLength, String> {
        if let Some(unit) = Unit::from_name(text) {
            return Ok(WindowLength { seconds: unit.sliding_seconds(), unit: Some(unit) });
        }
        let wrong = || {
            format!(
                "`{text}` is not a window; write {}, whole seconds, or a number with s, m, h, d or w (`15m`)",
                listed(&Unit::NAMES)
            )
        };
        let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
        let seconds_each = match text.strip_prefix(digits) {
            Some("s") => 1,
            Some("m") => 60,
            Some("h") => 3_600,
            Some("d") => 86_400,
            Some("w") => 7 * 86_400,
            _ => return Err(wrong()),
        };
        let count: u64 = plain_number(digits).ok_or_else(wrong)?;
        WindowLength::from_seconds(count.saturating_mul(seconds_each))
            .map_err(|message| format!("`{text}` cannot be a window: {message}"))
    }

    pub(crate) fn from_seconds(seconds: u64) -> Result<WindowLength, String> {
        if (1..=WINDOW_SECONDS_MAX).contains(&seconds) {
            return Ok(WindowLength { seconds, unit: None });
        }
        Err(format!("a window lasts from 1 second to 366 days, not {seconds} seconds"))
    }

    /// For messages: "minute", "15 minutes".
    pub(crate) fn words(self) -> String {
        if let Some(unit) = Unit::ALL.into_iter().find(|unit| unit.sliding_seconds() == self.seconds) {
            return unit.name().to_owned();
        }
        let steps = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
        let whole = steps.into_iter().find(|(length, _)| self.seconds.is_multiple_of(*length));
        let (length, name) = whole.unwrap_or((1, "seconds"));
        format!("{} {name}", self.seconds / length)
    }
}

/// Digits without sign or leading zero.
fn plain_number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && !digits.starts_with('0')).then(|| digits.parse().ok()).flatten()
}

/// A window with everything it needs.
#[derive(Clone, Debug)]
pub enum Window {
    /// Every interval of this many seconds.
    Sliding {
        /// The length.
        seconds: u64,
    },
    /// From the unit's start to its end in a time zone.
    Calendar {
        /// The unit.
        unit: Unit,
        /// Where midnight is.
        zone: TimeZone,
    },
}

impl Window {
    /// The first instant whose charges still count at `now`.
    pub(crate) fn since(&self, now: Time) -> Time {
        match self {
            // Half-open: what happened exactly one window ago is outside.
            Window::Sliding { seconds } => now.minus_seconds(*seconds).next(),
            Window::Calendar { unit, zone } => calendar::window(*unit, zone, now).0,
        }
    }

    /// Roughly how far back it looks; never too short.
    pub(crate) fn seconds_at_most(&self) -> u64 {
        match self {
            Window::Sliding { seconds } => *seconds,
            // A day of clock changes on top covers every month and every time zone.
            Window::Calendar { unit, .. } => unit.sliding_seconds() + 86_400,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_length_agree() {
        for (text, seconds) in [
            ("minute", 60),
            ("1m", 60),
            ("60s", 60),
            ("hour", 3600),
            ("36h", 129_600),
            ("1w", 604_800),
            ("week", 604_800),
            ("month", 2_678_400),
            ("31d", 2_678_400),
        ] {
            assert_eq!(WindowLength::parse(text).unwrap().seconds, seconds, "{text}");
        }
        assert_eq!(WindowLength::from_seconds(60).unwrap().words(), "minute");
        assert_eq!(WindowLength::from_seconds(900).unwrap().words(), "15 minutes");
        assert_eq!(WindowLength::from_seconds(61).unwrap().words(), "61 seconds");
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in [
            "",
            "m",
            "0m",
            "01m",
            "-1m",
            "1.5h",
            "1 m",
            "fortnight",
            "Minute",
            "367d",
            "60",
            "99999999999999999999s",
        ] {
            assert!(WindowLength::parse(text).is_err(), "{text}");
        }
        assert!(WindowLength::from_seconds(0).is_err());
        assert!(WindowLength::from_seconds(WINDOW_SECONDS_MAX).is_ok());
    }
}
