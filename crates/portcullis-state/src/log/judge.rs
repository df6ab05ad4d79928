//! A look at a log before it is opened: where it ends, what is torn, what is missing. Changes nothing.
//!
//! Torn is what a crash leaves: bytes behind the last good record that were never confirmed, or a segment
//! that was just being started. Damaged is what was confirmed and is missing or changed: records up to the
//! newest kept checkpoint (`head`), records behind a line that no longer holds, the link between the last
//! segments. `open.rs` acts on it.

use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::chain::{Hash, Position};
use super::checkpoint::{self, read_head};
use super::segment::{Line, Lines, Segment, line_before, segments};
use super::stored::{NotARecord, Stored};

/// What was found.
#[derive(Default)]
pub(crate) struct Finding {
    /// Where the log goes on; nothing if there is no record at all.
    pub(crate) end: Option<(Segment, Scan)>,
    /// Segments that cannot be part of it, newest first.
    pub(crate) aside: Vec<Segment>,
    /// What was confirmed and is missing or changed.
    pub(crate) damage: Option<String>,
}

/// What a look through one segment found.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) good_length: u64,
    pub(crate) total_length: u64,
    pub(crate) last: Option<Position>,
    /// The latest time of its records.
    pub(crate) latest: Option<Timestamp>,
    pub(crate) log_id: Option<String>,
    pub(crate) started: Option<Timestamp>,
    first_previous: Option<Hash>,
    pub(crate) since_checkpoint: u32,
    /// Where the durable checkpoint's line ends, if it was found with its hash.
    pub(crate) head_end: Option<u64>,
    /// The first line that does not hold was one, and is no torn write.
    changed_behind: bool,
}

/// Looks at the log in `directory`.
pub(crate) fn judge(directory: &Path) -> io::Result<Finding> {
    let mut finding = Finding::default();
    let head = match read_head(directory)? {
        Some(Ok(head)) => Some(head.position),
        Some(Err(_)) => {
            finding.damage = Some("the `head` file is unreadable".to_owned());
            None
        }
        None => None,
    };
    let mut found = segments(directory)?;
    while let Some(last) = found.pop() {
        let scan = scan(&last, head)?;
        match standing(&last, &scan, found.last())? {
            Standing::Sound => {
                finding.note(changed_behind(&scan));
                finding.note(missing_confirmed(&scan, &last, head));
                finding.end = Some((last, scan));
                return Ok(finding);
            }
            Standing::Unfinished => {}
            Standing::Broken(what) => finding.note(Some(what.to_owned())),
        }
        finding.aside.push(last);
    }
    finding.note(head.map(|_| "all segments are missing".to_owned()));
    Ok(finding)
}

impl Finding {
    /// The first fault is the one that is told.
    fn note(&mut self, damage: Option<String>) {
        self.damage = self.damage.take().or(damage);
    }
}

/// Reads records as long as they are good and in order.
fn scan(segment: &Segment, head: Option<Position>) -> io::Result<Scan> {
    let mut found = Scan { total_length: segment.path.metadata()?.len(), ..Scan::default() };
    let mut lines = Lines::open(&segment.path, 0)?;
    while let Some(line) = lines.next_line()? {
        match Stored::read(&line.bytes) {
            Ok(record) if line.complete && found.is_next(segment, &record) => {
                found.take(&record, line.offset + line.bytes.len() as u64 + 1, head);
            }
            read => {
                found.changed_behind = found.was_changed(&line, &read, &mut lines)?;
                break;
            }
        }
    }
    Ok(found)
}

impl Scan {
    fn is_next(&self, segment: &Segment, record: &Stored) -> bool {
        match self.last {
            Some(last) => record.position.sequence == last.sequence + 1 && record.previous == last.hash,
            None => record.position.sequence == segment.first && record.kind == "segment",
        }
    }

    fn take(&mut self, record: &Stored, end: u64, head: Option<Position>) {
        if self.last.is_none() {
            self.log_id = record.text("log").map(str::to_owned);
            self.started = Some(record.time);
            self.first_previous = Some(record.previous);
        }
        self.since_checkpoint = if record.kind == checkpoint::KIND { 0 } else { self.since_checkpoint + 1 };
        if Some(record.position) == head {
            self.head_end = Some(end);
        }
        self.last = Some(record.position);
        self.latest = self.latest.max(Some(record.time));
        self.good_length = end;
    }

    /// A torn write has no seal at its end and nothing sealed behind it. Anything else was a record once,
    /// and a call may have left on its word.
    fn was_changed(
        &self,
        line: &Line,
        read: &Result<Stored, NotARecord>,
        lines: &mut Lines,
    ) -> io::Result<bool> {
        if line.complete && matches!(read, Ok(_) | Err(NotARecord::HashWrong)) {
            return Ok(true);
        }
        let last = self.last.map_or(0, |last| last.sequence);
        while let Some(line) = lines.next_line()? {
            if Stored::read(&line.bytes).is_ok_and(|record| record.position.sequence > last) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_header_only(&self, segment: &Segment) -> bool {
        self.last.is_some_and(|last| last.sequence == segment.first) && self.good_length == self.total_length
    }
}

/// How the newest segment stands to the one before.
enum Standing {
    Sound,
    /// It was being started when the process ended, or when a rotation failed.
    Unfinished,
    Broken(&'static str),
}

fn standing(segment: &Segment, scan: &Scan, before: Option<&Segment>) -> io::Result<Standing> {
    if scan.last.is_none() {
        let broken = Standing::Broken("the first record of the last segment was changed");
        return Ok(if scan.changed_behind { broken } else { Standing::Unfinished });
    }
    let Some(before) = before else {
        return Ok(Standing::Sound);
    };
    if continues(segment, scan, before)? {
        return Ok(Standing::Sound);
    }
    // A rotation that failed and could not be undone: the segment before went on.
    let went_on = |last: Position| last.sequence >= segment.first;
    if scan.is_header_only(segment) && self::scan(before, None)?.last.is_some_and(went_on) {
        return Ok(Standing::Unfinished);
    }
    Ok(Standing::Broken("the last segment does not continue the one before"))
}

fn continues(segment: &Segment, scan: &Scan, before: &Segment) -> io::Result<bool> {
    let end = before.path.metadata()?.len();
    let line = match line_before(&before.path, end) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        line => line?,
    };
    let last = Stored::read(&line).ok().map(|record| record.position);
    Ok(last.is_some_and(|last| last.sequence + 1 == segment.first && Some(last.hash) == scan.first_previous))
}

fn changed_behind(scan: &Scan) -> Option<String> {
    let last = scan.last.map_or(0, |last| last.sequence);
    scan.changed_behind.then(|| format!("record {} was changed, the last good one is {last}", last + 1))
}

/// What is missing although it was confirmed.
fn missing_confirmed(scan: &Scan, segment: &Segment, head: Option<Position>) -> Option<String> {
    let head = head?;
    let last = scan.last?.sequence;
    if head.sequence > last {
        return Some(format!(
            "records up to {} were on stable storage, the last good one is {last}",
            head.sequence
        ));
    }
    let here = head.sequence >= segment.first;
    (here && scan.head_end.is_none()).then(|| format!("record {} was replaced", head.sequence))
}
