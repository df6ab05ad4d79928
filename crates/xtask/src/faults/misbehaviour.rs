//! What can be wrong with a server's answer, byte by byte. `upstream.rs` plays it, `upstream_faults.rs` asks for it.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// More than a test machine keeps in buffers, by far.
const GIANT_BYTES: u64 = 1 << 30;
static BLOCK: [u8; 64 << 10] = [b'x'; 64 << 10];
const DRIP_EVERY: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One way to misbehave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misbehaviour {
    HangBefore,
    HangInHead,
    HangInside,
    HalfClose,
    CloseAtOnce,
    ResetBefore,
    ResetInside,
    Drip,
    NotHttp,
    InvalidJson,
    InvalidEvents,
    EventsWithoutAnswer,
    HangInEvents,
    GiantWithLength,
    GiantInChunks,
    GiantEvent,
    EndlessEvents,
}

use Misbehaviour as M;

/// The names by which they are asked for.
pub(crate) const ALL: &[(&str, Misbehaviour)] = &[
    ("hang_before", M::HangBefore),
    ("hang_in_head", M::HangInHead),
    ("hang_inside", M::HangInside),
    ("half_close", M::HalfClose),
    ("close_at_once", M::CloseAtOnce),
    ("reset_before", M::ResetBefore),
    ("reset_inside", M::ResetInside),
    ("drip", M::Drip),
    ("not_http", M::NotHttp),
    ("invalid_json", M::InvalidJson),
    ("invalid_events", M::InvalidEvents),
    ("events_without_answer", M::EventsWithoutAnswer),
    ("hang_in_events", M::HangInEvents),
    ("giant_with_length", M::GiantWithLength),
    ("giant_in_chunks", M::GiantInChunks),
    ("giant_event", M::GiantEvent),
    ("endless_events", M::EndlessEvents),
];

pub(crate) fn named(name: &str) -> Option<Misbehaviour> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, misbehaviour)| *misbehaviour)
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const PROGRESS: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"on\"}}\n\n";

/// Answers `body` in the way asked for. `stopping` ends what would never end by itself.
pub(crate) fn perform(
    misbehaviour: Misbehaviour,
    mut stream: &TcpStream,
    body: &str,
    stopping: &dyn Fn() -> bool,
) -> io::Result<()> {
    let whole = json_head(body.len() as u64) + body;
    let half = whole.split_at_checked(whole.len() - body.len() / 2).unwrap_or_default().0;
    let mut say = |text: &str| stream.write_all(text.as_bytes());
    match misbehaviour {
        M::HangBefore => hang(stream, stopping),
        M::HangInHead => say("HTTP/1.1 200 OK\r\nContent-Ty").and_then(|()| hang(stream, stopping)),
        M::HangInside => say(half).and_then(|()| hang(stream, stopping)),
        M::HalfClose => {
            say(half)?;
            stream.shutdown(Shutdown::Write)?;
            hang(stream, stopping)
        }
        M::CloseAtOnce => Ok(()),
        M::ResetBefore => reset(stream),
        M::ResetInside => say(half).and_then(|()| reset(stream)),
        M::Drip => drip(stream, &whole, stopping),
        M::NotHttp => say("220 mail.example ESMTP\r\n\r\n"),
        M::InvalidJson => {
            let broken = body.replacen("\"result\"", "\"result\"\"", 1);
            say(&(json_head(broken.len() as u64) + &broken))
        }
        M::InvalidEvents => {
            say(EVENTS)?;
            stream.write_all(b"data: {\"jsonrpc\":\xff\xfe}\n\ndata: [\n\n")
        }
        M::EventsWithoutAnswer => say(EVENTS).and_then(|()| say(PROGRESS)),
        M::HangInEvents => {
            say(EVENTS)?;
            say(PROGRESS)?;
            hang(stream, stopping)
        }
        M::GiantWithLength => say(&json_head(GIANT_BYTES)).and_then(|()| pour(stream, false, stopping)),
        M::GiantInChunks => {
            say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            pour(stream, true, stopping)
        }
        M::GiantEvent => {
            say(EVENTS)?;
            say("data: ")?;
            pour(stream, false, stopping)
        }
        M::EndlessEvents => {
            say(EVENTS)?;
            while !stopping() {
                say(PROGRESS)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        }
    }
}

fn json_head(length: u64) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
}

/// Says nothing until the other side has gone.
fn hang(mut stream: &TcpStream, stopping: &dyn Fn() -> bool) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    while !stopping() {
        match stream.read(&mut [0; 64]) {
            Ok(0) => break,
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                break;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The connection is torn down, not ended, when it is closed next.
fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

fn drip(mut stream: &TcpStream, whole: &str, stopping: &dyn Fn() -> bool) -> io::Result<()> {
    for byte in whole.bytes() {
        if stopping() {
            break;
        }
        stream.write_all(&[byte])?;
        std::thread::sleep(DRIP_EVERY);
    }
    Ok(())
}

fn pour(mut stream: &TcpStream, in_chunks: bool, stopping: &dyn Fn() -> bool) -> io::Result<()> {
    let mut left = GIANT_BYTES;
    while left > 0 && !stopping() {
        if in_chunks {
            stream.write_all(format!("{:x}\r\n", BLOCK.len()).as_bytes())?;
        }
        stream.write_all(&BLOCK)?;
        if in_chunks {
            stream.write_all(b"\r\n")?;
        }
        left -= BLOCK.len() as u64;
    }
    Ok(())
}
