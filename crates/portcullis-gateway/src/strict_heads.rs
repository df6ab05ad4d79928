//! A client's socket on which each request can be framed in one way only.
//!
//! hyper is lenient where HTTP once was: it takes a bare LF for the end of a line, lets `Transfer-Encoding` win
//! over `Content-Length`, and counts equal lengths as one. A proxy in front of the gateway might read such a
//! request differently, and then what it takes for a body is a request to us. So every head is looked at before
//! hyper gets the byte that completes it. What is wrong with it ends the connection with hyper's own 400, in
//! its turn after earlier answers: the byte is replaced by one that no head may have.
//!
//! It does not read heads for their meaning; hyper does. The listener wraps every connection in it.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A byte that makes any head illegal.
const ILLEGAL: u8 = 0;
/// hyper looks at a head that came in pieces only when it seems complete.
const SEEMING_END: &[u8] = b"\n\n";
/// A length with more digits is nobody's.
const LENGTH_DIGITS_MAX: usize = 18;
/// How long a client that is still sending gets to read why its connection is closed.
const LINGER: Duration = Duration::from_secs(1);
/// What is read and thrown away meanwhile.
const LINGER_BYTES_MAX: usize = 1 << 20;

/// The socket; see above.
pub(crate) struct StrictHeads<S> {
    socket: S,
    framing: Framing,
    lingering: Option<Pin<Box<Sleep>>>,
    lingered_bytes: usize,
}

impl<S> StrictHeads<S> {
    pub(crate) fn new(socket: S, head_bytes_max: usize) -> StrictHeads<S> {
        let framing = Framing { next: Next::Head, head: Vec::new(), head_bytes_max };
        StrictHeads { socket, framing, lingering: None, lingered_bytes: 0 }
    }
}

/// Where in its requests the client is.
struct Framing {
    next: Next,
    /// As much of the current head as came so far.
    head: Vec<u8>,
    head_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Head,
    /// So many bytes of a body, then a head.
    Body(u64),
    /// Chunks, whose end only hyper knows: the connection takes no further request, see [`is_last`].
    Chunks,
    /// Refused; hyper still has to be shown an end.
    Refused,
    Nothing,
}

/// Whether a request must be the last one on its connection.
pub(crate) fn is_last(headers: &http::HeaderMap) -> bool {
    headers.contains_key(http::header::TRANSFER_ENCODING)
}

/// A head that two readers could frame differently.
#[derive(Debug, PartialEq, Eq)]
struct Ambiguous;

impl Framing {
    /// Follows what the client sent. If it must not go on: how many of these bytes are harmless.
    fn follow(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = match self.next {
                Next::Head => self.take_line(rest).map_err(|_| bytes.len() - rest.len())?,
                Next::Body(left) => {
                    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    self.next = match left - taken as u64 {
                        0 => Next::Head,
                        left => Next::Body(left),
                    };
                    taken
                }
                Next::Chunks | Next::Refused | Next::Nothing => rest.len(),
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Takes bytes up to the end of a line, or all of them.
    fn take_line(&mut self, bytes: &[u8]) -> Result<usize, Ambiguous> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let line = bytes.get(..end.map_or(bytes.len(), |end| end + 1)).unwrap_or_default();
        if self.head.len() + line.len() > self.head_bytes_max {
            return Err(Ambiguous);
        }
        self.head.extend_from_slice(line);
        if end.is_some() {
            if !self.head.ends_with(b"\r\n") {
                return Err(Ambiguous);
            }
            if self.head.ends_with(b"\r\n\r\n") || self.head == b"\r\n" {
                self.next = after(&self.head)?;
                self.head.clear();
            }
        }
        Ok(line.len())
    }

    fn is_between_requests(&self) -> bool {
        self.next == Next::Head && self.head.is_empty()
    }
}

/// What follows a complete head.
fn after(head: &[u8]) -> Result<Next, Ambiguous> {
    let mut lines = head.split(|byte| *byte == b'\n');
    if lines.next().is_none_or(|first| first == b"\r") {
        return Err(Ambiguous);
    }
    let mut next = None;
    for line in lines {
        let said = if let Some(value) = value_of(line, b"content-length") {
            Next::Body(length(value)?)
        } else if let Some(value) = value_of(line, b"transfer-encoding") {
            chunks(value)?
        } else {
            continue;
        };
        // Said twice, whether or not it is the same, or in both ways.
        if next.replace(said).is_some() {
            return Err(Ambiguous);
        }
    }
    Ok(match next {
        None | Some(Next::Body(0)) => Next::Head,
        Some(next) => next,
    })
}

/// The value, if this is the header of that name. hyper refuses a name with anything between it and the colon.
fn value_of<'h>(line: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    let value = rest.strip_prefix(b":")?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// Digits alone, and no more than any reader can hold.
fn length(value: &[u8]) -> Result<u64, Ambiguous> {
    let digits = std::str::from_utf8(value).map_err(|_| Ambiguous)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || digits.len() > LENGTH_DIGITS_MAX || !are_digits {
        return Err(Ambiguous);
    }
    digits.parse().map_err(|_| Ambiguous)
}

fn chunks(value: &[u8]) -> Result<Next, Ambiguous> {
    if value.eq_ignore_ascii_case(b"chunked") { Ok(Next::Chunks) } else { Err(Ambiguous) }
}

impl<S: AsyncRead + Unpin> StrictHeads<S> {
    /// Reads what the client still sends, so that closing does not take our answer from it.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        if timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut scratch = [0; 4096];
        while self.lingered_bytes < LINGER_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.lingered_bytes += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StrictHeads<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.framing.next {
            Next::Refused => {
                this.framing.next = Next::Nothing;
                if buffer.remaining() >= SEEMING_END.len() {
                    buffer.put_slice(SEEMING_END);
                }
                return Poll::Ready(Ok(()));
            }
            Next::Nothing => return Poll::Ready(Ok(())),
            Next::Head | Next::Body(_) | Next::Chunks => {}
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(context, buffer))?;
        let new = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        if let Err(harmless) = this.framing.follow(new) {
            this.framing.next = Next::Refused;
            if let Some(byte) = new.get_mut(harmless) {
                *byte = ILLEGAL;
            }
            buffer.set_filled(before + harmless + 1);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for StrictHeads<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.socket).poll_shutdown(context))?;
        if !this.framing.is_between_requests() {
            ready!(this.linger(context));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing() -> Framing {
        Framing { next: Next::Head, head: Vec::new(), head_bytes_max: 1000 }
    }

    #[test]
    fn requests_are_followed_one_after_the_other_however_they_are_cut() {
        let two = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\nPOST";
        for size in 1..two.len() {
            let mut framing = framing();
            for piece in two.chunks(size) {
                assert_eq!(framing.follow(piece), Ok(()), "in pieces of {size}");
            }
            assert_eq!((framing.next, &framing.head[..]), (Next::Head, &b"POST"[..]), "in pieces of {size}");
        }
    }

    #[test]
    fn what_follows_a_body_is_looked_at_again() {
        let bytes = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\nHost: x\r\n\r\n";
        assert_eq!(framing().follow(bytes), Err(41), "the line with the bare LF begins there");
    }

    #[test]
    fn one_length_or_chunks() {
        for (lines, expected) in [
            ("Host: x\r\n", Ok(Next::Head)),
            ("Content-Length: 0\r\n", Ok(Next::Head)),
            ("content-length:\t12 \r\n", Ok(Next::Body(12))),
            ("Transfer-Encoding: Chunked\r\n", Ok(Next::Chunks)),
            ("Content-Length: 12\r\nContent-Length: 12\r\n", Err(Ambiguous)),
            ("Content-Length: 12, 12\r\n", Err(Ambiguous)),
            ("Content-Length: +12\r\n", Err(Ambiguous)),
            ("Content-Length: 0x1\r\n", Err(Ambiguous)),
            ("Content-Length:\r\n", Err(Ambiguous)),
            ("Content-Length: 1000000000000000000\r\n", Err(Ambiguous)),
            ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", Err(Ambiguous)),
            ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", Err(Ambiguous)),
            ("Transfer-Encoding: gzip, chunked\r\n", Err(Ambiguous)),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Err(Ambiguous)),
            ("Transfer-Encoding: identity\r\n", Err(Ambiguous)),
        ] {
            assert_eq!(after(format!("POST / HTTP/1.1\r\n{lines}\r\n").as_bytes()), expected, "{lines}");
        }
    }

    #[test]
    fn a_head_is_bounded() {
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1000));
        assert_eq!(framing().follow(long.as_bytes()), Err(0));
    }
}
