//! A stream that its server closed before the answer, taken up again by us.
//!
//! In the era of sessions a server may close the stream of a call and go on when somebody comes back for the rest. A
//! client over HTTP does that itself; one on a pipe cannot.

use std::time::Duration;

use portcullis_mcp::sse::Event;
use tokio::time::{Instant, sleep, sleep_until};

use super::{End, Purpose, Relay};
use crate::authenticate::Door;
use crate::events::EventSource;
use crate::forward::{EVENT_ID_BYTES_MAX, Payload, Reply};
use crate::record::Receipt;
use crate::session_verbs;
use crate::stop::{Stop, UpstreamFault};

/// How often the stream of one call is taken up again.
const RESUMES_MAX: u32 = 512;
/// How long to wait before, where the server does not say, and whatever it says.
const WAIT_MS: u64 = 1_000;
const WAIT_MS_MIN: u64 = 50;
const WAIT_MS_MAX: u64 = 10_000;

/// Where a stream is, for coming back to it.
#[derive(Default)]
pub(super) struct Place {
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
    resumes: u32,
    /// Of the stream that was taken up last.
    pub(super) receipt: Option<Receipt>,
}

impl Place {
    /// An event came, be it one without a message.
    pub(super) fn note(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            self.last_event_id = Some(id.clone()).filter(|id| id.len() <= EVENT_ID_BYTES_MAX);
        }
        self.retry_ms = event.retry_ms.or(self.retry_ms);
    }

    fn wait(&self) -> Duration {
        Duration::from_millis(self.retry_ms.unwrap_or(WAIT_MS).clamp(WAIT_MS_MIN, WAIT_MS_MAX))
    }
}

impl Relay {
    /// Whether it is on us to come back for the rest.
    pub(super) fn can_resume(&self) -> bool {
        self.caller.door == Door::Pipe
            && self.era.has_sessions()
            && matches!(self.purpose, Purpose::Call(_))
            && self.place.last_event_id.is_some()
            && self.place.resumes < RESUMES_MAX
    }

    /// The rest of the stream. Whoever goes away, or is sent away, meanwhile does not wait for it, and the call takes no
    /// longer than a call may.
    pub(super) async fn resume(&mut self, ceiling: Instant) -> Result<EventSource, End> {
        self.place.resumes += 1;
        let reply = tokio::select! {
            reply = self.come_back() => reply,
            () = self.out.closed() => return Err(End::ClientGone),
            why = self.lifetime.ended() => return Err(End::CutOff(why)),
            () = sleep_until(ceiling) => return Err(End::Failed(UpstreamFault::TimedOut)),
        };
        match reply {
            Ok(Reply { payload: Payload::Stream(events), receipt, .. }) => {
                let before = self.place.receipt.replace(receipt);
                before.into_iter().for_each(|before| before.finish_by(None));
                Ok(events)
            }
            Ok(reply) => {
                reply.close();
                Err(End::Failed(UpstreamFault::Broken))
            }
            Err(Stop::Upstream(fault)) => Err(End::Failed(fault)),
            Err(_) => Err(End::Failed(UpstreamFault::Broken)),
        }
    }

    async fn come_back(&self) -> Result<Reply, Stop> {
        sleep(self.place.wait()).await;
        session_verbs::resume(&self.gateway, self.caller.clone(), self.place.last_event_id.clone()).await
    }
}
