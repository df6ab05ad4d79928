//! The server behind the gateway: keeps its own list of the calls it received, and misbehaves on cue.
//!
//! What it does to a call is the name of the tool; what it does to every request is the last part of the path
//! (`/always/NAME`). So faulty and healthy calls run side by side, and no fault waits for another.

use std::collections::HashMap;
use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::misbehaviour;
use super::wire;

/// Between two looks for a connection or a cue.
const PAUSE: Duration = Duration::from_millis(2);

/// The server; it ends when dropped.
pub(crate) struct Upstream {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    port: AtomicU16,
    stopping: AtomicBool,
    refusing: AtomicBool,
    /// How often each call was received, by the key that its client gave it.
    received: Mutex<HashMap<String, Received>>,
    /// Weak, so that the thread that serves a connection is the one that closes it.
    open: Mutex<Vec<Weak<TcpStream>>>,
}

/// What was received of one call.
#[derive(Clone, Default)]
pub(crate) struct Received {
    pub(crate) tool: String,
    pub(crate) times: u64,
}

impl Upstream {
    pub(crate) fn start() -> Result<Upstream> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let shared = Arc::new(Shared::default());
        shared.port.store(listener.local_addr()?.port(), Ordering::SeqCst);
        let accepting = shared.clone();
        let accepting = std::thread::spawn(move || accept(listener, &accepting));
        Ok(Upstream { shared, accepting: Some(accepting) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.shared.port.load(Ordering::SeqCst)
    }

    /// From now on connections are refused and open ones cut, or accepted again.
    pub(crate) fn refuse(&self, refusing: bool) {
        self.shared.refusing.store(refusing, Ordering::SeqCst);
        if refusing {
            self.shared.cut_all();
        }
    }

    /// Everything received so far, by key.
    pub(crate) fn received(&self) -> HashMap<String, Received> {
        lock(&self.shared.received).clone()
    }

    /// How many calls of a tool came.
    pub(crate) fn count(&self, tool: &str) -> u64 {
        let received = lock(&self.shared.received);
        received.values().filter(|received| received.tool == tool).map(|received| received.times).sum()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        self.shared.cut_all();
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn cut_all(&self) {
        for stream in lock(&self.open).drain(..).filter_map(|stream| stream.upgrade()) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: TcpListener, shared: &Arc<Shared>) {
    let mut listener = Some(listener);
    while !shared.is_stopping() {
        if shared.refusing.load(Ordering::SeqCst) {
            listener = None;
        } else if listener.is_none() {
            let port = shared.port.load(Ordering::SeqCst);
            listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
        }
        let accepted = listener.as_ref().and_then(|listener| {
            listener.set_nonblocking(true).ok()?;
            listener.accept().ok()
        });
        match accepted {
            Some((stream, _)) => serve_in_background(stream, shared.clone()),
            None => std::thread::sleep(PAUSE),
        }
    }
}

fn serve_in_background(stream: TcpStream, shared: Arc<Shared>) {
    let stream = Arc::new(stream);
    {
        let mut open = lock(&shared.open);
        open.retain(|stream| stream.strong_count() > 0);
        open.push(Arc::downgrade(&stream));
    }
    std::thread::spawn(move || {
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_nodelay(true);
        // The gateway may cut a connection at any time.
        let _ = serve(&stream, &shared);
    });
}

fn serve(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = wire::read(&mut reader)? {
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let tool = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
        let is_call = message.get("method").and_then(Value::as_str) == Some("tools/call");
        if is_call {
            note(shared, &message, tool);
        }
        let always = request.second_word().strip_prefix("/always/");
        let cue = always.or(is_call.then_some(tool)).and_then(misbehaviour::named);
        match cue {
            None => answer(stream, &message)?,
            // Nothing follows on such a connection.
            Some(cue) => {
                return misbehaviour::perform(cue, stream, &ordinary(&message), &|| shared.is_stopping());
            }
        }
    }
    Ok(())
}

/// The client gives each call a key of its own: the name of its first argument, which the log keeps.
fn note(shared: &Shared, message: &Value, tool: &str) {
    let arguments = message.pointer("/params/arguments").and_then(Value::as_object);
    let key = arguments.and_then(|arguments| arguments.keys().next()).cloned().unwrap_or_default();
    let mut received = lock(&shared.received);
    let entry = received.entry(key).or_default();
    entry.tool = tool.to_owned();
    entry.times += 1;
}

fn answer(mut stream: &TcpStream, message: &Value) -> std::io::Result<()> {
    if message.get("id").is_none() {
        return stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    }
    let body = ordinary(message);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

/// What a healthy server says.
fn ordinary(message: &Value) -> String {
    let result = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 600_000, "cacheScope": "public"}),
        "tools/list" => {
            json!({"resultType": "complete", "tools": tools(), "ttlMs": 600_000, "cacheScope": "public"})
        }
        _ => {
            json!({"resultType": "complete", "content": [{"type": "text", "text": said(message)}], "isError": false})
        }
    };
    json!({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).to_string()
}

fn said(message: &Value) -> String {
    let is_big = message.pointer("/params/name").and_then(Value::as_str) == Some("big");
    if is_big { "x".repeat(BIG_BYTES) } else { "done".to_owned() }
}

/// An answer that is allowed, and too much for the buffers of a client that does not read.
const BIG_BYTES: usize = 3 << 20;
/// Tools that behave.
const GOOD_TOOLS: [&str; 4] = ["ok_read", "ok_write", "limited", "big"];

fn tools() -> Vec<Value> {
    let faulty = misbehaviour::ALL.iter().map(|(name, _)| *name);
    let tool = |name| json!({"name": name, "description": "", "inputSchema": {"type": "object"}});
    GOOD_TOOLS.into_iter().chain(faulty).map(tool).collect()
}
