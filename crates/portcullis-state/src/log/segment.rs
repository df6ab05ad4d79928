//! Segment files: their names, their order, and reading their lines.
//!
//! A segment is named after the sequence number of its first record, so that a directory listing shows
//! the log's order and a gap can be named.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
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

/// So much is read from the start to the end; only larger parts are halved first.
const HALVED_BYTES_MIN: u64 = 64 << 10;
/// Bytes that are looked at to find where a line starts.
const LOOK_BYTES: usize = 16 << 10;

/// The start of a line that is not behind record `sequence`, and not far before it: found by halving, so
/// that nobody reads a whole segment to see its end.
pub(crate) fn start_before(path: &Path, sequence: u64) -> io::Result<u64> {
    let file = File::open(path)?;
    let (mut low, mut high) = (0, file.metadata()?.len());
    while high - low > HALVED_BYTES_MIN {
        let middle = low + (high - low) / 2;
        match line_after(&file, middle)? {
            Some((start, found)) if start < high && found <= sequence => low = start,
            // Also where no line can be made out: what is read from `low` on tells what is there.
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The first line that starts behind byte `offset`: where, and the number of its record.
fn line_after(file: &File, offset: u64) -> io::Result<Option<(u64, u64)>> {
    let mut bytes = vec![0; LOOK_BYTES];
    let read = file.read_at(&mut bytes, offset)?;
    bytes.truncate(read);
    let Some(line_break) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let line = bytes.split_off(line_break + 1);
    Ok(number_of(&line).map(|number| (offset + line_break as u64 + 1, number)))
}

/// The number that a line starts with.
fn number_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.split(|byte| *byte == b',').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
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
