//! What is held rather than called: sessions, their streams, the memory and the start of an idle gateway; and what a
//! gateway does with five times the calls that it takes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::legs::{Figures, Leg, Load, median};
use super::peers::{Peer, empty_directory, free_address};
use super::{configuration, configuration_of, request, servers};

const STARTS: usize = 11;
/// Calls at once that the overloaded gateway takes.
const ROOM: usize = 64;

/// Milliseconds from the start of the process, with one server and an empty directory, until it is ready; and the
/// megabytes that it then takes.
pub(super) fn start(upstream: &Peer) -> Result<(f64, f64)> {
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let directory = empty_directory("bench-gateway-start")?;
        let address = free_address()?;
        let one = servers().into_iter().take(1).collect();
        configuration_of(one, &directory, address, upstream.address, "")?;
        let begun = Instant::now();
        let gateway = Peer::gateway(&directory, address)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        memory.push(gateway.memory_kb("VmRSS")? / 1024.0);
        gateway.stop()?;
    }
    Ok((median(&times), median(&memory)))
}

/// Kilobytes for each of so many idle sessions, and for each with a stream open besides.
pub(super) fn sessions(gateway: &Peer, count: usize) -> Result<(f64, f64)> {
    let path = "/mcp/old";
    let before = gateway.memory_kb("VmRSS")?;
    let mut ids = Vec::with_capacity(count);
    let mut connection = Connection::open(gateway)?;
    for _ in 0..count {
        ids.push(connection.ask(&request::initialize(path))?.context("no session")?);
    }
    let with_sessions = gateway.memory_kb("VmRSS")?;
    let mut streams = Vec::with_capacity(count);
    for id in &ids {
        let mut connection = Connection::open(gateway)?;
        connection.ask(&request::stream(path, id))?;
        streams.push(connection);
    }
    let with_streams = gateway.memory_kb("VmRSS")?;
    let each = |from: f64, to: f64| (to - from) / count as f64;
    drop(streams);
    // The first one was idle for as long as it took to open all the streams: the gateway may have closed it.
    let mut connection = Connection::open(gateway)?;
    for id in &ids {
        connection.ask(&request::end(path, id))?;
    }
    Ok((each(before, with_sessions), each(with_sessions, with_streams)))
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(peer: &Peer) -> Result<Connection> {
        let socket = TcpStream::connect(peer.address)?;
        socket.set_nodelay(true)?;
        Ok(Connection(BufReader::with_capacity(1024, socket)))
    }

    /// Sends, reads the head and a body whose length it says; gives the session's id.
    fn ask(&mut self, request: &[u8]) -> Result<Option<String>> {
        self.0.get_mut().write_all(request)?;
        let (mut session, mut length) = (None, 0);
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        ensure!(line.starts_with("HTTP/1.1 20"), "{line}");
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => session = Some(value.to_owned()),
                "content-length" => length = value.parse()?,
                _ => {}
            }
        }
        std::io::copy(&mut self.0.by_ref().take(length), &mut std::io::sink())?;
        Ok(session)
    }
}

/// Before, during and after five times the calls that it has room for.
pub(super) struct Overload {
    pub(super) before: Figures,
    pub(super) during: Figures,
    pub(super) after: Figures,
    pub(super) peak_mb: f64,
}

pub(super) fn overload(directory: &Path, upstream: &Peer, milliseconds: usize) -> Result<Overload> {
    let home = empty_directory("bench-gateway-overload")?;
    let address = free_address()?;
    configuration(&home, address, upstream.address, &format!("in_flight_max = {ROOM}\n"))?;
    let gateway = Peer::gateway(&home, address)?;
    let run = |connections: usize| {
        let request = request::call("/mcp/up", "slow", 200);
        let leg = Leg { name: "overload", middle: Some(&gateway), upstream, request };
        let mut figures = Figures::default();
        leg.run(directory, Load { connections, milliseconds, rounds: 1 }, &mut figures)?;
        anyhow::Ok(figures)
    };
    run(1)?;
    let (before, during, after) = (run(ROOM / 2)?, run(ROOM * 5)?, run(ROOM / 2)?);
    let peak_mb = gateway.memory_kb("VmHWM")? / 1024.0;
    gateway.stop()?;
    ensure!(before.other_statuses == 0 && after.other_statuses == 0, "calls were shed without need");
    ensure!(during.other_statuses > 0 && during.calls > 0.0, "nothing was shed, or everything");
    Ok(Overload { before, during, after, peak_mb })
}
