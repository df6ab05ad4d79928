//! What a server sends in answer to one request or in one session, read message by message, bounded.
//!
//! Over HTTP that is a stream of events; on a connection with messages of both sides, those that are for us.

use std::collections::VecDeque;

use http_body_util::BodyExt as _;
use hyper::body::Incoming as Incoming_;
use portcullis_json::Limits;
use portcullis_mcp::sse::{Event, Reader, SseLimits};
use portcullis_mcp::{Era, Incoming, Message, Sender};
use tokio::time::Instant;

use crate::duplex::Messages;
use crate::stop::UpstreamFault;

/// Nesting of one message.
pub(crate) const MESSAGE_DEPTH_MAX: usize = 128;

/// A stream that a server writes.
pub(crate) enum EventSource {
    Http(Box<HttpEvents>),
    Messages(Messages),
}

/// One event: the message in it, if it has one, and what it says about the stream.
pub(crate) struct Arrived {
    pub(crate) event: Event,
    pub(crate) message: Option<Message>,
}

/// The body of an answer over HTTP.
pub(crate) struct HttpEvents {
    body: Incoming_,
    reader: Reader,
    ready: VecDeque<Event>,
    era: Era,
    event_bytes_max: usize,
    /// When anything came, be it a comment.
    heard: Instant,
}

impl EventSource {
    pub(crate) fn new(body: Incoming_, era: Era, event_bytes_max: usize) -> EventSource {
        EventSource::Http(Box::new(HttpEvents::new(body, era, event_bytes_max)))
    }

    pub(crate) fn of_messages(messages: Messages) -> EventSource {
        EventSource::Messages(messages)
    }

    /// When the server last sent anything on this stream, also what is no event; none where others share
    /// the connection.
    pub(crate) fn heard(&self) -> Option<Instant> {
        match self {
            EventSource::Http(events) => Some(events.heard),
            EventSource::Messages(_) => None,
        }
    }

    /// The next event; none at the end of the stream. Safe to drop while waiting.
    pub(crate) async fn next(&mut self) -> Result<Option<Arrived>, UpstreamFault> {
        match self {
            EventSource::Http(events) => match events.next().await? {
                Some(event) => {
                    let message = events.message(&event)?;
                    Ok(Some(Arrived { event, message }))
                }
                None => Ok(None),
            },
            EventSource::Messages(messages) => {
                let message = messages.next().await?;
                Ok(message.map(|message| Arrived { event: Event::default(), message: Some(message) }))
            }
        }
    }
}

impl HttpEvents {
    pub(crate) fn new(body: Incoming_, era: Era, event_bytes_max: usize) -> HttpEvents {
        let limits = SseLimits { line_bytes_max: event_bytes_max + 16, event_bytes_max };
        let (reader, ready) = (Reader::new(limits), VecDeque::new());
        HttpEvents { body, reader, ready, era, event_bytes_max, heard: Instant::now() }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Event>, UpstreamFault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                None if self.reader.is_unfinished() => return Err(UpstreamFault::Broken),
                None => return Ok(None),
                Some(Err(_)) => return Err(UpstreamFault::Broken),
                Some(Ok(frame)) => self.take(frame.into_data().unwrap_or_default().as_ref())?,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), UpstreamFault> {
        self.heard = Instant::now();
        let mut events = Vec::new();
        let read = self.reader.push(bytes, &mut events);
        self.ready.extend(events);
        read.map_err(|fault| match fault {
            portcullis_mcp::sse::SseFault::NotUtf8 => UpstreamFault::NotMcp("a stream that is not UTF-8"),
            portcullis_mcp::sse::SseFault::LineTooLong | portcullis_mcp::sse::SseFault::EventTooLarge => {
                UpstreamFault::TooLarge
            }
        })
    }

    /// The message in an event; none in one that only keeps the stream going.
    fn message(&self, event: &Event) -> Result<Option<Message>, UpstreamFault> {
        if !event.is_message() {
            return Ok(None);
        }
        read_message(event.data.as_bytes(), self.era, self.event_bytes_max).map(Some)
    }
}

/// One message of a server, read as strictly as a client's.
pub(crate) fn read_message(bytes: &[u8], era: Era, bytes_max: usize) -> Result<Message, UpstreamFault> {
    let limits = Limits { bytes_max, depth_max: MESSAGE_DEPTH_MAX };
    let read = Incoming::read(bytes, Sender::Server, &limits).and_then(|incoming| incoming.place(era));
    read.map_err(|refused| {
        tracing::warn!(reason = %refused.refusal, "a server sent something that is no message");
        UpstreamFault::NotMcp("a message that cannot be read")
    })
}
