//! From a command to the store: through the running gateway if there is one, else by opening it here.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use portcullis_json::{Limits, Object, Value, compact, parse};
use portcullis_state::log::{DecisionLog, LogOptions};
use portcullis_state::pins::Pins;
use portcullis_state::store::Store;
use portcullis_state::{DataDirectory, DirectoryLock, StateFault, SteadyClock};

use super::{Administration, changes, check_server, fits_beside_wraps, run, server_to_check};
use crate::instance::stored_spec;

/// How long the gateway may take for a command.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// Bytes of an answer: a long list of grants, or of tools with their definitions.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What to do when there is no data directory yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Refuse,
    Create,
}

/// The data directory at `path`.
pub(crate) fn directory(path: &Path, missing: Missing) -> Result<DataDirectory, String> {
    if missing == Missing::Refuse && !path.join("format").exists() {
        return Err(format!(
            "there is no data directory at `{}`; name it with `--data-dir`, or make one with `portcullis up`",
            path.display()
        ));
    }
    DataDirectory::open_or_create(path).map_err(|fault| fault.to_string())
}

/// Whether a gateway answers for this directory.
pub(crate) fn is_running(directory: &DataDirectory) -> bool {
    UnixStream::connect(directory.socket()).is_ok()
}

/// Runs a command, wherever the store is open.
pub(crate) fn request(
    path: &Path,
    missing: Missing,
    command: &str,
    arguments: Object,
) -> Result<Value, String> {
    let directory = directory(path, missing)?;
    match UnixStream::connect(directory.socket()) {
        Ok(stream) => ask(stream, command, arguments),
        Err(_) => here(&directory, command, &arguments),
    }
}

fn ask(mut stream: UnixStream, command: &str, arguments: Object) -> Result<Value, String> {
    let request = Object::new().with("command", command).with("arguments", arguments);
    let line = compact(&request.into()) + "\n";
    let mut answer = Vec::new();
    let exchanged = stream
        .set_read_timeout(Some(ANSWER_WAIT))
        .and_then(|()| stream.set_write_timeout(Some(ANSWER_WAIT)))
        .and_then(|()| stream.write_all(line.as_bytes()))
        .and_then(|()| BufReader::new(stream.take(ANSWER_BYTES_MAX as u64)).read_until(b'\n', &mut answer));
    exchanged.map_err(|error| format!("the running gateway does not answer: {error}"))?;
    let limits = Limits { bytes_max: ANSWER_BYTES_MAX, depth_max: 128 };
    let answer = parse(&answer, &limits)
        .map_err(|_| "the running gateway went away before it answered; look into its log".to_owned())?;
    match (answer.get("answer"), answer.get("error").and_then(Value::as_str)) {
        (Some(answer), _) => Ok(answer.clone()),
        (None, Some(message)) => Err(message.to_owned()),
        (None, None) => Err("the running gateway answered with something unknown".to_owned()),
    }
}

fn here(directory: &DataDirectory, command: &str, arguments: &Object) -> Result<Value, String> {
    let text = |fault: &dyn std::fmt::Display| fault.to_string();
    let clock = SteadyClock::system();
    let held = hold(directory, command, clock.now())?;
    let mut store = Store::open(directory).map_err(|fault| text(&fault))?;
    if let Some(name) = server_to_check(command, arguments) {
        let spec = |name: &str| stored_spec(&store, &store.server(name).map_err(|fault| text(&fault))?);
        return check_server(name, super::profile(arguments)?, spec);
    }
    let log = open_log(directory, &held, &clock)?;
    let now = clock.now();
    let pins = Pins::open(directory).map_err(|fault| text(&fault))?;
    let mut administration =
        Administration { store: &mut store, log: &log, pins: &pins, declared: None, now };
    let answer = run(&mut administration, command, arguments)?;
    if changes(command) {
        log.close().map_err(|fault| text(&fault))?;
    }
    Ok(answer)
}

/// The directory, for this process.
struct Hold {
    /// Wraps use it too; what they write is read first, what we write they read.
    beside_wraps: bool,
    _lock: DirectoryLock,
}

/// Wraps come and go with their clients: what an administrator does about their tools must not wait for that.
fn hold(directory: &DataDirectory, command: &str, now: Timestamp) -> Result<Hold, String> {
    match directory.lock(command, now) {
        Ok(lock) => Ok(Hold { beside_wraps: false, _lock: lock }),
        Err(StateFault::HeldByWraps { .. }) if fits_beside_wraps(command) => {
            let lock = directory.lock_shared(command, now).map_err(|fault| fault.to_string())?;
            Ok(Hold { beside_wraps: true, _lock: lock })
        }
        Err(fault) => Err(fault.to_string()),
    }
}

/// Time begins with the last record: a clock that was set back brings nothing to life.
fn open_log(directory: &DataDirectory, held: &Hold, clock: &Arc<SteadyClock>) -> Result<DecisionLog, String> {
    let key = directory.checkpoint_key().map_err(|fault| fault.to_string())?;
    let (path, reads, ages) = (directory.log(), clock.clone(), clock.clone());
    let options = LogOptions {
        clock: Arc::new(move || reads.now()),
        age_clock: Arc::new(move || ages.unstepped()),
        ..LogOptions::default()
    };
    let opened = match held.beside_wraps {
        false => DecisionLog::open(&path, key, options).map(|(log, opened)| {
            opened.latest.into_iter().for_each(|latest| clock.start_from(latest));
            log
        }),
        // Nothing is charged here, so nothing that others charge matters.
        true => {
            DecisionLog::joining(&path, key, options).and_then(|joining| joining.join(Box::new(|_| Ok(()))))
        }
    };
    opened.map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::ToSpan as _;
    use portcullis_state::log::{Action, Entry, Event};

    /// A clock that was set back must not bring an expired grant to life in what a command says or does.
    #[test]
    fn without_a_gateway_time_begins_with_the_last_record() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        let made = directory(&path, Missing::Create).unwrap();
        let later = Timestamp::now() + 2.hours();
        let key = made.checkpoint_key().unwrap();
        let (log, _) = DecisionLog::open(&made.log(), key, LogOptions::default()).unwrap();
        let started = Event::new(Action::Started);
        log.append(later, &Entry::Event(&started)).unwrap().wait().unwrap();
        log.close().unwrap();
        let ask =
            |command: &str, arguments: Object| request(&path, Missing::Refuse, command, arguments).unwrap();
        ask("server add", Object::new().with("name", "s").with("url", "http://127.0.0.1:1/"));
        let policy = r#"{"version":"1","default":"allow"}"#;
        ask("policy add", Object::new().with("name", "p").with("server", "s").with("source", policy));
        let expires = (Timestamp::now() + 1.hours()).to_string();
        let new =
            Object::new().with("label", "a").with("server", "s").with("policy", "p").with("expires", expires);
        let made = ask("grant create", new);
        let state = made.get("grant").and_then(|grant| grant.get("state")?.as_str().map(str::to_owned));
        assert_eq!(state.as_deref(), Some("expired"));
    }
}
