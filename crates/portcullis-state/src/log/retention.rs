//! Retention: old segments go, but never one that the counters may still need.
//!
//! What goes is recorded first (last record removed, and its hash), so that `verify` can tell a log that
//! was shortened on purpose from one whose beginning was taken away.

use std::time::Duration;

use jiff::Timestamp;

use super::chain::Position;
use super::fault::LogFault;
use super::keeper::Shared;
use super::line::Body;
use super::segment::{Lines, Segment, line_before, segments};
use super::stored::Stored;

/// Which segments may go. Without any bound everything is kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Closed segments to keep.
    pub segments_max: Option<usize>,
    /// A closed segment goes when its last record is older than this.
    pub age_max: Option<Duration>,
}

impl Retention {
    /// Everything of the last so many days; without a number everything.
    pub fn days(days_max: Option<u64>) -> Retention {
        let day = Duration::from_secs(24 * 60 * 60);
        let age_max = days_max.map(|days| day.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)));
        Retention { age_max, ..Retention::default() }
    }
}

/// Removes what may go. Only after a rotation, so the current segment is never concerned.
pub(crate) fn retire(shared: &Shared, now: Timestamp, age_now: Timestamp) -> Result<(), LogFault> {
    let unavailable = |error: std::io::Error| LogFault::Unavailable {
        reason: format!("retiring old segments failed: {error}"),
    };
    let Some(_keeping) = shared.keeping() else {
        return Ok(());
    };
    let found = segments(&shared.directory).map_err(unavailable)?;
    let retired = expired(&found, shared, age_now).map_err(unavailable)?;
    let Some(last) = retired.last() else {
        return Ok(());
    };
    let end = last_record(last).map_err(unavailable)?;
    let mut writer = shared.writing()?;
    writer.append(now, &retention_body(&end, retired.len()))?;
    // Signed before anything goes: what nobody vouches for explains nothing.
    writer.write_checkpoint(now)?;
    drop(writer);
    shared.sync()?;
    for segment in retired {
        shared.options.storage.remove(&segment.path).map_err(unavailable)?;
    }
    Ok(())
}

/// The oldest segments, as long as each may go.
fn expired<'a>(found: &'a [Segment], shared: &Shared, now: Timestamp) -> std::io::Result<&'a [Segment]> {
    let closed = found.len().saturating_sub(1);
    let mut count = 0;
    for pair in found.windows(2) {
        let [_, next] = pair else { break };
        let needed = next.first > shared.snapshot_sequence() + 1;
        let retention = &shared.options.retention;
        let too_many = retention.segments_max.is_some_and(|max| closed - count > max);
        if needed || !(too_many || is_too_old(next, retention, now)?) {
            break;
        }
        count += 1;
    }
    Ok(found.get(..count).unwrap_or_default())
}

/// The next segment started when this one ended.
fn is_too_old(next: &Segment, retention: &Retention, now: Timestamp) -> std::io::Result<bool> {
    let Some(age_max) = retention.age_max else {
        return Ok(false);
    };
    let Some(line) = Lines::open(&next.path, 0)?.next_line()? else {
        return Ok(false);
    };
    let started = Stored::read(&line.bytes).map(|record| record.time);
    Ok(started.is_ok_and(|started| now > started && now.duration_since(started).unsigned_abs() > age_max))
}

fn last_record(segment: &Segment) -> std::io::Result<Position> {
    let end = segment.path.metadata()?.len();
    let line = line_before(&segment.path, end)?;
    Stored::read(&line).map(|record| record.position).map_err(std::io::Error::other)
}

fn retention_body(end: &Position, segments: usize) -> Body {
    let mut body = Body::new("retention");
    body.number("through", Some(end.sequence));
    body.hash("through_hash", Some(&end.hash));
    body.number("segments", Some(segments as u64));
    body
}
