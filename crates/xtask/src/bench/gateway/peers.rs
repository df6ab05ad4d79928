//! The processes that are measured: the upstream, nginx, the gateway. Each ends with its value.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{process, workspace};

/// How long a process may take to answer, or to stop.
const PATIENCE: Duration = Duration::from_secs(30);
/// The kernel counts processor time in these.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process, and those that it started.
pub(super) struct Peer {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Peer {
    pub(super) fn upstream() -> Result<Peer> {
        let mut command = process::command(workspace::built("release/bench-upstream")?);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        Ok(Peer { address: line.trim().parse()?, child })
    }

    /// A plain reverse proxy: two workers, connections to the upstream kept, nothing logged.
    pub(super) fn nginx(directory: &Path, upstream: SocketAddr) -> Result<Peer> {
        install_nginx()?;
        let address = free_address()?;
        let file = directory.join("nginx.conf");
        std::fs::write(&file, nginx_conf(directory, address, upstream))?;
        let mut command = process::command("nginx");
        let child = command.arg("-c").arg(&file).arg("-p").arg(directory).spawn()?;
        let peer = Peer { child, address };
        peer.wait_until_it_answers("/")?;
        Ok(peer)
    }

    /// The gateway in `directory`, with the configuration that is there.
    pub(super) fn gateway(directory: &Path, address: SocketAddr) -> Result<Peer> {
        let mut command = process::command(workspace::built("release/portcullis")?);
        command.args(["serve", "--config"]).arg(directory.join("portcullis.toml"));
        let errors = std::fs::File::create(directory.join("stderr"))?;
        let child = command.current_dir(directory).stdout(Stdio::null()).stderr(errors).spawn()?;
        let peer = Peer { child, address };
        peer.wait_until_it_answers("/readyz")?;
        Ok(peer)
    }

    fn wait_until_it_answers(&self, path: &str) -> Result<()> {
        let begun = Instant::now();
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        while begun.elapsed() < PATIENCE {
            if let Ok(mut socket) = TcpStream::connect(self.address) {
                socket.write_all(request.as_bytes())?;
                let mut answer = String::new();
                if socket.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 ") {
                    return Ok(());
                }
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        bail!("nothing answers on `{}`", self.address)
    }

    /// A page of it.
    pub(super) fn page(&self, path: &str) -> Result<String> {
        let mut socket = TcpStream::connect(self.address)?;
        write!(socket, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Ok(answer)
    }

    /// Seconds of processor time so far, of the process and of those that it started.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        let mut ticks = 0.0;
        for process in self.processes()? {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
            let fields = stat.rsplit_once(") ").context("an odd `stat`")?.1.split(' ');
            ticks += fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
        }
        Ok(ticks / TICKS_PER_SECOND)
    }

    /// Kilobytes of memory that are resident, as `VmRSS` or `VmHWM`.
    pub(super) fn memory_kb(&self, key: &str) -> Result<f64> {
        let mut sum = 0.0;
        for process in self.processes()? {
            let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            sum += line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0);
        }
        Ok(sum)
    }

    fn processes(&self) -> Result<Vec<u32>> {
        let own = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"))?;
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        Ok(std::iter::once(own).chain(children).collect())
    }

    /// Asks it to stop and waits.
    pub(super) fn stop(mut self) -> Result<()> {
        signal(&self.child, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "it ended with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("it does not stop")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        signal(&self.child, Signal::TERM);
        std::thread::sleep(Duration::from_millis(50));
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, signal: Signal) {
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(process) = process {
        let _ = kill_process(process, signal);
    }
}

/// An address on loopback that was free a moment ago.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A directory below `target/`, empty.
pub(super) fn empty_directory(name: &str) -> Result<PathBuf> {
    let directory = workspace::target()?.join(name);
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

fn install_nginx() -> Result<()> {
    if process::is_installed("nginx") || Path::new("/usr/sbin/nginx").is_file() {
        return Ok(());
    }
    let mut install = process::command("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "nginx-light"]);
    process::run(&mut install).context("install it by hand: `sudo apt-get install nginx-light`")
}

fn nginx_conf(directory: &Path, address: SocketAddr, upstream: SocketAddr) -> String {
    let directory = directory.display();
    format!(
        "daemon off;\nworker_processes 2;\npid {directory}/nginx.pid;\nerror_log {directory}/nginx.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 1000000000;\n  client_max_body_size 8m;\n\
         client_body_buffer_size 512k;\n  client_body_temp_path {directory}/body;\n  proxy_temp_path {directory}/proxy;\n\
         fastcgi_temp_path {directory}/fastcgi;\n  uwsgi_temp_path {directory}/uwsgi;\n  scgi_temp_path {directory}/scgi;\n\
         upstream server {{ server {upstream}; keepalive 128; keepalive_requests 1000000000; }}\n\
         server {{\n    listen {address};\n    location / {{\n      proxy_pass http://server;\n\
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      proxy_buffers 64 64k;\n\
         proxy_buffer_size 64k;\n    }}\n  }}\n}}\n"
    )
}
