//! A gateway with a program behind it, and clients of it on a pipe.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use portcullis_gateway::{
    CommandSpec, EnvSpec, EraSetting, Gateway, PipeClient, PipeEnd, ProcessMode, ServerSpec, Settings,
    Snapshot, TransportSpec, serve_pipe,
};
use portcullis_json::Value;
use portcullis_policy::Class;
use portcullis_state::Secret;
use portcullis_state::grants::GrantTable;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;

use crate::client::{MODERN_META, at, read};
use crate::fake_server::FakeServer;
use crate::rig::{OTHER_TOKEN, Rig, TOKEN, active, entry, grant, plain};

const SERVER: &str = include_str!("local_server.py");

/// The interpreter itself: what stands in the path may be a script that looks for it.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let mut command = std::process::Command::new("python3");
        let output = command.args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        assert!(output.status.success(), "these tests need `python3` in the path");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

/// A program that behaves as `options` say; see its head.
pub(crate) fn command(options: &[&str]) -> CommandSpec {
    let words = [python(), "-u", "-c", SERVER].into_iter().chain(options.iter().copied());
    let path = EnvSpec {
        name: "PATH".to_owned(),
        value: Secret::new(std::env::var("PATH").unwrap()),
        is_secret: false,
    };
    CommandSpec { command: words.map(str::to_owned).collect(), env: vec![path], ..CommandSpec::default() }
}

pub(crate) fn shared(options: &[&str]) -> CommandSpec {
    CommandSpec { process: ProcessMode::Shared, ..command(options) }
}

pub(crate) fn spec(transport: TransportSpec) -> ServerSpec {
    let classes = BTreeMap::from([("echo".to_owned(), Class::Read)]);
    ServerSpec {
        name: "fake".to_owned(),
        transport,
        headers: Vec::new(),
        classes,
        era: EraSetting::Auto,
        answer_timeout_ms: None,
    }
}

pub(crate) fn snapshot(servers: Vec<ServerSpec>, policy: &str) -> Snapshot {
    let bound = [("fake", "p")];
    let grants = [entry(TOKEN, grant("alice", &bound)), entry(OTHER_TOKEN, grant("bob", &bound))];
    Snapshot::compile(servers, vec![active(policy, 1)], GrantTable::build(grants, None).unwrap()).unwrap()
}

/// Stops quickly, so that tests of stubborn programs are short.
pub(crate) fn quick() -> Settings {
    Settings { process_stop_grace_ms: 200, pipe_drain_ms: 500, ..Settings::default() }
}

pub(crate) async fn rig(policy: &str, command: CommandSpec) -> Rig {
    rig_with(policy, command, quick()).await
}

pub(crate) async fn rig_with(policy: &str, command: CommandSpec, settings: Settings) -> Rig {
    let server = FakeServer::start(true, plain()).await;
    Rig::with(server, snapshot(vec![spec(TransportSpec::Command(command))], policy), settings).await
}

/// A client on a pipe.
pub(crate) struct Pipe {
    write: Option<WriteHalf<DuplexStream>>,
    read: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) served: tokio::task::JoinHandle<PipeEnd>,
    next_id: i64,
}

impl Pipe {
    pub(crate) fn open(rig: &Rig) -> Pipe {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let (read, write) = tokio::io::split(ours);
        let (stop, stopped) = oneshot::channel::<()>();
        let client = PipeClient { grant: "g_alice".to_owned(), server: "fake".to_owned() };
        let gateway: std::sync::Arc<Gateway> = rig.gateway.clone();
        let shutdown = async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let served = tokio::spawn(serve_pipe(gateway, client, input, output, shutdown));
        let read = BufReader::new(read).lines();
        Pipe { write: Some(write), read, stop: Some(stop), served, next_id: 0 }
    }

    /// A pipe with a session.
    pub(crate) async fn legacy(rig: &Rig) -> Pipe {
        let mut pipe = Pipe::open(rig);
        let opened = pipe
            .ask("initialize", r#""protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"tester","version":"1"}"#)
            .await;
        assert_eq!(at(&opened, "result|protocolVersion"), "2025-11-25", "{opened}");
        pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        pipe
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.write.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) async fn request(&mut self, method: &str, params: &str) -> String {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#))
            .await;
        id.to_string()
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> String {
        self.request("tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#)).await
    }

    pub(crate) async fn call_modern(&mut self, tool: &str, arguments: &str) -> String {
        let params = format!(r#""name":"{tool}","arguments":{arguments},{MODERN_META}"#);
        self.request("tools/call", &params).await
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.read.next_line().await.unwrap();
        read(&line.unwrap_or_else(|| panic!("the pipe ended")))
    }

    /// The next message; none at the end.
    pub(crate) async fn next_or_end(&mut self) -> Option<Value> {
        self.read.next_line().await.unwrap().map(|line| read(&line))
    }

    /// The answer under this id; what comes before it is dropped.
    pub(crate) async fn answer(&mut self, id: &str) -> Value {
        loop {
            let message = self.next().await;
            if at(&message, "id") == id && at(&message, "method") == "-" {
                return message;
            }
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: &str) -> Value {
        let id = self.request(method, params).await;
        self.answer(&id).await
    }

    /// The text of a tool's answer, or the message of its error.
    pub(crate) async fn text(&mut self, tool: &str, arguments: &str) -> String {
        let id = self.call(tool, arguments).await;
        text_of(&self.answer(&id).await)
    }

    pub(crate) async fn text_modern(&mut self, tool: &str, arguments: &str) -> String {
        let id = self.call_modern(tool, arguments).await;
        text_of(&self.answer(&id).await)
    }

    /// Closes our end.
    pub(crate) async fn close(&mut self) {
        self.write.take().unwrap().shutdown().await.unwrap();
    }
}

pub(crate) fn text_of(answer: &Value) -> String {
    match at(answer, "error|message").as_str() {
        "-" => at(answer, "result|content|0|text"),
        error => error.to_owned(),
    }
}

/// A file for a program to write to.
pub(crate) fn file(rig_directory: &tempfile::TempDir, name: &str) -> PathBuf {
    rig_directory.path().join(name)
}

pub(crate) fn pids(path: &PathBuf) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Whether a process is there, as a zombie or alive.
pub(crate) fn exists(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

pub(crate) async fn until(mut look: impl FnMut() -> bool) {
    while !look() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
