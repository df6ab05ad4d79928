//! Bodies that come slowly or stop half way.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A body in pieces, with a pause before each, that may end in a fault.
pub(super) struct PiecewiseBody {
    rest: Bytes,
    piece_bytes: usize,
    pause: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    announced_bytes: u64,
}

impl PiecewiseBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        let piece_bytes = bytes.len().max(1);
        Self::dripping(bytes, piece_bytes, Duration::ZERO)
    }

    pub(super) fn dripping(bytes: Bytes, piece_bytes: usize, pause: Duration) -> Self {
        let announced_bytes = bytes.len() as u64;
        Self { rest: bytes, piece_bytes, pause, waiting: None, announced_bytes }
    }

    /// Announces all of it and sends half.
    pub(super) fn half(mut bytes: Bytes) -> Self {
        let announced_bytes = bytes.len() as u64;
        let rest = bytes.split_to(bytes.len() / 2);
        Self { announced_bytes, ..Self::whole(rest) }
    }
}

impl Body for PiecewiseBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.rest.is_empty() {
            let complete = self.announced_bytes == 0;
            let fault = || Err(std::io::Error::other("the stand-in stops half way"));
            return Poll::Ready((!complete).then(fault));
        }
        if !self.pause.is_zero() {
            let pause = self.pause;
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(pause)));
            if waiting.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.waiting = None;
        }
        let piece_bytes = self.piece_bytes.min(self.rest.len());
        let piece = self.rest.split_to(piece_bytes);
        self.announced_bytes = self.announced_bytes.saturating_sub(piece.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.announced_bytes)
    }
}
