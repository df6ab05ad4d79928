//! Programs that are servers: started without a shell, in a process group of their own, with an environment
//! of exactly what is configured.
//!
//! Called by `forward` alone. `supervise.rs` sees to their end, `output.rs` keeps what they write to standard
//! error. Which session gets which process is decided in `duplex/`.

mod output;
mod pipes;
mod supervise;

pub(crate) use output::Output;
pub use output::OutputLine;

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use crate::duplex::{Bounds, Connection, Owner};
use crate::gateway::Gateway;
use crate::server::Server;
use crate::settings::{Settings, milliseconds};
use crate::stop::UpstreamFault;
use crate::transport::{CommandSpec, INHERITED_ENV};
use supervise::Supervised;

/// Starts a process and everything that moves its bytes.
pub(crate) fn start(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    spec: &CommandSpec,
    owner: Owner,
) -> Result<Arc<Connection>, UpstreamFault> {
    match spawn(spec) {
        Ok((child, group)) => Ok(attend(gateway, server, spec, child, group, owner)),
        Err(error) => {
            let program = spec.command.first().map(String::as_str).unwrap_or_default();
            let text = format!("portcullis: `{program}` cannot be started: {error}");
            tracing::error!(server = server.name(), %error, "a program cannot be started");
            server.output.note(gateway.now(), None, text);
            Err(UpstreamFault::CannotStart)
        }
    }
}

fn spawn(spec: &CommandSpec) -> io::Result<(Child, Pid)> {
    let (program, arguments) = spec.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    if spec.inherit_env {
        command.envs(INHERITED_ENV.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    command.envs(spec.env.iter().map(|env| (&env.name, env.value.expose())));
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its children are in the group too, and end with it. The last resort, when the runtime goes away, is
    // that the process itself is killed.
    command.process_group(0).kill_on_drop(true);
    let child = command.spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let group = id.ok_or_else(|| io::Error::other("it has no process id"))?;
    limit(group, spec)?;
    Ok((child, group))
}

/// Bounds on the process, set from outside right after its start.
#[cfg(target_os = "linux")]
fn limit(process: Pid, spec: &CommandSpec) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let bound = |resource, maximum: Option<u64>| match maximum {
        Some(maximum) => {
            let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
            prlimit(Some(process), resource, limit).map(|_| ()).map_err(io::Error::from)
        }
        None => Ok(()),
    };
    // Private writable memory: reserved address space that is never used does not count.
    bound(Resource::Data, spec.memory_max_mb.map(|mb| mb.saturating_mul(1 << 20)))?;
    bound(Resource::Nofile, spec.open_files_max)
}

/// Only Linux can bound another process.
#[cfg(not(target_os = "linux"))]
fn limit(_: Pid, spec: &CommandSpec) -> io::Result<()> {
    match (spec.memory_max_mb, spec.open_files_max) {
        (None, None) => Ok(()),
        _ => Err(io::Error::other("`memory_max_mb` and `open_files_max` need Linux")),
    }
}

fn attend(
    gateway: &Arc<Gateway>,
    server: &Arc<Server>,
    spec: &CommandSpec,
    mut child: Child,
    group: Pid,
    owner: Owner,
) -> Arc<Connection> {
    let settings = &gateway.settings;
    let bounds = Bounds { notices_max: settings.stream_events_max.max(1) };
    let (connection, writes) = Connection::new(owner, bounds);
    let (read_to_end, reading) = watch::channel(());
    let pid = child.id();
    let mut tasks = Vec::new();
    if let Some(stdin) = child.stdin.take() {
        tokio::spawn(pipes::write(stdin, writes, connection.clone()));
    }
    if let Some(stdout) = child.stdout.take() {
        let reader = pipes::Reader::new(gateway, server, connection.clone(), pid);
        tasks.push(tokio::spawn(reader.run(stdout, read_to_end)).abort_handle());
    }
    if let Some(stderr) = child.stderr.take() {
        let server = Arc::downgrade(server);
        let clock = gateway.state.clock.clone();
        tasks.push(tokio::spawn(output::keep(stderr, server, clock, pid)).abort_handle());
    }
    let supervised = Supervised {
        child,
        group,
        connection: connection.clone(),
        reading,
        tasks,
        server: Arc::downgrade(server),
        idle_timeout: idle_timeout(spec, settings),
        grace: milliseconds(settings.process_stop_grace_ms),
        started: Instant::now(),
    };
    tokio::spawn(supervised.run());
    tracing::info!(server = server.name(), pid, "a program was started");
    connection
}

fn idle_timeout(spec: &CommandSpec, settings: &Settings) -> Option<Duration> {
    match spec.idle_timeout_s {
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds)),
        None => Some(milliseconds(settings.process_idle_timeout_ms)),
    }
}
