//! The two tools that take their time: they answer with a stream, report on it, and can be cancelled.

use std::sync::Arc;
use std::time::Duration;

use portcullis_json::{Number, Object, Value};
use portcullis_mcp::{Era, Id, result, write};
use tokio::sync::Notify;

use crate::answer::{Events, Gone};

/// Between two steps.
const STEP: Duration = Duration::from_millis(200);

const STORY: [&str; 5] = [
    "A castle had one gate, and everybody used it.",
    "One day a stranger came and wanted in.",
    "The gate asked: what do you want, and who said you may?",
    "The stranger had a good answer, and it was written down.",
    "So the gate went up, as far as the answer reached, and no further.",
];

/// Where a slow call reports, and under what name.
pub(crate) struct Report {
    pub(crate) era: Era,
    pub(crate) id: Id,
    pub(crate) progress_token: Option<Id>,
    pub(crate) wants_log: bool,
    pub(crate) cancelled: Arc<Notify>,
    pub(crate) events: Events,
}

impl Report {
    /// Counts up to `to`.
    pub(crate) async fn count(mut self, to: i64) -> Result<(), Gone> {
        for step in 1..=to {
            self.pause().await?;
            self.progress(step, to, &format!("{step} of {to}")).await?;
        }
        self.finish(&format!("counted to {to}")).await
    }

    /// Tells the story.
    pub(crate) async fn story(mut self) -> Result<(), Gone> {
        let length = i64::try_from(STORY.len()).unwrap_or(i64::MAX);
        for (step, sentence) in (1..).zip(STORY) {
            self.pause().await?;
            self.progress(step, length, sentence).await?;
            self.log(sentence).await?;
        }
        self.finish(&STORY.join(" ")).await
    }

    /// A cancelled call ends here, without an answer, as the protocol wants it.
    async fn pause(&mut self) -> Result<(), Gone> {
        tokio::select! {
            () = tokio::time::sleep(STEP) => Ok(()),
            () = self.cancelled.notified() => Err(Gone),
        }
    }

    async fn progress(&mut self, step: i64, total: i64, message: &str) -> Result<(), Gone> {
        let Some(token) = &self.progress_token else {
            return Ok(());
        };
        let params = Object::new()
            .with("progressToken", token.to_value())
            .with("progress", Value::Number(Number::from(step)))
            .with("total", total)
            .with("message", message);
        self.events.send(write::notification("notifications/progress", Some(params))).await
    }

    async fn log(&mut self, sentence: &str) -> Result<(), Gone> {
        if !self.wants_log {
            return Ok(());
        }
        let params = Object::new().with("level", "info").with("logger", "story").with("data", sentence);
        self.events.send(write::notification("notifications/message", Some(params))).await
    }

    async fn finish(mut self, text: &str) -> Result<(), Gone> {
        let result = result::tool_result(self.era, text, false, None);
        self.events.send(write::result(&self.id, result)).await
    }
}
