//! A directory with a configuration, and the gateway that serves it as a process of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::failing::Control;
use super::misbehaviour;
use super::wire;

/// How long something may take that takes no time at all on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(3);
const TOKEN: &str = "a-token-for-fault-tests-0123456789-abcdefgh";
/// The server whose tools misbehave by their names.
pub(crate) const CALLS: &str = "calls";

/// Waits are short here, so that every one of them is seen to end.
const SETTINGS: &[(&str, u64)] = &[
    ("head_timeout_ms", 1_000),
    ("body_timeout_ms", 1_500),
    ("write_stall_timeout_ms", 1_500),
    ("upstream_connect_timeout_ms", 1_000),
    ("upstream_answer_timeout_ms", 1_500),
    ("call_timeout_ms", 3_000),
    ("probe_timeout_ms", 1_000),
    ("listing_timeout_ms", 2_000),
    ("listing_retry_ms", 100),
    ("drain_timeout_ms", 5_000),
];

/// Where a gateway lives.
pub(crate) struct Site {
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
    product: PathBuf,
    /// The library that makes its system fail, and what tells it.
    failing: Option<(PathBuf, Control)>,
}

/// What a gateway is to be like.
pub(crate) struct Plan<'a> {
    pub(crate) product: &'a Path,
    pub(crate) directory: PathBuf,
    /// Where the servers are.
    pub(crate) upstream: u16,
    pub(crate) policy: &'a str,
    /// Also servers that always misbehave, one for each way.
    pub(crate) faulty_servers: bool,
    /// Settings that differ from those above.
    pub(crate) settings: &'a [(&'static str, u64)],
    /// When the grant ends.
    pub(crate) expires: Option<String>,
    pub(crate) failing: Option<&'a Path>,
}

impl Site {
    pub(crate) fn new(plan: Plan<'_>) -> Result<Site> {
        let directory = plan.directory.clone();
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(&directory)?;
        let port = free_port()?;
        std::fs::write(directory.join("policy.json"), plan.policy)?;
        write_configuration(&directory, port, &plan)?;
        let control = Control::new(directory.join("faults"))?;
        let failing = plan.failing.map(|library| (library.to_owned(), control));
        Ok(Site { directory, port, product: plan.product.to_owned(), failing })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// What makes its system fail.
    pub(crate) fn control(&self) -> Result<&Control> {
        self.failing.as_ref().map(|(_, control)| control).context("this gateway's system does not fail")
    }

    /// Starts the gateway and waits until it answers.
    pub(crate) fn start(&self) -> Result<Gateway> {
        let mut gateway = self.spawn()?;
        let begun = Instant::now();
        while !gateway.is_ready() {
            if let Some(status) = gateway.process.try_wait()? {
                bail!("the gateway ended at its start ({status}): {}", self.errors());
            }
            ensure!(begun.elapsed() < PATIENCE, "the gateway does not answer: {}", self.errors());
            std::thread::sleep(PAUSE);
        }
        Ok(gateway)
    }

    /// Starts the gateway.
    pub(crate) fn spawn(&self) -> Result<Gateway> {
        let errors = File::options().create(true).append(true).open(self.directory.join("errors.txt"))?;
        let mut command = Command::new(&self.product);
        command.args(["serve", "--config", "portcullis.toml"]).current_dir(&self.directory);
        if let Some((library, control)) = &self.failing {
            control.load(library, &mut command);
        }
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
        Ok(Gateway { process, port: self.port })
    }

    /// Any other command on this data directory; its output if it succeeds.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.product);
        command.args(arguments).args(["--data-dir", "data"]).current_dir(&self.directory);
        let output = command.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`portcullis {}` failed: {}", arguments.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The last lines that the gateway complained with.
    pub(crate) fn errors(&self) -> String {
        let text = std::fs::read_to_string(self.directory.join("errors.txt")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// How often the gateway said this.
    pub(crate) fn said(&self, what: &str) -> usize {
        let text = std::fs::read_to_string(self.directory.join("errors.txt")).unwrap_or_default();
        text.lines().filter(|line| line.contains(what)).count()
    }

    /// Every record of its log, in order.
    pub(crate) fn records(&self) -> Result<Vec<Value>> {
        let mut segments = BTreeMap::new();
        for entry in std::fs::read_dir(self.data().join("log"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                segments.insert(path.clone(), std::fs::read_to_string(path)?);
            }
        }
        let lines = segments.values().flat_map(|text| text.lines());
        lines.map(|line| serde_json::from_str(line).with_context(|| format!("in the log: {line}"))).collect()
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn write_configuration(directory: &Path, port: u16, plan: &Plan<'_>) -> Result<()> {
    let settings: BTreeMap<&str, u64> = SETTINGS.iter().chain(plan.settings).copied().collect();
    let settings: String = settings.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let mut text = format!("listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n\n[settings]\n{settings}");
    for (name, address) in servers(plan)? {
        text += &server(&name, &address, plan.expires.as_deref());
        std::fs::write(directory.join(format!("token-{name}")), token(&name))?;
    }
    Ok(std::fs::write(directory.join("portcullis.toml"), text)?)
}

/// Names and addresses.
fn servers(plan: &Plan<'_>) -> Result<Vec<(String, String)>> {
    let (upstream, nobody) = (plan.upstream, free_port()?);
    let mut servers = vec![(CALLS.to_owned(), format!("{upstream}/mcp"))];
    if plan.faulty_servers {
        servers.push(("refused".to_owned(), format!("{nobody}/mcp")));
        let always = misbehaviour::ALL.iter();
        servers
            .extend(always.map(|(name, _)| (format!("always_{name}"), format!("{upstream}/always/{name}"))));
    }
    Ok(servers)
}

/// A server, its policy and its grant.
fn server(name: &str, address: &str, expires: Option<&str>) -> String {
    let expires = expires.map(|at| format!("expires = \"{at}\"\n")).unwrap_or_default();
    format!(
        "\n[[servers]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:{address}\"\n\
         classes = {{ ok_read = \"Read\", ok_write = \"Write\", limited = \"Write\" }}\n\
         \n[[policies]]\nname = \"{name}\"\nserver = \"{name}\"\nfile = \"policy.json\"\n\
         \n[[grants]]\nlabel = \"{name}\"\nserver = \"{name}\"\npolicy = \"{name}\"\n\
         token = \"file:token-{name}\"\n{expires}"
    )
}

/// The token of the grant for a server.
pub(crate) fn token(server: &str) -> String {
    format!("{TOKEN}-{server}")
}

/// A running gateway; killed when dropped.
pub(crate) struct Gateway {
    pub(crate) process: Child,
    port: u16,
}

/// What a process holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) resident_kb: u64,
    pub(crate) peak_kb: u64,
    pub(crate) virtual_kb: u64,
    pub(crate) descriptors: u64,
}

impl Gateway {
    fn is_ready(&self) -> bool {
        self.get("/readyz").is_ok_and(|status| status == 200)
    }

    /// The status of a page.
    pub(crate) fn get(&self, path: &str) -> Result<u16> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let answer = wire::read(&mut BufReader::new(stream))?;
        Ok(answer.context("no answer")?.status())
    }

    pub(crate) fn id(&self) -> Result<rustix::process::Pid> {
        i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw).context("no process")
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) -> Result<()> {
        Ok(rustix::process::kill_process(self.id()?, signal)?)
    }

    /// Asks it to stop and waits.
    pub(crate) fn stop(mut self) -> Result<ExitStatus> {
        self.signal(rustix::process::Signal::TERM)?;
        Ok(self.process.wait()?)
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// What it holds at the moment.
    pub(crate) fn held(&self) -> Result<Held> {
        let of_process = PathBuf::from(format!("/proc/{}", self.process.id()));
        let status = std::fs::read_to_string(of_process.join("status")).context("the gateway has ended")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().nth(0)?.parse().ok()).unwrap_or(0)
        };
        Ok(Held {
            resident_kb: field("VmRSS:"),
            peak_kb: field("VmHWM:"),
            virtual_kb: field("VmSize:"),
            descriptors: std::fs::read_dir(of_process.join("fd"))?.count() as u64,
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
