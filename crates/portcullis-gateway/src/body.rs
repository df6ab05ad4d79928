//! The body of an answer: one piece, or a stream that a task fills.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use http_body::SizeHint;
use tokio::sync::mpsc;

/// What an answer consists of.
pub(crate) enum Body {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// Events, as the task that relays them writes them. Dropping this tells the task.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body {
    pub(crate) fn empty() -> Body {
        Body::Whole(None)
    }

    pub(crate) fn text(text: impl Into<Bytes>) -> Body {
        Body::Whole(Some(text.into()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream(events) => {
                events.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Body::Stream(_) => SizeHint::default(),
        }
    }
}
