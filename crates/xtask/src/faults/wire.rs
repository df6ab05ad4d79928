//! HTTP/1.1 on plain sockets, as far as peers need it that must be able to break it.

use std::io::{self, BufRead, Read as _};

const HEAD_LINES_MAX: usize = 200;
const LINE_BYTES_MAX: u64 = 64 << 10;
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A request or an answer.
pub(crate) struct Message {
    /// The first line.
    pub(crate) start: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The second word of the first line: a path, or a status.
    pub(crate) fn second_word(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> u16 {
        self.second_word().parse().unwrap_or(0)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The next message; nothing when the other side has closed in between.
pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Message>> {
    let start = line(reader)?;
    if start.is_empty() {
        return Ok(None);
    }
    let mut headers = Vec::new();
    for _ in 0..HEAD_LINES_MAX {
        let line = line(reader)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut message = Message { start, headers, body: Vec::new() };
    message.body = body(reader, &message)?;
    Ok(Some(message))
}

fn body(reader: &mut impl BufRead, message: &Message) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if message.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return chunks(reader);
    }
    let is_answer = message.start.starts_with("HTTP/");
    let length = message.header("content-length").and_then(|length| length.parse().ok());
    // Until the end, where nothing says how long it is and something may be there.
    let without = if is_answer && !matches!(message.status(), 202 | 204) { BODY_BYTES_MAX } else { 0 };
    let read = reader.take(length.unwrap_or(without)).read_to_end(&mut bytes)?;
    match length {
        Some(length) if read as u64 != length => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(bytes),
    }
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let size = line(reader)?;
        let size = u64::from_str_radix(size.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
        if reader.take(size).read_to_end(&mut bytes)? as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line(reader)?;
        if size == 0 {
            return Ok(bytes);
        }
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(text: &str) -> io::Result<String> {
        read(&mut text.as_bytes()).map(|message| message.map(|message| message.text()).unwrap_or_default())
    }

    #[test]
    fn bodies_end_where_the_head_says() {
        assert_eq!(body_of("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabcd").unwrap(), "ab");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(body_of(chunked).unwrap(), "abc");
        assert_eq!(body_of("HTTP/1.0 200 OK\r\n\r\nall of it").unwrap(), "all of it");
    }

    #[test]
    fn a_body_that_ends_early_is_no_body() {
        assert!(body_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab").is_err());
        assert!(body_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab").is_err());
    }

    #[test]
    fn a_connection_closed_in_between_is_no_message() {
        assert!(read(&mut "".as_bytes()).unwrap().is_none());
    }
}
