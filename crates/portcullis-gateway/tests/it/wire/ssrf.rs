//! Ways to write an address that only a resolver reads as one: each leads to a private place, and is refused when a
//! server is added and again when it would be connected to. Without this the credential could be sent there.

use std::net::Ipv4Addr;

use portcullis_gateway::{Reach, Settings, Snapshot, check_address};
use portcullis_json::Value;
use portcullis_policy::yaml_to_value;
use portcullis_state::grants::GrantTable;

use super::case::text;
use super::directory;
use super::tee::Tee;
use crate::fake_server::FakeServer;
use crate::rig::{OPEN, Rig, TOKEN, active, entry, grant, plain, spec};

/// `form` says how: `{a}` and so on are the bytes, `{w}` is the whole, `{y}` the last two and `{z}` the last three;
/// `x` and `o` after a letter write it in hexadecimal or octal.
fn written(form: &str, address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets().map(u64::from);
    let (y, z, w) = (c << 8 | d, b << 16 | c << 8 | d, u64::from(u32::from(address)));
    let values = [("a", a), ("b", b), ("c", c), ("d", d), ("y", y), ("z", z), ("w", w)];
    values.iter().fold(form.to_owned(), |form, (name, value)| {
        form.replace(&format!("{{{name}}}"), &value.to_string())
            .replace(&format!("{{{name}x}}"), &format!("0x{value:x}"))
            .replace(&format!("{{{name}X}}"), &format!("0X{value:08X}"))
            .replace(&format!("{{{name}o}}"), &format!("0{value:o}"))
    })
}

fn hosts() -> Vec<String> {
    let file = yaml_to_value(&std::fs::read(directory().join("ssrf.yaml")).unwrap()).unwrap();
    let list = |key: &str| {
        file.get(key)
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .map(text)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let forms = list("forms");
    let addresses = list("addresses");
    let of = |address: &String| {
        forms.iter().map(|form| written(form, address.parse().unwrap())).collect::<Vec<_>>()
    };
    addresses.iter().flat_map(of).collect()
}

#[tokio::test]
async fn ssrf() {
    let hosts = hosts();
    assert_eq!(hosts.len(), 132, "addresses; if that is meant, correct the number");
    let server = FakeServer::start(true, plain()).await;
    let tee = Tee::before(server.address).await;
    let names: Vec<String> = (0..hosts.len()).map(|number| format!("s{number}")).collect();
    let bound: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "p")).collect();
    let grants = GrantTable::build([entry(TOKEN, grant("alice", &bound))], None).unwrap();
    let url = |host: &String| format!("http://{host}:{}/mcp", tee.address.port());
    let servers = names.iter().zip(&hosts).map(|(name, host)| spec(name, url(host))).collect();
    let snapshot = Snapshot::compile(servers, vec![active(OPEN, 1)], grants).unwrap();
    let rig = Rig::with(server, snapshot, Settings::default()).await;
    for (name, host) in names.iter().zip(&hosts) {
        let added = check_address(&url(host), Reach::Public);
        assert!(added.is_err_and(|why| why.contains("which is not a public address")), "{host} can be added");
        let answer = rig.client_at(&format!("/mcp/{name}"), TOKEN).call("echo", r#"{"text":"x"}"#).await;
        assert_eq!(answer.at("error|code"), "41006", "{host}: {}", answer.text);
        assert!(answer.at("error|message").contains("cannot be reached"), "{host}: {}", answer.text);
    }
    assert!(tee.take().is_empty(), "not a byte");
    let unavailable = rig.decisions("tools/call");
    assert_eq!(unavailable.len(), hosts.len(), "each is in the log");
}
