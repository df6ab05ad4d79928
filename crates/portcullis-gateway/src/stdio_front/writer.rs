//! The one writer of a pipe: lines in the order in which they came.

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::record::Closing;

/// How long the last lines may take.
pub(super) const LAST_WRITES_MS: u64 = 1_000;

/// A line for the client.
pub(super) struct Said {
    pub(super) line: Bytes,
    /// The client has waited for the answer; how it went is written down behind its back.
    pub(super) closing: Option<Closing>,
}

impl From<Bytes> for Said {
    fn from(line: Bytes) -> Said {
        Said { line, closing: None }
    }
}

/// Writes until nobody is left who writes, or nobody reads.
pub(super) async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Said>) {
    while let Some(Said { line, closing }) = lines.recv().await {
        let written = match output.write_all(&line).await {
            // Flushed once for everything that is ready.
            Ok(()) if lines.is_empty() => output.flush().await,
            other => other,
        };
        drop(closing);
        if let Err(error) = written {
            tracing::info!(%error, "the client does not read any more");
            return;
        }
    }
}
