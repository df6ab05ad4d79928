//! One program, started without a shell in a process group of its own, and always ended.
//!
//! Whoever drops it ends it: the group is killed, grandchildren included, and the program is reaped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep};

use super::LocalCommand;

/// How long a program gets to end by itself after its input was closed.
const INPUT_WAIT: Duration = Duration::from_secs(2);
/// And after it was asked to.
const TERM_WAIT: Duration = Duration::from_secs(2);
/// How often it is looked after.
const LOOK: Duration = Duration::from_millis(20);

/// The program.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    status: Option<ExitStatus>,
}

/// Its standard streams.
pub(super) struct Streams {
    pub(super) input: Sender,
    pub(super) output: Receiver,
    pub(super) errors: Receiver,
}

impl Process {
    /// Starts a program. To be called inside the runtime.
    pub(super) fn start(command: &LocalCommand) -> io::Result<(Process, Streams)> {
        let mut argv = command.argv.iter();
        let program = argv.next().ok_or_else(|| io::Error::other("no program was named"))?;
        let mut builder = Command::new(program);
        builder.args(argv).envs(command.env.iter().map(|(name, value)| (name, value.expose())));
        builder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(directory) = &command.cwd {
            builder.current_dir(directory);
        }
        let child = builder.spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // From here on whatever goes wrong ends the program.
        let mut process = Process { child, group, status: None };
        let streams = process.streams()?;
        Ok((process, streams))
    }

    fn streams(&mut self) -> io::Result<Streams> {
        let missing = || io::Error::other("a stream is missing");
        let input = self.child.stdin.take().map(OwnedFd::from).ok_or_else(missing)?;
        let output = self.child.stdout.take().map(OwnedFd::from).ok_or_else(missing)?;
        let errors = self.child.stderr.take().map(OwnedFd::from).ok_or_else(missing)?;
        Ok(Streams {
            input: Sender::from_owned_fd(input)?,
            output: Receiver::from_owned_fd(output)?,
            errors: Receiver::from_owned_fd(errors)?,
        })
    }

    /// Ends it as the protocol wants: the caller has closed its input; wait, ask, force.
    pub(super) async fn end(mut self) {
        if !self.ends_within(INPUT_WAIT).await {
            self.signal(Signal::TERM);
            self.ends_within(TERM_WAIT).await;
        }
        self.finish();
    }

    /// How it ended, once its output has.
    pub(super) async fn status(&mut self) -> Option<ExitStatus> {
        self.ends_within(INPUT_WAIT).await;
        self.finish();
        self.status
    }

    async fn ends_within(&self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(LOOK).await;
        }
        true
    }

    /// Looks without reaping: until it is reaped, its group cannot become anybody else's.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let looked = self.group.map(|pid| waitid(WaitId::Pid(pid), options));
        self.status.is_some() || !matches!(looked, Some(Ok(None)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group.filter(|_| self.status.is_none()) {
            // There is nobody left to signal if it fails.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills what is left of the group, then reaps.
    fn finish(&mut self) {
        if self.status.is_none() {
            self.signal(Signal::KILL);
            self.status = self.child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.finish();
    }
}
