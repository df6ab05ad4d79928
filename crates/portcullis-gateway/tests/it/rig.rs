//! A whole gateway on a socket, with its log in a directory of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use portcullis_gateway::{
    ActivePolicy, EraSetting, Gateway, Ledger, ServerSpec, Settings, Snapshot, State, TransportSpec, serve,
};
use portcullis_json::Value;
use portcullis_policy::{Class, Policy};
use portcullis_state::grants::{Grant, GrantTable, TableEntry, TokenHash};
use portcullis_state::log::{DecisionLog, LogOptions};
use portcullis_state::pins::Pins;
use portcullis_state::{CheckpointKey, DigestKey, Secret, StateFault};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::client::{Client, read};
use crate::fake_server::{FakeServer, Play, Received, Script};

pub(crate) const TOKEN: &str = "alice-token";
pub(crate) const OTHER_TOKEN: &str = "bob-token";
pub(crate) const CREDENTIAL: &str = "Bearer upstream-credential-1";

/// Everything allowed.
pub(crate) const OPEN: &str = r#"{"version":"1","default":"allow"}"#;

pub(crate) struct Rig {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) server: FakeServer,
    pub(crate) client: Client,
    pub(crate) log: Arc<DecisionLog>,
    pub(crate) pins: Arc<Pins>,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) served: tokio::task::JoinHandle<std::io::Result<()>>,
    base: String,
}

pub(crate) fn script(play: impl Fn(&Received) -> Option<Play> + Send + Sync + 'static) -> Script {
    Arc::new(play)
}

pub(crate) fn plain() -> Script {
    script(|_| None)
}

pub(crate) fn grant(label: &str, policies: &[(&str, &str)]) -> Grant {
    let policies = policies.iter().map(|(server, policy)| ((*server).to_owned(), (*policy).to_owned()));
    Grant {
        id: format!("g_{label}"),
        label: label.to_owned(),
        tags: Vec::new(),
        created: Timestamp::UNIX_EPOCH,
        expires: None,
        revoked: None,
        last_used: None,
        policies: policies.collect(),
    }
}

pub(crate) fn entry(token: &str, grant: Grant) -> TableEntry {
    TableEntry { token: TokenHash::of(token), valid_until: None, grant }
}

pub(crate) fn active(policy: &str, version: u32) -> ActivePolicy {
    let policy = Policy::parse(policy.as_bytes()).unwrap();
    let hash = portcullis_json::digest(policy.document());
    ActivePolicy { name: "p".to_owned(), version, hash, policy }
}

pub(crate) fn spec(name: &str, url: String) -> ServerSpec {
    let classes = BTreeMap::from([("echo".to_owned(), Class::Read), ("write".to_owned(), Class::Write)]);
    ServerSpec {
        name: name.to_owned(),
        transport: TransportSpec::http(url),
        headers: vec![("Authorization".to_owned(), Secret::from(CREDENTIAL))],
        classes,
        era: EraSetting::Auto,
        answer_timeout_ms: None,
    }
}

/// Both grants at `fake`, and at `twin` if it is there.
pub(crate) fn snapshot(urls: &[(&str, String)], policy: &str, version: u32) -> Snapshot {
    let bound: Vec<(&str, &str)> = urls.iter().map(|(name, _)| (*name, "p")).collect();
    let grants = [entry(TOKEN, grant("alice", &bound)), entry(OTHER_TOKEN, grant("bob", &bound))];
    let grants = GrantTable::build(grants, None).unwrap();
    let servers = urls.iter().map(|(name, url)| spec(name, url.clone())).collect();
    Snapshot::compile(servers, vec![active(policy, version)], grants).unwrap()
}

impl Rig {
    pub(crate) async fn modern(policy: &str) -> Rig {
        Rig::start(policy, true, plain(), Settings::default()).await
    }

    pub(crate) async fn legacy(policy: &str) -> Rig {
        Rig::start(policy, false, plain(), Settings::default()).await
    }

    pub(crate) async fn start(policy: &str, modern: bool, script: Script, settings: Settings) -> Rig {
        let server = FakeServer::start(modern, script).await;
        let snapshot = snapshot(&[("fake", url_of(&server))], policy, 1);
        Rig::with(server, snapshot, settings).await
    }

    pub(crate) async fn with(server: FakeServer, snapshot: Snapshot, settings: Settings) -> Rig {
        Rig::with_pins(server, snapshot, settings, Pins::in_memory().unwrap()).await
    }

    pub(crate) async fn with_pins(
        server: FakeServer,
        snapshot: Snapshot,
        settings: Settings,
        pins: Pins,
    ) -> Rig {
        let directory = tempfile::tempdir().unwrap();
        let key = CheckpointKey::from_bytes(&[1; 32]);
        // The counters' snapshot goes beside the log.
        let place = directory.path().join("log");
        std::fs::create_dir(&place).unwrap();
        let (log, _) = DecisionLog::open(&place, key, LogOptions::default()).unwrap();
        let (log, pins) = (Arc::new(log), Arc::new(pins));
        let state = State {
            log: log.clone(),
            ledger: Arc::new(Ledger::empty()),
            pins: pins.clone(),
            digest_key: DigestKey::from_bytes(&[2; 32]),
            clock: Arc::new(Timestamp::now),
        };
        let gateway = Arc::new(Gateway::new(settings, state, snapshot));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let served = tokio::spawn(serve(listener, None, gateway.clone(), shutdown));
        let client = Client::new(format!("{base}/mcp/fake"), TOKEN);
        Rig { gateway, server, client, log, pins, directory, stop: Some(stop), served, base }
    }

    pub(crate) fn client_at(&self, path: &str, token: &str) -> Client {
        Client::new(format!("{}{path}", self.base), token)
    }

    pub(crate) fn replace_policy(&self, policy: &str, version: u32) {
        self.gateway.replace(snapshot(&[("fake", url_of(&self.server))], policy, version));
    }

    /// An administrator looks at what the tool is now, and accepts it.
    pub(crate) async fn accept(&self, tool: &'static str) {
        let pins = self.pins.clone();
        let accepted = tokio::task::spawn_blocking(move || -> Result<(), StateFault> {
            pins.change("fake", |open| {
                let change = open.changes()?.remove(tool).unwrap();
                open.note_shown(tool, &change.fingerprint)?;
                open.accept(tool, Timestamp::now()).map(|_| ())
            })
        });
        accepted.await.unwrap().unwrap();
        self.gateway.look_again("fake");
    }

    /// Every record of the log so far.
    pub(crate) fn records(&self) -> Vec<Value> {
        let mut files: Vec<_> = std::fs::read_dir(self.directory.path().join("log"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        files.sort();
        let texts = files.iter().map(|path| std::fs::read_to_string(path).unwrap());
        texts.flat_map(|text| text.lines().map(read).collect::<Vec<_>>()).collect()
    }

    /// Records of this kind and method or request.
    pub(crate) fn decisions(&self, method: &str) -> Vec<Value> {
        let wanted = |record: &Value| {
            record.get("kind").and_then(Value::as_str) == Some("decision")
                && record.get("method").and_then(Value::as_str) == Some(method)
        };
        self.records().into_iter().filter(wanted).collect()
    }
}

pub(crate) fn url_of(server: &FakeServer) -> String {
    format!("http://{}/mcp", server.address)
}
