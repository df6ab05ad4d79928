//! Lines of bytes, bounded: what a program or a client writes on a pipe, one message on each.
//!
//! What a line means is not known here.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    /// It was longer than allowed, and is gone.
    TooLong,
}

/// Reads lines.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Lines<R> {
        let reader = BufReader::with_capacity(64 << 10, reader);
        Lines { reader, line: Vec::new(), bytes_max, skipping: false }
    }

    /// The next line that is not empty; none at the end. Safe to drop while waiting.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(self.take());
            }
            let end = memchr(b'\n', chunk);
            let part = end.and_then(|end| chunk.get(..end)).unwrap_or(chunk);
            if self.line.len() + part.len() > self.bytes_max {
                self.skipping = true;
                self.line = Vec::new();
            }
            if !self.skipping {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some()
                && let Some(line) = self.take()
            {
                return Ok(Some(line));
            }
        }
    }

    /// What was gathered, if it is anything.
    fn take(&mut self) -> Option<Line> {
        if std::mem::take(&mut self.skipping) {
            return Some(Line::TooLong);
        }
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        (!line.is_empty()).then_some(Line::Whole(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], bytes_max: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_too_long_ones_are_left_out() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        let text = b"one\r\n\n\ntwo\n12345678901\nlast";
        let expected = vec![whole("one"), whole("two"), Line::TooLong, whole("last")];
        assert_eq!(read(text, 10).await, expected);
    }

    #[tokio::test]
    async fn a_line_far_larger_than_allowed_is_never_kept() {
        let mut text = vec![b'x'; 1 << 20];
        text.extend_from_slice(b"\nok\n");
        assert_eq!(read(&text, 100).await, vec![Line::TooLong, Line::Whole(b"ok".to_vec())]);
        let mut lines = Lines::new(text.as_slice(), 100);
        lines.next().await.unwrap();
        assert!(lines.line.capacity() <= 100);
    }

    #[tokio::test]
    async fn the_longest_line_that_fits_is_kept() {
        assert_eq!(read(b"1234567890\n", 10).await, vec![Line::Whole(b"1234567890".to_vec())]);
    }
}
