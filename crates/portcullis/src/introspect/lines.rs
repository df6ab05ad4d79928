//! Messages as lines over the standard streams of a program.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_catalogue::inert;
use portcullis_json::{Limits, Value, parse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::conversation::answer_to;
use super::process::{Process, Streams};
use super::{Fault, LocalCommand, MESSAGE_BYTES_MAX, MESSAGE_DEPTH_MAX, MESSAGES_MAX};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes that are kept of what the program last wrote to its standard error.
const LAST_WORDS_BYTES: usize = 1_024;

/// A program that is talked to.
pub(super) struct Lines {
    process: Process,
    input: Sender,
    output: Receiver,
    buffer: Vec<u8>,
    /// Bytes of the buffer in which no line ends.
    searched: usize,
    noise: usize,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    shown: String,
}

impl Lines {
    /// Starts the program. To be called inside the runtime.
    pub(super) fn start(command: &LocalCommand, shown: &str) -> Result<Lines, String> {
        let started = Process::start(command).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("cannot start {shown}: there is no such program; is it installed and in `PATH`?")
            }
            _ => format!("cannot start {shown}: {error}"),
        });
        let (process, Streams { input, output, errors }) = started?;
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        tokio::spawn(keep_last_words(errors, Arc::clone(&last_words)));
        let shown = shown.to_owned();
        Ok(Lines { process, input, output, buffer: Vec::new(), searched: 0, noise: 0, last_words, shown })
    }

    /// Lines that were no messages.
    pub(super) fn noise(&self) -> usize {
        self.noise
    }

    /// Closes its input and sees that it ends.
    pub(super) async fn end(self) {
        drop(self.input);
        self.process.end().await;
    }

    pub(super) async fn send(&mut self, text: &str) -> Result<(), Fault> {
        let line = format!("{text}\n");
        match self.input.write_all(line.as_bytes()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// Asks, and waits for the answer, or for a late result of another question.
    pub(super) async fn ask(
        &mut self,
        text: &str,
        id: i64,
        also: Option<i64>,
    ) -> Result<(i64, Value), Fault> {
        self.send(text).await?;
        for _ in 0..MESSAGES_MAX {
            let Some(message) = self.message().await? else {
                continue;
            };
            if message.get("method").is_some() {
                self.answer(&message).await?;
            } else if message.get("id") == Some(&Value::from(id)) {
                return Ok((id, message));
            } else if let Some(late) = also.filter(|late| message.get("id") == Some(&Value::from(*late)))
                && message.get("result").is_some()
            {
                return Ok((late, message));
            }
        }
        Err(Fault::Final(format!("{} says much and answers nothing", self.shown)))
    }

    /// The next message; `None` for a line that is none.
    async fn message(&mut self) -> Result<Option<Value>, Fault> {
        let line = self.line().await?;
        let limits = Limits { bytes_max: MESSAGE_BYTES_MAX, depth_max: MESSAGE_DEPTH_MAX };
        match parse(&line, &limits) {
            Ok(message @ Value::Object(_)) => Ok(Some(message)),
            // Programs greet and log where they should not. A message that is broken is another matter.
            Err(fault) if line.trim_ascii_start().starts_with(b"{") => {
                Err(Fault::Final(format!("{} sent a message that cannot be read: {fault}", self.shown)))
            }
            _ => {
                self.noise += 1;
                Ok(None)
            }
        }
    }

    async fn answer(&mut self, message: &Value) -> Result<(), Fault> {
        match answer_to(message) {
            Some(text) => self.send(&text).await,
            None => Ok(()),
        }
    }

    /// Bytes stay in the buffer when nobody waits any longer, so a read can be given up and begun again.
    async fn line(&mut self) -> Result<Vec<u8>, Fault> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                self.searched = 0;
                return Ok(std::mem::replace(&mut self.buffer, rest));
            }
            self.searched = self.buffer.len();
            if self.searched > MESSAGE_BYTES_MAX {
                let most = MESSAGE_BYTES_MAX >> 20;
                return Err(Fault::Final(format!("{} sent a line of more than {most} MiB", self.shown)));
            }
            self.buffer.reserve(CHUNK_BYTES);
            match self.output.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Err(self.ended().await),
                Ok(_) => {}
            }
        }
    }

    async fn ended(&mut self) -> Fault {
        let how = match self.process.status().await {
            Some(status) => format!(" ({status})"),
            None => String::new(),
        };
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<u8> = words.iter().copied().collect();
        let words = inert(String::from_utf8_lossy(&words).trim());
        let said = if words.is_empty() { String::new() } else { format!("; its last words: `{words}`") };
        Fault::Final(format!("{} ended before it had listed its tools{how}{said}", self.shown))
    }
}

async fn keep_last_words(mut errors: Receiver, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    while let Ok(1..) = errors.read_buf(&mut chunk).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(chunk.drain(..));
        let surplus = kept.len().saturating_sub(LAST_WORDS_BYTES);
        kept.drain(..surplus);
    }
}
