//! The processes of a run: the fixture, the gateway in front of it twice, and a relay for each way through, because
//! the suite cannot send a token.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::outcome::Leg;
use super::suite::FOLDER;
use crate::{process, workspace};

const TOKEN: &str = "a-token-for-the-conformance-suite-0123456789";
const START_SECONDS_MAX: u64 = 60;

/// Lets everything through that the fixture has: what is lost is then lost by the gateway and not by a rule.
const POLICY: &str = r#"{
  "version": "1",
  "default": "allow",
  "server_requests": {"sampling": "allow", "elicitation": "allow", "roots": "allow"}
}"#;

pub(super) struct Stage {
    fixture: Started,
    relays: [Started; 2],
    gateway: Started,
    product: PathBuf,
    folder: PathBuf,
}

/// A process that is ended with the run, and the first line that it printed.
struct Started {
    process: Child,
    said: String,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_waited = self.process.wait();
    }
}

impl Stage {
    /// Starts everything.
    pub(super) fn set(product: &Path, node: &Path) -> Result<Stage> {
        let folder = workspace::target()?.join("conformance/stage");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let script = workspace::root().join(FOLDER).join("fixture/main.mjs");
        let fixture = speaking(Command::new(node).arg(&script).arg("http"))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        fs::write(folder.join("policy.json"), POLICY)?;
        fs::write(folder.join("portcullis.toml"), configuration(port, &fixture.said, node, &script))?;
        let gateway = gateway(product, &folder, port)?;
        let relay = |server: &str| relay(node, &format!("http://127.0.0.1:{port}/mcp/{server}"));
        let relays = [relay("http")?, relay("stdio")?];
        Ok(Stage { fixture, relays, gateway, product: product.into(), folder })
    }

    /// Where the suite connects.
    pub(super) fn address(&self, leg: Leg) -> &str {
        let [http, stdio] = &self.relays;
        match leg {
            Leg::Bare => &self.fixture.said,
            Leg::Http => &http.said,
            Leg::Stdio => &stdio.said,
        }
    }

    /// Ends everything; the gateway by a signal, after which its log must verify.
    pub(super) fn strike(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.gateway.process), Signal::TERM)?;
        let status = self.gateway.process.wait()?;
        ensure!(status.success(), "the gateway ended with {status}");
        let verify = ["log", "verify", "--data-dir", "data"];
        process::capture(Command::new(&self.product).args(verify).current_dir(&self.folder))?;
        Ok(())
    }
}

fn configuration(port: u16, fixture: &str, node: &Path, script: &Path) -> String {
    let (node, script) = (node.display(), script.display());
    let mut text = format!("listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n");
    let command = format!("command = [\"{node}\", \"{script}\", \"stdio\"]");
    for (name, way) in [("http", format!("url = \"{fixture}\"")), ("stdio", command)] {
        text.push_str(&format!(
            "\n[[servers]]\nname = \"{name}\"\n{way}\n\
             \n[[policies]]\nname = \"{name}\"\nserver = \"{name}\"\nfile = \"policy.json\"\n\
             \n[[grants]]\nlabel = \"{name}\"\nserver = \"{name}\"\npolicy = \"{name}\"\ntoken = \"env:{}\"\n",
            variable(name)
        ));
    }
    text
}

/// Two grants cannot have one token.
fn token(name: &str) -> String {
    format!("{TOKEN}-{name}")
}

fn variable(name: &str) -> String {
    format!("TOKEN_{}", name.to_uppercase())
}

fn gateway(product: &Path, folder: &Path, port: u16) -> Result<Started> {
    let mut command = Command::new(product);
    command.arg("serve").current_dir(folder).stdin(Stdio::null());
    for name in ["http", "stdio"] {
        command.env(variable(name), token(name));
    }
    let errors = fs::File::create(folder.join("gateway.txt"))?;
    let process = command.stdout(errors.try_clone()?).stderr(errors).spawn()?;
    let mut gateway = Started { process, said: String::new() };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = gateway.process.try_wait()?.is_some();
        if ended || begun.elapsed() > Duration::from_secs(START_SECONDS_MAX) {
            bail!("the gateway did not start: {}", fs::read_to_string(folder.join("gateway.txt"))?);
        }
        sleep(Duration::from_millis(20));
    }
    Ok(gateway)
}

fn relay(node: &Path, address: &str) -> Result<Started> {
    let script = workspace::root().join(FOLDER).join("relay.mjs");
    let name = address.rsplit('/').next().unwrap_or_default();
    speaking(Command::new(node).arg(script).arg(address).env("TOKEN", token(name)))
}

/// Starts a program that prints its address first.
fn speaking(command: &mut Command) -> Result<Started> {
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = process.stdout.take().context("no output to read")?;
    let mut said = String::new();
    BufReader::new(output).read_line(&mut said)?;
    let started = Started { process, said: said.trim().to_owned() };
    ensure!(started.said.starts_with("http://"), "`{command:?}` did not say its address");
    Ok(started)
}
