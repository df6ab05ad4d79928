//! Clients that send their head or body byte by byte, send nothing at all, or never read their answer.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::client::{Told, is_timeout, request};
use super::site::{CALLS, PATIENCE};
use super::stage::{Bench, READ_AND_WRITE, Row, Setting, Stage};

/// Between two bytes of a slow client.
const DRIP_EVERY: Duration = Duration::from_millis(100);
/// Little is under way to a client that does not read.
const RECEIVE_BYTES: usize = 4 << 10;

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let mut stage = Stage::new(bench, "slow clients", &Setting::default())?;
    let (gateway, _) = stage.start_warm()?;
    let each = bench.pick(12, 60);
    // The allocator keeps what the first burst of large answers took; the second must take no more.
    round(&mut stage, each)?;
    let before = gateway.held()?;
    let (cut, healthy) = round(&mut stage, each)?;
    let done = format!("twice {cut} clients, all cut off; {healthy} healthy calls meanwhile");
    stage.end(gateway, before, done, &[])
}

/// How many slow clients were cut off, and how many healthy calls there were meanwhile.
fn round(stage: &mut Stage, each: usize) -> Result<(usize, u64)> {
    let healthy = stage.load(4, READ_AND_WRITE);
    let cut = wait_until_cut(connect_all(stage, each)?)?;
    let healthy = healthy.stop()?;
    ensure!(healthy.count(&Told::Result) == healthy.all(), "healthy calls suffered: {:?}", healthy.ends);
    let calls = healthy.all();
    stage.tally.merge(healthy);
    Ok((cut, calls))
}

/// A client that is slow in one way.
struct Slow {
    stream: TcpStream,
    /// What it sends bit by bit.
    rest: Vec<u8>,
    reads: bool,
}

fn connect_all(stage: &Stage, each: usize) -> Result<Vec<Slow>> {
    let mut clients = Vec::new();
    for _ in 0..each {
        let key = stage.keys.next();
        let whole = request(CALLS, "ok_read", &json!({ key.as_str(): 1 }));
        let body_at = whole.windows(4).position(|four| four == b"\r\n\r\n").context("no head")? + 4;
        let big = request(CALLS, "big", &json!({ stage.keys.next(): 1 }));
        for (sent, rest, reads) in
            [(0, &whole, true), (20, &whole, true), (body_at + 1, &whole, true), (big.len(), &big, false)]
        {
            let mut stream = connect(stage.site.port)?;
            let (now, later) = rest.split_at_checked(sent).context("too short")?;
            stream.write_all(now)?;
            // One of them never sends anything.
            let rest = if sent == 0 { Vec::new() } else { later.to_vec() };
            clients.push(Slow { stream, rest, reads });
        }
    }
    Ok(clients)
}

fn connect(port: u16) -> Result<TcpStream> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    Ok(stream)
}

/// Goes on slowly with all of them until the gateway has closed each; how many there were.
fn wait_until_cut(mut clients: Vec<Slow>) -> Result<usize> {
    let (all, begun) = (clients.len(), Instant::now());
    while !clients.is_empty() {
        ensure!(begun.elapsed() < PATIENCE, "{} of {all} slow clients are still connected", clients.len());
        clients.retain_mut(|client| !is_cut(client));
        std::thread::sleep(DRIP_EVERY);
    }
    Ok(all)
}

fn is_cut(client: &mut Slow) -> bool {
    if !client.rest.is_empty() {
        let byte = client.rest.remove(0);
        if client.stream.write_all(&[byte]).is_err() {
            return true;
        }
    }
    if !client.reads {
        // It finds out by an error on its socket, not by reading.
        return matches!(client.stream.take_error(), Ok(Some(_))) || is_closed(&client.stream);
    }
    let mut bytes = [0; 512];
    loop {
        match client.stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return !is_timeout(&error),
        }
    }
}

/// The other side has closed: a further byte of a request is answered by a reset.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.write_all(b"x").is_err()
}
