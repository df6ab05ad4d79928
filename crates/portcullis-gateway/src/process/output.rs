//! What programs write to standard error: the last of it, for the operator.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, Weak};

use jiff::Timestamp;
use portcullis_catalogue::inert;
use tokio::io::AsyncRead;

use crate::gateway::Clock;
use crate::lines::{Line, Lines};
use crate::server::Server;

/// Lines kept of one server.
const LINES_MAX: usize = 1_000;
/// Bytes kept of one server.
const BYTES_MAX: usize = 256 << 10;
/// Bytes of one line.
const LINE_BYTES_MAX: usize = 8 << 10;

/// One line that a program wrote, or that the gateway wrote about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// When it came.
    pub at: Timestamp,
    /// The process that wrote it.
    pub pid: Option<u32>,
    /// The line, without the server's credentials. It may hold anything else: escape it before it is shown.
    pub text: String,
}

/// The last lines of a server's programs.
#[derive(Default)]
pub(crate) struct Output {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    lines: VecDeque<OutputLine>,
    bytes: usize,
}

impl Output {
    /// Keeps a line; the oldest make room for it.
    pub(crate) fn note(&self, at: Timestamp, pid: Option<u32>, text: String) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += text.len();
        kept.lines.push_back(OutputLine { at, pid, text });
        while kept.lines.len() > LINES_MAX || kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.lines.pop_front() else {
                return;
            };
            kept.bytes = kept.bytes.saturating_sub(oldest.text.len());
        }
    }

    pub(crate) fn lines(&self) -> Vec<OutputLine> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).lines.iter().cloned().collect()
    }
}

/// Reads standard error to its end.
pub(super) async fn keep(
    stderr: impl AsyncRead + Unpin,
    server: Weak<Server>,
    clock: Clock,
    pid: Option<u32>,
) {
    let mut lines = Lines::new(stderr, LINE_BYTES_MAX);
    while let Ok(Some(line)) = lines.next().await {
        let mut text = match line {
            Line::Whole(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Line::TooLong => "portcullis: a line on standard error was longer than is kept".to_owned(),
        };
        // Nobody reads on for a server that is gone; the program must not block for that.
        if let Some(server) = server.upgrade() {
            server.scrubber.text(&mut text);
            // A stranger wrote it, and it may be shown on a terminal.
            tracing::debug!(target: "server_output", "{}: {}", server.name(), inert(&text));
            server.output.note(clock(), pid, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_make_room() {
        let output = Output::default();
        for number in 0..LINES_MAX + 5 {
            output.note(Timestamp::UNIX_EPOCH, None, number.to_string());
        }
        let lines = output.lines();
        assert_eq!((lines.len(), lines[0].text.as_str()), (LINES_MAX, "5"));
        output.note(Timestamp::UNIX_EPOCH, None, "x".repeat(BYTES_MAX));
        assert_eq!(output.lines().len(), 1);
    }
}
