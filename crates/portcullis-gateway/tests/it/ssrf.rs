//! A server's name must not lead the gateway, with its credential, into a private network.

use crate::fake_server::FakeServer;
use crate::rig::{OPEN, Rig, TOKEN, active, entry, grant, plain, spec};
use portcullis_gateway::{ServerSpec, Settings, Snapshot};
use portcullis_state::grants::GrantTable;

/// The fake server under this host name.
async fn rig(host: &str, allow_private: bool) -> Rig {
    let server = FakeServer::start(true, plain()).await;
    let url = format!("http://{host}:{}/mcp", server.address.port());
    let grants = GrantTable::build([entry(TOKEN, grant("alice", &[("fake", "p")]))], None).unwrap();
    let servers = vec![ServerSpec { allow_private, ..spec("fake", url) }];
    let snapshot = Snapshot::compile(servers, vec![active(OPEN, 1)], grants).unwrap();
    Rig::with(server, snapshot, Settings::default()).await
}

const TEXT: &str = r#"{"text":"x"}"#;

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_connected_to() {
    // The system's resolver reads these as 127.0.0.1; they are not addresses as anybody writes them.
    for name in ["2130706433", "0x7f.1", "127.1"] {
        let rig = rig(name, false).await;
        let answer = rig.client.call("echo", TEXT).await;
        assert_eq!(answer.at("error|code"), "41006", "{name}: {}", answer.text);
        assert!(answer.at("error|message").contains("cannot be reached"), "{}", answer.text);
        assert_eq!(rig.server.count(), 0, "{name}");
    }
}

#[tokio::test]
async fn an_administrator_may_allow_it() {
    let rig = rig("127.1", true).await;
    assert_eq!(rig.client.call("echo", TEXT).await.at("result|isError"), "false");
}

#[tokio::test]
async fn an_address_that_is_written_out_and_localhost_are_meant() {
    for host in ["127.0.0.1", "localhost"] {
        let rig = rig(host, false).await;
        assert_eq!(rig.client.call("echo", TEXT).await.at("result|isError"), "false", "{host}");
    }
}
