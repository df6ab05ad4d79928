//! Clients of the gateway: one call at a time, and many at once. Each call has a key of its own.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::site::{CALLS, PATIENCE, token};
use super::wire::{self, Message};

/// How a call ended for its client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// The tool's result.
    Result,
    /// The gateway or a rule said no.
    Denied,
    /// An error of JSON-RPC or HTTP.
    Error,
    /// The connection was closed, or could not be made.
    Closed,
}

/// The bytes of one call.
pub(crate) fn request(server: &str, tool: &str, arguments: &Value) -> Vec<u8> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "faults", "version": "1"}});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let head = format!(
        "POST /mcp/{server} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Content-Length: {}\r\n\r\n",
        token(server),
        body.len()
    );
    [head, body].concat().into_bytes()
}

/// A connection to the gateway, made again when it was closed.
pub(crate) struct Client {
    port: u16,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(port: u16) -> Client {
        Client { port, connection: None }
    }

    /// Makes one call. An error is a client that was left waiting.
    pub(crate) fn call(&mut self, server: &str, tool: &str, arguments: &Value) -> Result<(Told, String)> {
        match self.exchange(&request(server, tool, arguments)) {
            Ok(answer) => judge(&answer),
            Err(error) if is_timeout(&error) => bail!("a call of `{tool}` at `{server}` was never answered"),
            Err(error) => {
                self.connection = None;
                Ok((Told::Closed, error.to_string()))
            }
        }
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<Message> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => BufReader::new(connect(self.port)?),
        };
        let connection = self.connection.insert(connection);
        connection.get_mut().write_all(request)?;
        let answer = wire::read(connection)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if answer.header("connection") == Some("close") {
            self.connection = None;
        }
        Ok(answer)
    }
}

pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The last message of an answer, which may be a stream of events.
fn judge(answer: &Message) -> Result<(Told, String)> {
    let text = answer.text();
    let is_stream = answer.header("content-type").is_some_and(|media| media.starts_with("text/event-stream"));
    let last = match is_stream {
        true => text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default(),
        false => text.as_str(),
    };
    let Ok(message) = serde_json::from_str::<Value>(last) else {
        return Ok((Told::Error, format!("{} {last}", answer.start)));
    };
    let is_error = message.pointer("/result/isError").and_then(Value::as_bool);
    let told = match is_error {
        Some(false) => Told::Result,
        Some(true) => Told::Denied,
        None => Told::Error,
    };
    if answer.status() == 200 && told == Told::Error && message.get("id") != Some(&json!(7)) {
        bail!("an answer without the id of its call: {last}");
    }
    Ok((told, last.to_owned()))
}

/// Gives every call a key that no other has.
#[derive(Clone, Default)]
pub(crate) struct Keys(Arc<AtomicU64>);

impl Keys {
    pub(crate) fn next(&self) -> String {
        format!("k{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What many calls came to.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) ends: BTreeMap<Told, u64>,
    /// Keys of calls that gave a result.
    pub(crate) with_result: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, key: String, told: Told) {
        if told == Told::Result {
            self.with_result.push(key);
        }
        *self.ends.entry(told).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: Tally) {
        for (told, count) in other.ends {
            *self.ends.entry(told).or_default() += count;
        }
        self.with_result.extend(other.with_result);
    }

    pub(crate) fn count(&self, told: &Told) -> u64 {
        self.ends.get(told).copied().unwrap_or(0)
    }

    pub(crate) fn all(&self) -> u64 {
        self.ends.values().sum()
    }
}

/// Calls without a pause, until stopped.
pub(crate) struct Load {
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Tally>>>,
}

/// After a connection that could not be made: the gateway may be about to start again.
const CLOSED_PAUSE: Duration = Duration::from_millis(5);

impl Load {
    /// `clients` threads that call one of `tools` at a time.
    pub(crate) fn start(port: u16, keys: &Keys, clients: usize, tools: &'static [&'static str]) -> Load {
        let stopping = Arc::new(AtomicBool::new(false));
        let threads = (0..clients).map(|number| {
            let (stopping, keys) = (stopping.clone(), keys.clone());
            std::thread::spawn(move || {
                let (mut client, mut tally) = (Client::new(port), Tally::default());
                for turn in number.. {
                    if stopping.load(Ordering::Relaxed) {
                        break;
                    }
                    let tool = tools.get(turn % tools.len()).context("no tools")?;
                    let key = keys.next();
                    let (told, _) = client.call(CALLS, tool, &json!({ key.as_str(): 1 }))?;
                    if told == Told::Closed {
                        std::thread::sleep(CLOSED_PAUSE);
                    }
                    tally.add(key, told);
                }
                Ok(tally)
            })
        });
        let threads = threads.collect();
        Load { stopping, threads }
    }

    /// Every client is waited for: none may be left without an answer.
    pub(crate) fn stop(self) -> Result<Tally> {
        self.stopping.store(true, Ordering::Relaxed);
        let mut all = Tally::default();
        for thread in self.threads {
            let tally = thread.join().ok().context("a client panicked")?;
            all.merge(tally?);
        }
        Ok(all)
    }
}

/// What threads found, in one place.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
