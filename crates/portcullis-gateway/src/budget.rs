//! Memory for large bodies: read piece by piece, each within its own bound and all within a common one.
//!
//! Small bodies are bounded by the number of requests at once and take nothing from the budget.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body up to this size is small.
const SMALL_BYTES: usize = 64 << 10;
/// The budget is counted in pieces of this size.
const PIECE_BYTES: usize = 1 << 10;

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Larger than this body may be.
    TooLarge,
    /// All large bodies together would be larger than they may be.
    NoRoom,
    /// It broke off.
    Broken,
}

/// What all large bodies may take together.
pub(crate) struct Budget {
    free: Arc<Semaphore>,
}

/// What one body takes; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    permit: Option<OwnedSemaphorePermit>,
    pieces: usize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Budget {
        let pieces = (bytes_max / PIECE_BYTES).min(Semaphore::MAX_PERMITS);
        Budget { free: Arc::new(Semaphore::new(pieces)) }
    }

    /// The whole body, and what it takes as long as it, or what was made of it, is kept.
    pub(crate) async fn collect<B>(&self, mut body: B, bytes_max: usize) -> Result<(Bytes, Spent), Unread>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
    {
        let mut spent = Spent::default();
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let data = frame.map_err(|_| Unread::Broken)?.into_data().unwrap_or_default();
            let bytes = first.len() + whole.len() + data.len();
            if bytes > bytes_max {
                return Err(Unread::TooLarge);
            }
            self.spend(&mut spent, bytes)?;
            match (first.is_empty() && whole.is_empty(), whole.is_empty()) {
                // Most bodies come in one piece, which need not be copied.
                (true, _) => first = data,
                (false, true) => {
                    whole.extend_from_slice(&std::mem::take(&mut first));
                    whole.extend_from_slice(&data);
                }
                (false, false) => whole.extend_from_slice(&data),
            }
        }
        Ok((if whole.is_empty() { first } else { whole.freeze() }, spent))
    }

    fn spend(&self, spent: &mut Spent, bytes: usize) -> Result<(), Unread> {
        let pieces = if bytes <= SMALL_BYTES { 0 } else { bytes.div_ceil(PIECE_BYTES) };
        let more = u32::try_from(pieces.saturating_sub(spent.pieces)).map_err(|_| Unread::NoRoom)?;
        if more == 0 {
            return Ok(());
        }
        let taken = self.free.clone().try_acquire_many_owned(more).map_err(|_| Unread::NoRoom)?;
        spent.pieces = pieces;
        match &mut spent.permit {
            Some(permit) => permit.merge(taken),
            none => *none = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    use http_body_util::StreamBody;

    fn body(pieces: &[usize]) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Unpin {
        let frames: Vec<_> =
            pieces.iter().map(|size| Ok(http_body::Frame::data(Bytes::from(vec![b'x'; *size])))).collect();
        StreamBody::new(futures_util::stream::iter(frames))
    }

    #[tokio::test]
    async fn large_bodies_share_their_room_and_small_ones_need_none() {
        let budget = Budget::new(300 << 10);
        let (bytes, first) = budget.collect(body(&[100 << 10, 100 << 10]), 1 << 20).await.unwrap();
        assert_eq!(bytes.len(), 200 << 10);
        let second = budget.collect(body(&[150 << 10]), 1 << 20).await;
        assert_eq!(second.unwrap_err(), Unread::NoRoom);
        assert_eq!(budget.collect(body(&[60 << 10]), 1 << 20).await.unwrap().0.len(), 60 << 10);
        drop(first);
        assert!(budget.collect(body(&[150 << 10]), 1 << 20).await.is_ok());
        assert_eq!(budget.free.available_permits(), 300);
    }

    #[tokio::test]
    async fn a_body_has_its_own_bound_too_and_comes_out_as_it_went_in() {
        let budget = Budget::new(1 << 20);
        assert_eq!(budget.collect(body(&[6, 5]), 10).await.unwrap_err(), Unread::TooLarge);
        let pieces =
            ["ab", "", "c", "de"].map(|text| Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(text))));
        let whole = budget.collect(StreamBody::new(futures_util::stream::iter(pieces)), 10).await.unwrap().0;
        assert_eq!(whole, "abcde");
        assert_eq!(budget.collect(body(&[]), 10).await.unwrap().0, "");
    }
}
