//! The one writer of a pipe: lines in the order in which they came.

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// How long the last lines may take.
pub(super) const LAST_WRITES_MS: u64 = 1_000;

/// Writes until nobody is left who writes, or nobody reads.
pub(super) async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Bytes>) {
    while let Some(line) = lines.recv().await {
        let written = match output.write_all(&line).await {
            // Flushed once for everything that is ready.
            Ok(()) if lines.is_empty() => output.flush().await,
            other => other,
        };
        if let Err(error) = written {
            tracing::info!(%error, "the client does not read any more");
            return;
        }
    }
}
