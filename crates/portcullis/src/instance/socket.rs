//! The command socket: one request per line, one answer per line, only for the owner of the directory.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use portcullis_json::{Limits, Object, Value, compact, parse};
use portcullis_state::DataDirectory;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Instance;
use crate::admin::REQUEST_BYTES_MAX;

/// Commands at one time; the next waits.
const COMMANDS_MAX: usize = 16;
/// How long a command may take to say what it wants.
const REQUEST_WAIT: Duration = Duration::from_secs(10);
/// How long a command may take to read its answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// After an accept that failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Takes the socket. Whoever holds the directory's lock may replace what a crash has left.
pub(super) fn listen(directory: &DataDirectory) -> Result<UnixListener, String> {
    let path = directory.socket();
    let fault = |error: std::io::Error| format!("cannot listen on `{}`: {error}", path.display());
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
        _ => {}
    }
    let listener = UnixListener::bind(&path).map_err(fault)?;
    // The directory itself is the owner's alone, so nobody gets in between.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(fault)?;
    Ok(listener)
}

/// Answers commands until the task is dropped.
pub(super) async fn answer(listener: UnixListener, instance: Arc<Instance>) {
    let places = Arc::new(Semaphore::new(COMMANDS_MAX));
    let mut commands = JoinSet::new();
    loop {
        let place = places.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let instance = instance.clone();
                commands.spawn(async move {
                    // A command that hangs up has given up.
                    let _ = one(stream, instance).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while commands.try_join_next().is_some() {}
    }
}

async fn one(stream: UnixStream, instance: Arc<Instance>) -> std::io::Result<()> {
    let (read, write) = stream.into_split();
    let mut line = Vec::new();
    let mut reader = BufReader::new(read.take(REQUEST_BYTES_MAX as u64));
    tokio::time::timeout(REQUEST_WAIT, reader.read_until(b'\n', &mut line)).await??;
    let work = tokio::task::spawn_blocking(move || carry_out(&instance, &line));
    let answer = match work.await {
        Ok(Ok(value)) => Object::new().with("answer", value),
        Ok(Err(message)) => Object::new().with("error", message),
        Err(_) => Object::new().with("error", "the command failed inside the gateway; see its log"),
    };
    give(write, &(compact(&answer.into()) + "\n"), ANSWER_WAIT).await
}

/// Whoever asked and does not listen is not waited for.
async fn give(mut write: impl AsyncWrite + Unpin, answer: &str, wait_max: Duration) -> std::io::Result<()> {
    tokio::time::timeout(wait_max, write.write_all(answer.as_bytes())).await?
}

fn carry_out(instance: &Instance, line: &[u8]) -> Result<Value, String> {
    let limits = Limits { bytes_max: REQUEST_BYTES_MAX, depth_max: 16 };
    let request = parse(line, &limits).map_err(|fault| format!("not a command: {fault}"))?;
    let command = request.get("command").and_then(Value::as_str).unwrap_or_default();
    let nothing = Object::new();
    let arguments = request.get("arguments").and_then(Value::as_object).unwrap_or(&nothing);
    instance.administer(command, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_read_the_answer_is_not_waited_for() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let answer = "x".repeat(64 << 20);
        let given = give(ours, &answer, Duration::from_millis(50)).await;
        assert_eq!(given.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    }
}
