//! Reading the log forward while it grows, across rotation.
//!
//! `tail`, the index, `replay` and `export` all read through this. It never blocks: nothing new means
//! `None`, and the caller decides when to ask again. A record that is only half written is not seen yet.

use std::io;
use std::path::{Path, PathBuf};

use super::chain::Position;
use super::segment::{Line, Lines, Segment, segments, start_before};
use super::stored::Stored;

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the oldest record there is.
    Start,
    /// With whatever comes next.
    End,
    /// With the record after this one.
    After(u64),
}

/// Reads records in order.
pub struct Follower {
    directory: PathBuf,
    current: Option<(Segment, Lines)>,
    last: Option<Position>,
    skip_through: u64,
}

/// One record with the line it stands on.
#[derive(Debug)]
pub struct Followed {
    /// The record.
    pub record: Stored,
    /// Its line, without the line break.
    pub line: Vec<u8>,
    /// The segment it stands in.
    pub segment: u64,
    /// Where its line starts in the segment.
    pub offset: u64,
}

impl Follower {
    /// Starts reading a log's directory.
    pub fn open(directory: &Path, from: Begin) -> io::Result<Follower> {
        let mut follower =
            Follower { directory: directory.to_owned(), current: None, last: None, skip_through: 0 };
        let found = segments(directory)?;
        let start = match from {
            Begin::Start => found.first(),
            Begin::End => found.last(),
            Begin::After(sequence) => {
                follower.skip_through = sequence;
                let holds = |segment: &&Segment| segment.first <= sequence.saturating_add(1);
                found.iter().rev().find(holds).or(found.first())
            }
        };
        if let Some(segment) = start {
            let near = if from == Begin::End { u64::MAX } else { follower.skip_through };
            let offset = start_before(&segment.path, near)?;
            follower.enter(segment.clone(), offset)?;
        }
        if from == Begin::End {
            follower.skip_to_end()?;
        }
        Ok(follower)
    }

    /// Goes on behind a record whose place is known.
    pub fn resume(directory: &Path, segment: u64, offset: u64, last: Position) -> io::Result<Follower> {
        let mut follower =
            Follower { directory: directory.to_owned(), current: None, last: Some(last), skip_through: 0 };
        follower.enter(Segment::in_directory(directory, segment), offset)?;
        Ok(follower)
    }

    fn enter(&mut self, segment: Segment, offset: u64) -> io::Result<()> {
        let lines = Lines::open(&segment.path, offset)?;
        self.current = Some((segment, lines));
        Ok(())
    }

    fn skip_to_end(&mut self) -> io::Result<()> {
        let mut newest = None;
        while let Some((_, line)) = self.complete_line()? {
            newest = Some(line);
        }
        self.last = newest.and_then(|line| Stored::read(&line.bytes).ok()).map(|r| r.position);
        Ok(())
    }

    /// The next record, if it is there already. An error of kind `InvalidData`: the chain is broken here.
    pub fn next_record(&mut self) -> io::Result<Option<Followed>> {
        loop {
            let Some((segment, line)) = self.complete_line()? else {
                match self.next_segment()? {
                    Some(next) => self.enter(next, 0)?,
                    None => return Ok(None),
                }
                continue;
            };
            let record = Stored::read(&line.bytes)
                .map_err(|error| broken(&self.directory, segment, &line, &error.to_string()))?;
            if self.last.is_some_and(|last| !may_follow(&last, &record, segment)) {
                let what = "the record does not follow the one before";
                return Err(broken(&self.directory, segment, &line, what));
            }
            self.last = Some(record.position);
            if record.position.sequence > self.skip_through {
                let (line, offset) = (line.bytes, line.offset);
                return Ok(Some(Followed { record, line, segment, offset }));
            }
        }
    }

    fn complete_line(&mut self) -> io::Result<Option<(u64, Line)>> {
        let Some((segment, lines)) = &mut self.current else {
            return Ok(None);
        };
        match lines.next_line()? {
            Some(line) if line.complete => Ok(Some((segment.first, line))),
            Some(line) => lines.unread(&line).map(|()| None),
            None => Ok(None),
        }
    }

    /// The segment after the current one. It exists only once the current one is complete.
    fn next_segment(&self) -> io::Result<Option<Segment>> {
        let current = self.current.as_ref().map_or(0, |(segment, _)| segment.first);
        let after = self.last.map_or(current, |last| last.sequence.max(current));
        let next = segments(&self.directory)?.into_iter().find(|segment| segment.first > after);
        // Read to the end before turning the page: the last lines may have come after the last look.
        let complete = next.as_ref().is_none_or(|next| next.first == after + 1);
        Ok(next.filter(|_| complete || self.current_is_gone()))
    }

    fn current_is_gone(&self) -> bool {
        self.current.as_ref().is_none_or(|(segment, _)| !segment.path.exists())
    }
}

/// Only the first record of a segment may follow a gap: older ones may have been retired meanwhile.
fn may_follow(last: &Position, record: &Stored, segment: u64) -> bool {
    let sequence = record.position.sequence;
    if sequence == last.sequence + 1 {
        record.previous == last.hash
    } else {
        sequence > last.sequence && sequence == segment
    }
}

fn broken(directory: &Path, segment: u64, line: &Line, what: &str) -> io::Error {
    let path = Segment::in_directory(directory, segment).path;
    let place = format!("`{}` at byte {}: {what}", path.display(), line.offset);
    io::Error::new(io::ErrorKind::InvalidData, place)
}
