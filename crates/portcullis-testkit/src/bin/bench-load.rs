//! The load of `cargo xtask bench gateway`: one request, sent again and again on so many connections for so long.
//!
//! `bench-load ADDRESS CONNECTIONS MILLISECONDS REQUEST-FILE`. The file is sent as it is. Each connection sends its
//! next request when it has the whole answer to the last. Prints one line of JSON: answers by status, latencies of
//! those with status 200, processor time.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer head longer than this is none of ours.
const HEAD_BYTES_MAX: usize = 16 << 10;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words.as_slice() {
        [address, connections, milliseconds, file] => {
            let time = Duration::from_millis(number(milliseconds)? as u64);
            runtime.block_on(load(address, number(connections)?, time, std::fs::read(file)?))
        }
        _ => Err(io::Error::other("wrong arguments")),
    }
}

fn number(word: &str) -> io::Result<usize> {
    word.parse().map_err(io::Error::other)
}

async fn load(address: &str, connections: usize, time: Duration, request: Vec<u8>) -> io::Result<()> {
    let request: &'static [u8] = request.leak();
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let begun = Instant::now();
    let tasks: Vec<_> =
        open.into_iter().map(|connection| tokio::spawn(connection.repeat(request, begun + time))).collect();
    let (mut times, mut statuses) = (Vec::new(), BTreeMap::<u16, u64>::new());
    for task in tasks {
        for (status, taken) in task.await.map_err(io::Error::other)?? {
            *statuses.entry(status).or_default() += 1;
            if status == 200 {
                times.push(taken);
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let report = json!({
        "seconds": seconds, "statuses": statuses, "cpu_seconds": cpu_seconds()?,
        "p50_us": microseconds(&times, 500), "p99_us": microseconds(&times, 990), "p999_us": microseconds(&times, 999),
    });
    writeln!(io::stdout().lock(), "{report}")
}

/// The time below which so many of a thousand lie.
fn microseconds(sorted: &[Duration], of_thousand: usize) -> f64 {
    let index = (sorted.len() * of_thousand / 1000).min(sorted.len().saturating_sub(1));
    sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// What this process has used, in steps of a hundredth.
fn cpu_seconds() -> io::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ')).into_iter().flatten();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

struct Connection {
    socket: TcpStream,
    /// What was read and not used yet.
    buffer: Vec<u8>,
}

struct Head {
    status: u16,
    /// None: chunked.
    length: Option<usize>,
}

impl Connection {
    async fn open(address: &str) -> io::Result<Connection> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Connection { socket, buffer: Vec::with_capacity(64 << 10) })
    }

    async fn repeat(mut self, request: &[u8], until: Instant) -> io::Result<Vec<(u16, Duration)>> {
        let mut answers = Vec::with_capacity(1 << 16);
        loop {
            let begun = Instant::now();
            if begun >= until {
                return Ok(answers);
            }
            self.socket.write_all(request).await?;
            let head = self.head().await?;
            match head.length {
                Some(length) => self.skip(length).await?,
                None => self.skip_chunks().await?,
            }
            answers.push((head.status, begun.elapsed()));
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.socket.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::other("the connection was closed")),
            _ => Ok(()),
        }
    }

    async fn head(&mut self) -> io::Result<Head> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let text =
                    String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default()).to_ascii_lowercase();
                self.buffer.drain(..end + 4);
                return read_head(&text).ok_or_else(|| io::Error::other("no HTTP answer"));
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(io::Error::other("the head is too long"));
            }
            self.more().await?;
        }
    }

    async fn skip(&mut self, length: usize) -> io::Result<()> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        self.buffer.drain(..length);
        Ok(())
    }

    async fn skip_chunks(&mut self) -> io::Result<()> {
        loop {
            let Some(end) = find(&self.buffer, b"\r\n") else {
                self.more().await?;
                continue;
            };
            let size =
                std::str::from_utf8(self.buffer.get(..end).unwrap_or_default()).map_err(io::Error::other)?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            self.skip(end + 2 + size + 2).await?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn read_head(text: &str) -> Option<Head> {
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let chunked = text.contains("transfer-encoding: chunked");
    // Neither: there is no body.
    let length = if chunked { None } else { Some(length.unwrap_or(0)) };
    Some(Head { status, length })
}
