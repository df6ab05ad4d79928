//! Who holds the data directory, as the `lock` file tells: one line of JSON for each process.
//!
//! The lock itself is the system's, and ends with its process; these lines are for messages only. Called by
//! `directory.rs` alone.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use portcullis_json::{Limits, Object, Value, parse};

use crate::{DataDirectory, StateFault};

/// Holders that a message names.
const NAMED_MAX: usize = 8;
/// A longer file is begun again: most of its lines are about processes that have ended.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// How long another process may take to make the directory.
const MAKING_WAIT_MAX: Duration = Duration::from_secs(10);
/// Between two looks.
pub(crate) const MAKING_PAUSE: Duration = Duration::from_millis(2);

/// The line of a process that has the directory for itself.
pub(crate) fn alone(purpose: &str, now: Timestamp) -> Value {
    line(purpose, now).with("alone", true).into()
}

/// The line of a process that shares it.
pub(crate) fn among_others(purpose: &str, now: Timestamp) -> Value {
    line(purpose, now).into()
}

fn line(purpose: &str, now: Timestamp) -> Object {
    Object::new()
        .with("pid", i64::from(std::process::id()))
        .with("since", now.to_string())
        .with("purpose", purpose)
}

/// Puts a line into the file, which is open for appending.
pub(crate) fn write(mut file: &File, holder: &Value) -> io::Result<()> {
    if file.metadata()?.len() > FILE_BYTES_MAX {
        file.set_len(0)?;
    }
    file.write_all(format!("{holder}\n").as_bytes())
}

/// Waits until nobody else makes the directory; the lock ends with the file.
pub(crate) fn wait_to_make(lock: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < MAKING_WAIT_MAX => {
                std::thread::sleep(MAKING_PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether whoever keeps a wrap out will be gone in a moment: wraps keep nobody out, and one that has the directory
/// for itself has said so.
pub(crate) fn is_passing(held: &StateFault, begun: Instant) -> bool {
    let is_known = matches!(held, StateFault::Held { pid, .. } if *pid != 0);
    !is_known && begun.elapsed() < MAKING_WAIT_MAX
}

/// Why the directory cannot be had, with the processes that are in the way.
pub(crate) fn held(directory: &DataDirectory) -> StateFault {
    // A holder may just be writing its line; then it is unknown.
    let text = std::fs::read(directory.lock_path()).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let holders: Vec<Value> = lines.filter_map(|line| parse(line, &Limits::document()).ok()).collect();
    // Who comes after one that was alone came after its end.
    if let Some(alone) = holders.last().filter(|last| last.get("alone").is_some()) {
        return held_alone(directory, alone);
    }
    let sharing = holders.iter().rev().take_while(|holder| holder.get("alone").is_none());
    let wraps: Vec<String> = sharing.filter(|holder| is_alive(holder)).take(NAMED_MAX).map(words).collect();
    if wraps.is_empty() {
        return held_alone(directory, &Value::Null);
    }
    StateFault::HeldByWraps { path: directory.path().to_owned(), holders: wraps.join(", ") }
}

fn held_alone(directory: &DataDirectory, holder: &Value) -> StateFault {
    let or = |key: &str, unknown: &str| text(holder, key).unwrap_or(unknown).to_owned();
    StateFault::Held {
        path: directory.path().to_owned(),
        pid: pid(holder),
        purpose: or("purpose", "starting"),
        since: or("since", "just now"),
        socket: directory.socket(),
    }
}

fn words(holder: &Value) -> String {
    let purpose = text(holder, "purpose").unwrap_or("wrap");
    format!("process {} ({purpose}, since {})", pid(holder), text(holder, "since").unwrap_or("just now"))
}

fn text<'a>(holder: &'a Value, key: &str) -> Option<&'a str> {
    holder.get(key).and_then(Value::as_str)
}

fn pid(holder: &Value) -> u32 {
    let pid = holder.get("pid").and_then(Value::as_number);
    pid.and_then(|pid| pid.spelling().parse().ok()).unwrap_or_default()
}

/// Where the system has no such directory, everybody counts as alive.
fn is_alive(holder: &Value) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(pid(holder).to_string()).exists()
}
