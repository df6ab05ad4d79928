//! TLS on both sides: a gateway that listens with a certificate, behind another one that trusts it.
//!
//! The outer gateway's server is the inner gateway, so one test drives the TLS listener and the HTTPS
//! upstream.

use std::sync::Arc;

use jiff::Timestamp;
use portcullis_gateway::{Gateway, Ledger, ServerSpec, Settings, Snapshot, State, serve};
use portcullis_state::grants::GrantTable;
use portcullis_state::log::{DecisionLog, LogOptions};
use portcullis_state::{CheckpointKey, DigestKey, Secret};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;

use crate::fake_server::FakeServer;
use crate::rig::{OPEN, Rig, active, entry, grant, plain, snapshot, spec, url_of};

struct Certificate {
    certificate: CertificateDer<'static>,
    config: Arc<rustls::ServerConfig>,
}

fn certificate() -> Certificate {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    Certificate { certificate, config: Arc::new(config) }
}

/// A gateway that speaks TLS; its log lives as long as the directory.
async fn listen_with_tls(config: Arc<rustls::ServerConfig>) -> (FakeServer, tempfile::TempDir, String) {
    let server = FakeServer::start(true, plain()).await;
    let directory = tempfile::tempdir().unwrap();
    let key = CheckpointKey::from_bytes(&[1; 32]);
    // The counters' snapshot goes beside the log.
    let place = directory.path().join("log");
    std::fs::create_dir(&place).unwrap();
    let (log, _) = DecisionLog::open(&place, key, LogOptions::default()).unwrap();
    let state = State {
        log: Arc::new(log),
        ledger: Arc::new(Ledger::empty()),
        pins: Arc::new(portcullis_state::pins::Pins::in_memory().unwrap()),
        digest_key: DigestKey::from_bytes(&[2; 32]),
        clock: Arc::new(Timestamp::now),
    };
    let inner = snapshot(&[("fake", url_of(&server))], OPEN, 1);
    let gateway = Arc::new(Gateway::new(Settings::default(), state, inner));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(serve(listener, Some(config), gateway, std::future::pending()));
    (server, directory, format!("https://localhost:{port}/mcp/fake"))
}

async fn outer(url: String, settings: Settings) -> Rig {
    let headers = vec![("Authorization".to_owned(), Secret::from("Bearer alice-token"))];
    let servers = vec![ServerSpec { headers, ..spec("fake", url) }];
    let grants = GrantTable::build([entry("outer", grant("outer", &[("fake", "p")]))], None).unwrap();
    let snapshot = Snapshot::compile(servers, vec![active(OPEN, 1)], grants).unwrap();
    let unused = FakeServer::start(true, plain()).await;
    Rig::with(unused, snapshot, settings).await
}

#[tokio::test]
async fn a_call_passes_through_tls_on_both_sides_only_if_the_certificate_is_trusted() {
    let made = certificate();
    let (server, _directory, url) = listen_with_tls(made.config).await;
    let trusting = Settings { upstream_roots: vec![made.certificate], ..Settings::default() };
    let rig = outer(url.clone(), trusting).await;
    let client = rig.client_at("/mcp/fake", "outer");
    let answer = client.call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(answer.at("result|isError"), "false", "{}", answer.text);
    assert_eq!(server.got("tools/call").len(), 1);

    let rig = outer(url, Settings::default()).await;
    let answer = rig.client_at("/mcp/fake", "outer").call("echo", r#"{"text":"x"}"#).await;
    assert_eq!(answer.at("error|message"), "the server cannot be reached", "{}", answer.text);
    assert_eq!(server.got("tools/call").len(), 1);
}
