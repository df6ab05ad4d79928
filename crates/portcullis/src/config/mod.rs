//! The configuration file: TOML, read strictly, every fault with its place.
//!
//! `keys.rs` says which keys there are, `read.rs` reads values with their places, `secret.rs` follows
//! `env:` and `file:`. Paths are relative to the file. Nothing here touches the store or the network:
//! `serve` does, with what comes out.

mod command;
mod fault;
mod keys;
mod read;
mod secret;
mod sections;
mod settings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use portcullis_gateway::{EraSetting, ServerSpec, Settings, TransportSpec};
use portcullis_policy::Class;
use portcullis_state::Secret;
use portcullis_state::grants::TokenHash;
use portcullis_state::log::SyncMode;

pub(crate) use fault::ConfigFault;
pub(crate) use keys::{reference, unknown_class};
pub(crate) use read::files_named;
pub(crate) use secret::resolve as resolve_secret;

use read::{Document, Section};

/// Where the gateway listens if nobody says otherwise.
pub(crate) const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8700);
/// Where state is kept if nobody says otherwise.
pub(crate) const DATA_DIR: &str = "portcullis-data";

/// A configuration, whole and checked.
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) data_dir: PathBuf,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) sync: SyncMode,
    pub(crate) log_days_max: Option<u64>,
    pub(crate) settings: Settings,
    pub(crate) servers: Vec<DeclaredServer>,
    pub(crate) policies: Vec<DeclaredPolicy>,
    pub(crate) grants: Vec<DeclaredGrant>,
}

/// The certificate chain and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// A server of the file.
pub(crate) struct DeclaredServer {
    pub(crate) name: String,
    pub(crate) transport: TransportSpec,
    pub(crate) headers: Vec<(String, Secret)>,
    pub(crate) classes: BTreeMap<String, Class>,
    pub(crate) era: EraSetting,
    pub(crate) answer_timeout_ms: Option<u64>,
    pub(crate) allow_private: bool,
}

impl DeclaredServer {
    /// The server as the gateway takes it.
    pub(crate) fn spec(&self) -> ServerSpec {
        let headers = self.headers.iter();
        ServerSpec {
            name: self.name.clone(),
            transport: self.transport.copied(),
            headers: headers.map(|(name, value)| (name.clone(), value.expose().into())).collect(),
            classes: self.classes.clone(),
            era: self.era,
            answer_timeout_ms: self.answer_timeout_ms,
            allow_private: self.allow_private,
        }
    }
}

/// A policy of the file, read and checked.
#[derive(Clone)]
pub(crate) struct DeclaredPolicy {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) source: Vec<u8>,
}

/// A grant of the file.
pub(crate) struct DeclaredGrant {
    pub(crate) label: String,
    pub(crate) token: TokenHash,
    pub(crate) tags: Vec<String>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) server: String,
    pub(crate) policy: String,
}

impl Config {
    /// What `up` runs with: nothing declared, everything by default.
    pub(crate) fn by_default(listen: SocketAddr, data_dir: &Path) -> Config {
        Config {
            listen,
            data_dir: data_dir.to_owned(),
            tls: None,
            sync: SyncMode::Group,
            log_days_max: None,
            settings: Settings::default(),
            servers: Vec::new(),
            policies: Vec::new(),
            grants: Vec::new(),
        }
    }

    /// Reads the file and everything it names.
    pub(crate) fn load(path: &Path) -> Result<Config, ConfigFault> {
        let bytes = crate::files::read(path).map_err(ConfigFault::anywhere)?;
        let document = Document::parse(path, &bytes)?;
        read_config(&document.root())
    }
}

fn read_config(root: &Section<'_>) -> Result<Config, ConfigFault> {
    root.check_keys(keys::TOP)?;
    let listen = root.parsed("listen", "an address such as \"127.0.0.1:8700\"")?.unwrap_or(LISTEN);
    let tls = read_tls(root, listen)?;
    let metrics_token = sections::metrics_token(root)?;
    let config = Config {
        listen,
        data_dir: root.path("data_dir")?.unwrap_or_else(|| root.beside(DATA_DIR)),
        tls,
        sync: match root.word("log_sync", &["group", "all"])? {
            Some("all") => SyncMode::All,
            _ => SyncMode::Group,
        },
        log_days_max: root.whole("log_days_max", 1)?,
        settings: Settings { metrics_token, ..settings::read(root)? },
        servers: sections::servers(root)?,
        policies: sections::policies(root)?,
        grants: sections::grants(root)?,
    };
    sections::check_names(root, &config)?;
    Ok(config)
}

/// Away from loopback nothing is served in clear text, unless somebody says that TLS ends in front.
fn read_tls(root: &Section<'_>, listen: SocketAddr) -> Result<Option<TlsFiles>, ConfigFault> {
    let (cert, key) = (root.path("tls_cert")?, root.path("tls_key")?);
    let in_front = root.boolean("tls_ends_in_front")?.unwrap_or(false);
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
        (Some(_), None) => Err(root.fault("tls_cert", "`tls_cert` needs `tls_key` beside it")),
        (None, Some(_)) => Err(root.fault("tls_key", "`tls_key` needs `tls_cert` beside it")),
        (None, None) if listen.ip().is_loopback() || in_front => Ok(None),
        (None, None) => Err(root.fault(
            "listen",
            "this address can be reached from other machines: give `tls_cert` and `tls_key`, or say \
             `tls_ends_in_front = true` if something in front of the gateway ends TLS",
        )),
    }
}
