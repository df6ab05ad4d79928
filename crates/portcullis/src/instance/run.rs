//! Running: the listener, the socket, the file's watch and the book-keeping, until a signal.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use portcullis_state::log::{Action, DecisionLog};
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;

use super::{Instance, reload, socket};

/// The counters are kept at most this often: copying many of them takes a moment.
const SNAPSHOT_EVERY: Duration = Duration::from_secs(5);
/// How often it is kept when grants were last used.
const LAST_USED_EVERY: Duration = Duration::from_secs(60);

/// How often the system's clock is compared.
const CLOCK_LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often memory is given back, and what counts as a large piece of it.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(2);
const LARGE_BYTES: usize = 8 << 20;

/// Takes the address, with a message that says what to do when it is taken.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "cannot listen on `{address}`: another program has this port; stop it, or choose another with \
             `listen` in the file or `--listen`"
        ),
        _ => format!("cannot listen on `{address}`: {error}"),
    })
}

/// Serves until `stop`; then drains and closes the log. `file` is watched, and read again on a signal.
pub(crate) async fn run(
    instance: Arc<Instance>,
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    file: Option<(PathBuf, Signal)>,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    if let Ok(address) = listener.local_addr() {
        let _ = instance.url.set(local_url(address, tls.is_some()));
    }
    let mut side = tokio::task::JoinSet::new();
    let commands = instance.commands.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(commands) = commands {
        side.spawn(socket::answer(commands, instance.clone()));
    }
    side.spawn(keep_counters(instance.clone()));
    side.spawn(keep_last_used(instance.clone()));
    side.spawn(tell_of_clock_steps(instance.clone()));
    side.spawn(give_memory_back());
    if let Some((file, hangup)) = file {
        side.spawn(reload::watch(file, hangup, instance.clone()));
    }
    let gateway = instance.gateway.clone();
    let served = portcullis_gateway::serve(listener, tls, gateway, stop).await;
    side.shutdown().await;
    let _ = std::fs::remove_file(instance.directory.socket());
    // Closing waits for the disk: not on a thread that serves.
    let closed = tokio::task::spawn_blocking(move || close(instance)).await;
    closed.map_err(|error| format!("stopping failed: {error}"))?;
    served.map_err(|error| format!("the listener failed: {error}"))
}

/// How a client on this machine reaches the gateway.
fn local_url(mut address: SocketAddr, has_tls: bool) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("{}://{address}", if has_tls { "https" } else { "http" })
}

/// After each checkpoint of the log the counters are kept, so that a start need not read the whole log.
async fn keep_counters(instance: Arc<Instance>) {
    let mut checkpoints = instance.log.checkpoints();
    while checkpoints.changed().await.is_ok() {
        let instance = instance.clone();
        let saved = tokio::task::spawn_blocking(move || instance.ledger.save(&instance.log)).await;
        if let Ok(Err(fault)) = saved {
            tracing::warn!(%fault, "the counters were not kept; the next start reads more of the log");
        }
        tokio::time::sleep(SNAPSHOT_EVERY).await;
    }
}

async fn keep_last_used(instance: Arc<Instance>) {
    loop {
        tokio::time::sleep(LAST_USED_EVERY).await;
        let instance = instance.clone();
        let _ = tokio::task::spawn_blocking(move || note_last_used(&instance)).await;
    }
}

/// A step of the system's clock is in the log: who reads times later must know.
async fn tell_of_clock_steps(instance: Arc<Instance>) {
    loop {
        tokio::time::sleep(CLOCK_LOOK_EVERY).await;
        instance.clock.now();
        let Some(step) = instance.clock.take_step() else {
            continue;
        };
        let direction = if step.is_negative() { "back" } else { "forward" };
        let told = format!("the system's clock was set {direction} by {} s", step.as_secs().unsigned_abs());
        tracing::warn!("{told}");
        let instance = instance.clone();
        let noted = move || instance.note(Action::ClockStepped, Some(&told));
        let _ = tokio::task::spawn_blocking(noted).await;
    }
}

/// The allocator looks for memory that it can give back only when a large piece is freed, and not before a second
/// has passed since it became free: what a burst took would stay until the next one.
async fn give_memory_back() {
    loop {
        tokio::time::sleep(GIVE_BACK_EVERY).await;
        let mut piece = Vec::<u8>::new();
        // Where there is no room for it, there is nothing to be freed either.
        if piece.try_reserve_exact(LARGE_BYTES).is_ok() {
            drop(std::hint::black_box(piece));
        }
    }
}

fn note_last_used(instance: &Instance) {
    let used = instance.gateway.snapshot().grants().last_used();
    if let Err(fault) = instance.lock().store.note_last_used(&used) {
        tracing::warn!(%fault, "when grants were last used could not be kept");
    }
}

/// Everything is kept, and the end of the log is signed.
fn close(instance: Arc<Instance>) {
    note_last_used(&instance);
    instance.note(Action::Stopped, None);
    if let Err(fault) = instance.ledger.save(&instance.log) {
        tracing::warn!(%fault, "the counters were not kept; the next start reads more of the log");
    }
    let closed = match alone(instance) {
        Ok(log) => log.close(),
        // A call that outlived the drain still holds it: durable, but signed at the next start only.
        Err(log) => log.sync_now(),
    };
    if let Err(fault) = closed {
        tracing::error!(%fault, "the decision log could not be closed");
    }
}

/// The log, if nobody else holds it any more.
fn alone(instance: Arc<Instance>) -> Result<DecisionLog, Arc<DecisionLog>> {
    let log = instance.log.clone();
    drop(instance);
    Arc::try_unwrap(log)
}
