//! Server-sent events: an incremental, bounded reader and a writer.
//!
//! Framing only. What stands in `data` is read by [`crate::Incoming`] before anybody relays it.

mod read;
mod write;

pub use read::{Reader, SseFault, SseLimits};
pub use write::{UnwritableField, comment, write_event};

/// One event: whatever fields stood before a blank line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `data` lines, joined by line feeds. Empty means: nothing to parse, only the other fields count.
    pub data: String,
    /// The `event` field: a name other than `message` is no MCP message.
    pub name: Option<String>,
    /// The `id` field.
    pub id: Option<String>,
    /// The `retry` field, in milliseconds.
    pub retry_ms: Option<u64>,
}

impl Event {
    /// An event that carries one message.
    pub fn message(text: String) -> Event {
        Event { data: text, name: Some("message".to_owned()), ..Event::default() }
    }

    /// Whether `data` is an MCP message, to be parsed.
    pub fn is_message(&self) -> bool {
        let named = self.name.as_deref().unwrap_or("message");
        named == "message" && !self.data.is_empty()
    }
}
