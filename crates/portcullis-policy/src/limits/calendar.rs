//! Calendar windows: where the second, minute, hour, day, week or month around an instant starts and ends
//! in a time zone.
//!
//! A day starts at the first instant of its date, so it may have 23 or 25 hours. An hour that occurs twice
//! is two windows. Offsets need not be whole hours, and clocks need not change on the hour.

use jiff::civil::{Date, Time as ClockTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

use crate::time::Time;

/// The named windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// 1 s
    Second,
    /// 60 s
    Minute,
    /// 3,600 s
    Hour,
    /// From midnight to midnight; sliding: 86,400 s.
    Day,
    /// From Monday to Sunday; sliding: 7 days.
    Week,
    /// From the first to the last; sliding: 31 days.
    Month,
}

impl Unit {
    /// All of them, shortest first.
    pub const ALL: [Unit; 6] = [Unit::Second, Unit::Minute, Unit::Hour, Unit::Day, Unit::Week, Unit::Month];
    /// Their names, in the same order.
    pub const NAMES: [&'static str; 6] = ["second", "minute", "hour", "day", "week", "month"];

    /// The name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Second => "second",
            Unit::Minute => "minute",
            Unit::Hour => "hour",
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
        }
    }

    /// The unit with this name.
    pub fn from_name(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// How long the sliding window of this name is.
    pub fn sliding_seconds(self) -> u64 {
        match self {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3_600,
            Unit::Day => 86_400,
            Unit::Week => 7 * 86_400,
            Unit::Month => 31 * 86_400,
        }
    }
}

/// The window around `now`: its first instant, and the first instant after it.
pub(crate) fn window(unit: Unit, zone: &TimeZone, now: Time) -> (Time, Time) {
    let instant = now.timestamp();
    let (start, end) = match unit {
        Unit::Second | Unit::Minute | Unit::Hour => {
            let seconds = i64::try_from(unit.sliding_seconds()).unwrap_or(1);
            (clock_start(seconds, zone, instant), clock_end(seconds, zone, instant))
        }
        Unit::Day | Unit::Week | Unit::Month => date_window(unit, zone, instant),
    };
    (Time::from_timestamp(start), Time::from_timestamp(end))
}

/// The local reading as seconds, so that equal quotients are equal labels on the clock face.
fn local_second(offset: Offset, instant: Timestamp) -> i64 {
    // `as_second` rounds towards zero; before 1970 that is not the second we are in.
    instant.as_microsecond().div_euclid(1_000_000) + i64::from(offset.seconds())
}

fn label(length: i64, offset: Offset, instant: Timestamp) -> i64 {
    local_second(offset, instant).div_euclid(length)
}

fn at_second(second: i64) -> Timestamp {
    let edge = if second < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(second).unwrap_or(edge)
}

fn clock_start(length: i64, zone: &TimeZone, instant: Timestamp) -> Timestamp {
    let offset = zone.to_offset(instant);
    let floor = at_second(label(length, offset, instant) * length - i64::from(offset.seconds()));
    let changes = zone.preceding(instant_after(instant)).map(|change| change.timestamp());
    for at in changes.take_while(|at| *at > floor) {
        let before = instant_before(at);
        let offset_before = zone.to_offset(before);
        if offset_before == zone.to_offset(at) {
            continue;
        }
        // The clock went back: what is read a second time is a window of its own. The clock went
        // forward: the window goes on behind the gap if the label is the same, else it starts here.
        let went_back = offset_before.seconds() > zone.to_offset(at).seconds();
        let same_label = label(length, offset_before, before) == label(length, offset, instant);
        return if went_back || !same_label { at } else { clock_start(length, zone, before) };
    }
    floor
}

fn clock_end(length: i64, zone: &TimeZone, instant: Timestamp) -> Timestamp {
    let offset = zone.to_offset(instant);
    let here = label(length, offset, instant);
    let ceiling = at_second((here + 1) * length - i64::from(offset.seconds()));
    let changes = zone.following(instant).map(|change| change.timestamp());
    for at in changes.take_while(|at| *at < ceiling) {
        let offset_after = zone.to_offset(at);
        if offset_after == offset {
            continue;
        }
        let went_back = offset_after.seconds() < offset.seconds();
        let same_label = label(length, offset_after, at) == here;
        return if went_back || !same_label { at } else { clock_end(length, zone, at) };
    }
    ceiling
}

/// `preceding` looks strictly before; a change at the very instant counts.
fn instant_after(instant: Timestamp) -> Timestamp {
    instant.checked_add(1.microsecond()).unwrap_or(Timestamp::MAX)
}

fn instant_before(instant: Timestamp) -> Timestamp {
    instant.checked_sub(1.microsecond()).unwrap_or(Timestamp::MIN)
}

fn date_window(unit: Unit, zone: &TimeZone, instant: Timestamp) -> (Timestamp, Timestamp) {
    let first = first_date(unit, instant.to_zoned(zone.clone()).date());
    let (mut start, mut end) = (first_instant(zone, first), first_instant(zone, next_date(unit, first)));
    // The clock can go back across midnight: then the date is read a second time after the next one has
    // begun, and the next one's window it is.
    if end <= instant {
        let following = next_date(unit, first);
        (start, end) = (end, first_instant(zone, next_date(unit, following)));
    }
    (start, end)
}

fn first_date(unit: Unit, date: Date) -> Date {
    match unit {
        Unit::Week => {
            let since_monday = i64::from(date.weekday().to_monday_zero_offset());
            date.checked_sub(since_monday.days()).unwrap_or(Date::MIN)
        }
        Unit::Month => date.first_of_month(),
        _ => date,
    }
}

fn next_date(unit: Unit, first: Date) -> Date {
    let span = match unit {
        Unit::Week => 1.week(),
        Unit::Month => 1.month(),
        _ => 1.day(),
    };
    first.checked_add(span).unwrap_or(Date::MAX)
}

fn first_instant(zone: &TimeZone, date: Date) -> Timestamp {
    let midnight = date.to_datetime(ClockTime::midnight());
    // In a fold `compatible` is the earlier reading, which is the first. In a gap it reads as if the clock
    // had not changed, and the first instant of the date is the change itself.
    let Ok(compatible) = zone.to_ambiguous_timestamp(midnight).compatible() else {
        return Timestamp::MAX;
    };
    if compatible.to_zoned(zone.clone()).datetime() == midnight {
        return compatible;
    }
    zone.preceding(instant_after(compatible)).next().map_or(compatible, |change| change.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: Unit, zone: &str, now: &str, start: &str, end: &str) {
        let zone = TimeZone::get(zone).unwrap();
        let time = |text: &str| Time::parse(text).unwrap();
        assert_eq!(window(unit, &zone, time(now)), (time(start), time(end)), "{unit:?} at {now}");
    }

    #[test]
    fn plain_windows_start_where_their_names_say() {
        check(
            Unit::Second,
            "UTC",
            "2026-11-15T10:00:00.999999Z",
            "2026-11-15T10:00:00Z",
            "2026-11-15T10:00:01Z",
        );
        check(Unit::Minute, "UTC", "2026-11-15T10:00:59.5Z", "2026-11-15T10:00:00Z", "2026-11-15T10:01:00Z");
        check(
            Unit::Hour,
            "Asia/Kathmandu",
            "2026-11-15T10:20:00Z",
            "2026-11-15T10:15:00Z",
            "2026-11-15T11:15:00Z",
        );
        check(
            Unit::Day,
            "America/New_York",
            "2026-11-15T03:00:00Z",
            "2026-11-14T05:00:00Z",
            "2026-11-15T05:00:00Z",
        );
        // 2026-11-15 is a Sunday: the week began on Monday the 9th.
        check(Unit::Week, "UTC", "2026-11-15T10:00:00Z", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z");
        check(Unit::Month, "UTC", "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z");
        check(Unit::Minute, "UTC", "1969-12-31T23:59:30.5Z", "1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z");
    }

    #[test]
    fn days_have_23_or_25_hours() {
        check(
            Unit::Day,
            "Europe/Berlin",
            "2026-03-29T12:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        );
        check(
            Unit::Day,
            "Europe/Berlin",
            "2026-10-25T12:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z",
        );
    }

    #[test]
    fn an_hour_that_occurs_twice_is_two_windows() {
        // New York, 1 November 2026: 01:00 to 02:00 in summer time, then again in winter time.
        check(
            Unit::Hour,
            "America/New_York",
            "2026-11-01T05:30:00Z",
            "2026-11-01T05:00:00Z",
            "2026-11-01T06:00:00Z",
        );
        check(
            Unit::Hour,
            "America/New_York",
            "2026-11-01T06:30:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T07:00:00Z",
        );
        // Lord Howe goes back by half an hour at 02:00, so half of an hour occurs twice.
        check(
            Unit::Hour,
            "Australia/Lord_Howe",
            "2026-04-04T14:30:00Z",
            "2026-04-04T14:00:00Z",
            "2026-04-04T15:00:00Z",
        );
        check(
            Unit::Hour,
            "Australia/Lord_Howe",
            "2026-04-04T15:10:00Z",
            "2026-04-04T15:00:00Z",
            "2026-04-04T15:30:00Z",
        );
    }

    #[test]
    fn an_hour_with_a_hole_is_one_window() {
        // Lord Howe goes forward from 02:00 to 02:30: the hour has its second half only.
        check(
            Unit::Hour,
            "Australia/Lord_Howe",
            "2026-10-03T15:45:00Z",
            "2026-10-03T15:30:00Z",
            "2026-10-03T16:00:00Z",
        );
        check(
            Unit::Hour,
            "Australia/Lord_Howe",
            "2026-10-03T15:10:00Z",
            "2026-10-03T14:30:00Z",
            "2026-10-03T15:30:00Z",
        );
    }

    #[test]
    fn a_day_starts_at_the_first_instant_of_its_date() {
        // São Paulo skipped midnight on 4 November 2018: the day began at 01:00.
        check(
            Unit::Day,
            "America/Sao_Paulo",
            "2018-11-04T12:00:00Z",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
        );
        // St John's went back at 00:01 until 2011: for a minute it was the 7th, then the 6th again.
        check(
            Unit::Day,
            "America/St_Johns",
            "2010-11-07T02:30:30Z",
            "2010-11-07T02:30:00Z",
            "2010-11-08T03:30:00Z",
        );
        check(
            Unit::Day,
            "America/St_Johns",
            "2010-11-07T02:45:00Z",
            "2010-11-07T02:30:00Z",
            "2010-11-08T03:30:00Z",
        );
    }

    #[test]
    fn windows_follow_one_another_without_gap() {
        for (zone, from) in [
            ("Europe/Berlin", "2026-03-27T00:00:00Z"),
            ("America/New_York", "2026-10-31T00:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-03T00:00:00Z"),
            ("America/St_Johns", "2010-11-06T00:00:00Z"),
            ("Pacific/Apia", "2011-12-28T00:00:00Z"),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            for unit in Unit::ALL {
                let mut now = Time::parse(from).unwrap();
                for _ in 0..80 {
                    let (start, end) = window(unit, &zone, now);
                    assert!(start <= now && now < end, "{unit:?} {now}");
                    let last = Time::from_microseconds(end.as_microseconds() - 1);
                    assert_eq!(window(unit, &zone, last), (start, end), "{unit:?} {now}");
                    assert_eq!(window(unit, &zone, end).0, end, "{unit:?} {end}");
                    now = end;
                }
            }
        }
    }
}
