//! Calendar windows and the `time.*` paths, by definition: an instant starts a window when the local
//! label just before it was another one, or, below the day, when local time went back there. Instants
//! are microseconds since the epoch.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::document::Period;

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

pub(crate) struct Zone {
    zone: TimeZone,
}

impl Zone {
    pub(crate) fn named(name: &str) -> Self {
        Self { zone: TimeZone::get(name).unwrap() }
    }

    /// Local time as if it were an instant: its reading on a clock in UTC is the local reading.
    fn local(&self, instant: i64) -> i64 {
        instant + i64::from(self.zone.to_offset(stamp(instant)).seconds()) * SECOND_US
    }

    pub(crate) fn hour(&self, instant: i64) -> i64 {
        self.local(instant).rem_euclid(DAY_US) / (3_600 * SECOND_US)
    }

    pub(crate) fn weekday(&self, instant: i64) -> &'static str {
        let days_since_monday = (self.local(instant).div_euclid(DAY_US) + 3).rem_euclid(7);
        ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][days_since_monday as usize]
    }

    pub(crate) fn date(&self, instant: i64) -> String {
        civil(self.local(instant)).to_string()
    }

    /// The latest change of offset at or before the instant, the earliest after it.
    fn change_before(&self, instant: i64) -> Option<i64> {
        let mut changes = self.zone.preceding(stamp(instant + 1));
        changes.next().map(|change| change.timestamp().as_microsecond())
    }

    pub(crate) fn change_after(&self, instant: i64) -> Option<i64> {
        let mut changes = self.zone.following(stamp(instant));
        changes.next().map(|change| change.timestamp().as_microsecond())
    }

    fn label(&self, period: Period, instant: i64) -> i64 {
        label(period, self.local(instant))
    }

    fn is_start(&self, period: Period, instant: i64) -> bool {
        let below_day = period < Period::Day;
        let went_back = self.local(instant - 1) > self.local(instant);
        self.label(period, instant - 1) != self.label(period, instant) || (below_day && went_back)
    }

    /// The start of the window that the instant lies in.
    pub(crate) fn start(&self, period: Period, instant: i64) -> i64 {
        let local = self.local(instant);
        let boundary = instant - (local - first_of(period, label(period, local)));
        match self.change_before(instant) {
            Some(change) if boundary > change => boundary,
            Some(change) if self.is_start(period, change) => change,
            Some(change) => self.start(period, change - 1),
            None => boundary,
        }
    }

    /// The start of the window after the one that the instant lies in.
    pub(crate) fn next_start(&self, period: Period, instant: i64) -> i64 {
        let local = self.local(instant);
        let boundary = instant + (first_of(period, label(period, local) + 1) - local);
        match self.change_after(instant) {
            Some(change) if boundary < change => boundary,
            Some(change) if self.is_start(period, change) => change,
            Some(change) => self.next_start(period, change),
            None => boundary,
        }
    }
}

fn stamp(instant: i64) -> Timestamp {
    Timestamp::from_microsecond(instant).unwrap()
}

fn civil(local: i64) -> Date {
    TimeZone::UTC.to_datetime(stamp(local)).date()
}

/// The number of the period since the epoch's, by the local clock alone.
fn label(period: Period, local: i64) -> i64 {
    match period {
        Period::Second => local.div_euclid(SECOND_US),
        Period::Minute => local.div_euclid(60 * SECOND_US),
        Period::Hour => local.div_euclid(3_600 * SECOND_US),
        Period::Day => local.div_euclid(DAY_US),
        Period::Week => (local.div_euclid(DAY_US) + 3).div_euclid(7),
        Period::Month => {
            let date = civil(local);
            i64::from(date.year()) * 12 + i64::from(date.month()) - 1
        }
    }
}

/// The first local reading that has the label.
fn first_of(period: Period, label: i64) -> i64 {
    match period {
        Period::Second => label * SECOND_US,
        Period::Minute => label * 60 * SECOND_US,
        Period::Hour => label * 3_600 * SECOND_US,
        Period::Day => label * DAY_US,
        Period::Week => (label * 7 - 3) * DAY_US,
        Period::Month => {
            let year = i16::try_from(label.div_euclid(12)).unwrap();
            let month = i8::try_from(label.rem_euclid(12) + 1).unwrap();
            let midnight = Date::constant(year, month, 1).at(0, 0, 0, 0);
            TimeZone::UTC.to_timestamp(midnight).unwrap().as_microsecond()
        }
    }
}

/// Reads an instant such as `2026-11-15T10:00:00Z`.
pub(crate) fn read_instant(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

pub(crate) fn write_instant(instant: i64) -> String {
    stamp(instant).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(zone: &str, period: Period, instant: &str, start: &str, next: &str) {
        let zone = Zone::named(zone);
        let instant = read_instant(instant);
        assert_eq!(write_instant(zone.start(period, instant)), start);
        assert_eq!(write_instant(zone.next_start(period, instant)), next);
    }

    #[test]
    fn days_may_have_23_or_25_hours() {
        let berlin = "Europe/Berlin";
        check(berlin, Period::Day, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z");
        check(berlin, Period::Day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z");
    }

    #[test]
    fn an_hour_that_occurs_twice_is_two_windows() {
        let berlin = "Europe/Berlin";
        check(berlin, Period::Hour, "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z");
        check(berlin, Period::Hour, "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z");
        // Half an hour is repeated here: 01:30 to 02:00.
        let howe = "Australia/Lord_Howe";
        check(howe, Period::Hour, "2026-04-04T14:45:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z");
        check(howe, Period::Hour, "2026-04-04T15:15:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z");
    }

    #[test]
    fn a_day_starts_at_the_first_instant_of_its_date() {
        // Midnight does not exist: the day starts at one o'clock.
        check(
            "Africa/Cairo",
            Period::Day,
            "2026-04-24T10:00:00Z",
            "2026-04-23T22:00:00Z",
            "2026-04-24T21:00:00Z",
        );
        // Midnight occurs twice: the day starts with the first.
        check(
            "America/Havana",
            Period::Day,
            "2026-11-01T05:30:00Z",
            "2026-11-01T04:00:00Z",
            "2026-11-02T05:00:00Z",
        );
        check(
            "America/Havana",
            Period::Hour,
            "2026-11-01T05:30:00Z",
            "2026-11-01T05:00:00Z",
            "2026-11-01T06:00:00Z",
        );
    }

    #[test]
    fn weeks_start_on_monday_and_months_on_the_first() {
        check("UTC", Period::Week, "2026-11-15T10:00:00Z", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z");
        check("UTC", Period::Month, "2026-12-15T10:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z");
        check(
            "Asia/Kolkata",
            Period::Hour,
            "2026-11-15T10:00:00Z",
            "2026-11-15T09:30:00Z",
            "2026-11-15T10:30:00Z",
        );
        check(
            "Europe/Berlin",
            Period::Month,
            "2026-03-31T22:00:00Z",
            "2026-03-31T22:00:00Z",
            "2026-04-30T22:00:00Z",
        );
        check(
            "UTC",
            Period::Minute,
            "2026-11-15T10:00:59.999999Z",
            "2026-11-15T10:00:00Z",
            "2026-11-15T10:01:00Z",
        );
    }

    #[test]
    fn the_local_clock_is_read_in_the_zone() {
        let zone = Zone::named("America/New_York");
        let instant = read_instant("2026-11-16T04:30:00Z");
        assert_eq!(zone.hour(instant), 23);
        assert_eq!(zone.weekday(instant), "sun");
        assert_eq!(zone.date(instant), "2026-11-15");
    }
}
