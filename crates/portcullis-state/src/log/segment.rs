//! Segment files: their names, their order, and reading their lines.
//!
//! A segment is named after the sequence number of its first record, so that a directory listing shows
//! the log's order and a gap can be named.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::stored::LINE_BYTES_MAX;

const EXTENSION: &str = "jsonl";
const NAME_DIGITS: usize = 20;

/// One segment file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number in its name.
    pub first: u64,
    /// Where it is.
    pub path: PathBuf,
}

impl Segment {
    /// The segment that starts with record `first`.
    pub fn in_directory(directory: &Path, first: u64) -> Segment {
        let name = format!("{first:0width$}.{EXTENSION}", width = NAME_DIGITS);
        Segment { first, path: directory.join(name) }
    }

    fn from_path(path: PathBuf) -> Option<Segment> {
        let digits = path.file_name()?.to_str()?.strip_suffix(EXTENSION)?.strip_suffix('.')?;
        let well_formed = digits.len() == NAME_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
        let first = digits.parse().ok().filter(|_| well_formed)?;
        Some(Segment { first, path })
    }
}

/// The segments of a directory, in order. Other files are none of its business.
pub fn segments(directory: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        found.extend(Segment::from_path(entry?.path()));
    }
    found.sort_by_key(|segment| segment.first);
    Ok(found)
}

/// Lines of one file, from a byte on. A line is complete when its line break is there.
pub(crate) struct Lines {
    reader: BufReader<File>,
    offset: u64,
    number: u64,
}

/// One piece of a file.
#[derive(Debug)]
pub(crate) struct Line {
    /// Without the line break.
    pub(crate) bytes: Vec<u8>,
    /// Where it starts.
    pub(crate) offset: u64,
    /// Its number in the file, from 1, if read from the start.
    pub(crate) number: u64,
    /// Whether the line break was there. If not, these are the last bytes, or the line is too long.
    pub(crate) complete: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path, offset: u64) -> io::Result<Lines> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Lines { reader: BufReader::with_capacity(1 << 16, file), offset, number: 0 })
    }

    /// The next line; nothing at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = self.reader.by_ref().take(limit).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        let complete = bytes.last() == Some(&b'\n');
        if complete {
            bytes.pop();
        }
        let offset = self.offset;
        self.offset += read as u64;
        self.number += 1;
        Ok(Some(Line { bytes, offset, number: self.number, complete }))
    }

    /// Puts an incomplete line back, to be read again when there is more.
    pub(crate) fn unread(&mut self, line: &Line) -> io::Result<()> {
        self.offset = line.offset;
        self.number -= 1;
        self.reader.seek(SeekFrom::Start(line.offset)).map(drop)
    }
}

/// The line that starts at byte `offset` of a file, without its line break.
pub(crate) fn read_line(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let line = Lines::open(path, offset)?.next_line()?;
    Ok(line.map(|line| line.bytes).unwrap_or_default())
}

/// The last line that ends at byte `end` of a file, without its line break.
pub(crate) fn line_before(path: &Path, end: u64) -> io::Result<Vec<u8>> {
    let start = end.saturating_sub(LINE_BYTES_MAX as u64 + 1);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(end - start).read_to_end(&mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the last line is not complete"));
    }
    let line_start = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(bytes.split_off(line_start))
}
