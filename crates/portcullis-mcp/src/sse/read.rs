//! The reader: bytes in any pieces, the same events.

use std::fmt;

use super::Event;

/// What the reader holds at most.
#[derive(Clone, Copy, Debug)]
pub struct SseLimits {
    /// Bytes of one line, without its end.
    pub line_bytes_max: usize,
    /// Bytes of all fields of one event.
    pub event_bytes_max: usize,
}

impl Default for SseLimits {
    /// 4 MiB, as for one message, and a little for the field's name.
    fn default() -> SseLimits {
        SseLimits { line_bytes_max: (4 << 20) + 16, event_bytes_max: 4 << 20 }
    }
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseFault {
    /// A line longer than the limit.
    LineTooLong,
    /// An event larger than the limit.
    EventTooLarge,
    /// A line that is not UTF-8.
    NotUtf8,
}

impl fmt::Display for SseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SseFault::LineTooLong => "a line of the event stream is longer than allowed",
            SseFault::EventTooLarge => "an event is larger than allowed",
            SseFault::NotUtf8 => "the event stream is not valid UTF-8",
        })
    }
}

impl std::error::Error for SseFault {}

/// Reads one stream. After a fault every further call gives that fault again.
#[derive(Debug)]
pub struct Reader {
    limits: SseLimits,
    line: Vec<u8>,
    event: Pending,
    after_carriage_return: bool,
    at_start: bool,
    fault: Option<SseFault>,
}

/// The event being collected.
#[derive(Debug, Default)]
struct Pending {
    event: Event,
    bytes: usize,
    has_data: bool,
    has_field: bool,
}

impl Reader {
    /// At the start of a stream.
    pub fn new(limits: SseLimits) -> Reader {
        Reader {
            limits,
            line: Vec::new(),
            event: Pending::default(),
            after_carriage_return: false,
            at_start: true,
            fault: None,
        }
    }

    /// Takes more bytes; puts each event that is complete into `out`, also those before a fault.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) -> Result<(), SseFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None => self.read(bytes, out).inspect_err(|fault| self.fault = Some(*fault)),
        }
    }

    /// Whether the stream, if it stops here, stops in the middle of an event or after a fault.
    pub fn is_unfinished(&self) -> bool {
        self.fault.is_some() || !self.line.is_empty() || self.event.has_field
    }

    fn read(&mut self, mut bytes: &[u8], out: &mut Vec<Event>) -> Result<(), SseFault> {
        while let Some(first) = bytes.first() {
            let after_carriage_return = std::mem::take(&mut self.after_carriage_return);
            if after_carriage_return && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, rest) = bytes.split_at_checked(end.unwrap_or(bytes.len())).unwrap_or_default();
            self.extend_line(piece)?;
            bytes = rest;
            if let Some((ending, rest)) = rest.split_first() {
                self.after_carriage_return = *ending == b'\r';
                self.end_line(out)?;
                bytes = rest;
            }
        }
        Ok(())
    }

    fn extend_line(&mut self, piece: &[u8]) -> Result<(), SseFault> {
        if self.line.len() + piece.len() > self.limits.line_bytes_max {
            return Err(SseFault::LineTooLong);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Event>) -> Result<(), SseFault> {
        // Not kept for the next line: a stream that once had a large event would hold its memory for good.
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|_| SseFault::NotUtf8)?;
        let text = match std::mem::take(&mut self.at_start) {
            true => text.strip_prefix('\u{feff}').unwrap_or(text),
            false => text,
        };
        if text.is_empty() {
            let pending = std::mem::take(&mut self.event);
            out.extend(pending.has_field.then_some(pending.event));
        } else {
            self.event.field(text, self.limits.event_bytes_max)?;
        }
        Ok(())
    }
}

impl Pending {
    fn field(&mut self, line: &str, bytes_max: usize) -> Result<(), SseFault> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.data(value),
            "event" => self.event.name = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.event.retry_ms = value.parse().ok();
            }
            // Comments have an empty name; unknown fields mean nothing.
            _ => return Ok(()),
        }
        self.has_field = true;
        self.bytes += line.len();
        match self.bytes > bytes_max.saturating_add("data: ".len()) {
            true => Err(SseFault::EventTooLarge),
            false => Ok(()),
        }
    }

    fn data(&mut self, value: &str) {
        if self.has_data {
            self.event.data.push('\n');
        }
        self.has_data = true;
        self.event.data.push_str(value);
    }
}
