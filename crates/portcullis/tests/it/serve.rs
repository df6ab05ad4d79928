//! `serve`: a configuration file, its reload, and everything that can be wrong with it.

use crate::command::Place;
use crate::running::{Running, errors, eventually, free_port, paste};

const TOKEN: &str = "a-token-for-tests-that-is-long-enough-0123456789";
const ALLOW: &str = r#"{"version": "1", "default": "allow"}"#;
const DENY: &str = r#"{"version": "1", "default": "deny", "tools": {"list_notes": {"action": "deny", "reason": "not today"}}}"#;

fn configuration(port: u16) -> String {
    format!(
        r#"listen = "127.0.0.1:{port}"
data_dir = "data"

[[servers]]
name = "play"
url = "builtin:playground"

[[policies]]
name = "p"
server = "play"
file = "p.json"

[[grants]]
label = "alice"
server = "play"
policy = "p"
token = "env:ALICE_TOKEN"
"#
    )
}

fn call(place: &Place, port: u16, token: &str) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_notes","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let line = format!(
        "curl -s http://127.0.0.1:{port}/mcp/play -H 'Authorization: Bearer {token}' \
         -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
         -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: list_notes' \
         -w ' %{{http_code}}' -d '{body}'"
    );
    paste(&place.path(""), &line)
}

fn started() -> (Place, u16, Running) {
    let (place, port) = (Place::new(), free_port());
    place.file("portcullis.toml", configuration(port)).file("p.json", ALLOW);
    let gateway = Running::serve(&place.path(""), port, &[("ALICE_TOKEN", TOKEN)]);
    (place, port, gateway)
}

#[test]
fn a_changed_policy_is_taken_in_and_a_bad_file_is_not() {
    let (place, port, _gateway) = started();
    assert!(call(&place, port, TOKEN).contains("shopping"));
    place.file("p.json", DENY);
    eventually("the new policy is in force", || call(&place, port, TOKEN).contains("not today"));

    place.file("portcullis.toml", configuration(port).replace("[[grants]]", "[[grant]]"));
    eventually("the bad file is refused", || errors(&place.path("")).contains("was refused"));
    assert!(errors(&place.path("")).contains("unknown key `grant`; did you mean `grants`?"));
    assert!(call(&place, port, TOKEN).contains("not today"), "the last good configuration is gone");

    place.file("p.json", ALLOW).file("portcullis.toml", configuration(port));
    eventually("the good file is taken in again", || call(&place, port, TOKEN).contains("shopping"));
    let log = place.run(&["log", "tail", "--data-dir", "data", "-n", "100"]).out;
    assert!(log.contains("config_reloaded") && log.contains("config_refused"), "{log}");
    let list = place.run(&["policy", "list", "--data-dir", "data"]).out;
    assert!(list.contains("file"), "{list}");
}

#[test]
fn a_hangup_reads_the_file_again_and_a_signal_stops_it() {
    let (place, _, gateway) = started();
    gateway.signal("HUP");
    eventually("the file is read again", || errors(&place.path("")).contains("was taken in"));
    assert_eq!(gateway.stop(), Some(0));
    let verified = place.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(verified.code, 0, "{}", verified.error);
    assert!(
        !verified.out.contains("wait for the next checkpoint"),
        "the end is not signed: {}",
        verified.out
    );
}

#[test]
fn strangers_get_nothing() {
    let (place, port, _gateway) = started();
    assert!(call(&place, port, "pcl_wrong").ends_with(" 401"));
}

#[test]
fn what_the_file_declares_is_changed_there_alone() {
    let (place, _, _gateway) = started();
    for arguments in [["grant", "revoke", "alice"], ["policy", "rollback", "p"], ["server", "remove", "play"]]
    {
        let ran = place.run(&[&arguments[..], &["--data-dir", "data"]].concat());
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.error.contains("is declared in the configuration file"), "{}", ran.error);
    }
}

#[test]
fn only_one_serves_a_directory_and_only_one_has_a_port() {
    let (place, port, _gateway) = started();
    let other = configuration(free_port());
    place.file("other.toml", other.replace("env:ALICE_TOKEN", "file:token")).file("token", TOKEN);
    let ran = place.run(&["serve", "--config", "other.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("is held by process"), "{}", ran.error);

    let same_port =
        configuration(port).replace("\"data\"", "\"data2\"").replace("env:ALICE_TOKEN", "file:token");
    place.file("other.toml", same_port);
    let ran = place.run(&["serve", "--config", "other.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("another program has this port"), "{}", ran.error);
    assert!(!place.path("data2").exists(), "something was half-started");
}

#[test]
fn a_bad_configuration_gives_one_message_with_its_place() {
    let good = configuration(1).replace("env:ALICE_TOKEN", "file:token");
    let second = "\n[[grants]]\nlabel = \"bob\"\nserver = \"play\"\npolicy = \"p\"\ntoken = \"file:token\"\n";
    let cases = [
        (
            good.replace("listen =", "lisen ="),
            "`bad.toml`, line 1, column 1: unknown key `lisen`; did you mean `listen`?",
        ),
        (good.replace("url =", "uri ="), "line 6, column 1: unknown key `uri`; did you mean `url`?"),
        (
            good.clone() + "[settings]\nbody_bytes = 1\n",
            "column 1: unknown key `body_bytes`; did you mean `body_bytes_max`?",
        ),
        (
            good.clone() + "[settings]\nbody_bytes_max = \"1\"\n",
            "`body_bytes_max` must be a whole number, at least 1",
        ),
        (good.replace("[[servers]]", "[[servers]"), "`bad.toml`, line 4, column"),
        (good.replace("127.0.0.1:1", "nowhere"), "line 1, column 10: `listen` must be an address"),
        (good.replace("127.0.0.1:1", "0.0.0.0:1"), "can be reached from other machines: give `tls_cert`"),
        (
            "tls_cert = \"gone.pem\"\ntls_key = \"gone.key\"\n".to_owned() + &good,
            "cannot read the certificate `gone.pem`",
        ),
        ("tls_cert = \"gone.pem\"\n".to_owned() + &good, "line 1, column 12: `tls_cert` needs `tls_key`"),
        (good.replace("p.json", "q.json"), "line 11, column 8: cannot read `q.json`: there is no such file"),
        (good.replace("p.json", "bad.json"), "line 11, column 8: the policy `bad.json` does not check"),
        (
            good.replace("file:token", "env:NOT_SET_HERE"),
            "line 17, column 9: the environment variable `NOT_SET_HERE` is not set",
        ),
        (
            good.replace("file:token", "file:gone"),
            "line 17, column 9: cannot read `gone`: there is no such file",
        ),
        (good.replace("file:token", "secret"), "line 17, column 9: a token does not belong into this file"),
        (
            "metrics_token = \"plain\"\n".to_owned() + &good,
            "`bad.toml`, line 1, column 17: a token does not belong into this file",
        ),
        (good.clone() + second, "grants `alice` and `bob` have the same token; give each its own"),
        (good.replace("policy = \"p\"", "policy = \"q\""), "line 16, column 10: there is no policy `q`"),
        (good.replace("name = \"play\"", "name = \"a/b\""), "line 5, column 8: a name has letters"),
        (good.replace("\"alice\"", "\"\""), "line 14, column 9: a label has 1 to 128 characters"),
        (
            good.replace("builtin:playground", "ftp://x"),
            "line 6, column 7: server `play` has the url `ftp://x`",
        ),
        (good.replace("label = \"alice\"\n", ""), "line 13, column 1: `label` is missing here"),
    ];
    for (text, expected) in cases {
        let place = Place::new();
        place
            .file("bad.toml", &text)
            .file("p.json", ALLOW)
            .file("bad.json", "{\"version\": \"2\"}")
            .file("token", TOKEN);
        let text = text.replace("127.0.0.1:1\"", &format!("127.0.0.1:{}\"", free_port()));
        place.file("bad.toml", text);
        let ran = place.run(&["serve", "--config", "bad.toml"]);
        assert_eq!(ran.code, 2, "{expected}: {}", ran.error);
        assert!(ran.error.contains(expected), "expected `{expected}` in: {}", ran.error);
        assert!(!place.path("data").exists(), "{expected}: something was half-started");
        assert_eq!(ran.error.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{}", ran.error);
    }
}

#[test]
fn a_configuration_that_is_not_there_is_named() {
    let place = Place::new();
    let ran = place.run(&["serve", "--config", "gone.toml"]);
    assert_eq!(
        (ran.code, ran.error.as_str()),
        (2, "error: cannot read `gone.toml`: there is no such file\n")
    );
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "something was half-started");
}

#[test]
fn a_directory_from_a_newer_version_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    place.file("data/format", "portcullis-data 99\n");
    place.file("portcullis.toml", format!("listen = \"127.0.0.1:{}\"\ndata_dir = \"data\"\n", free_port()));
    let ran = place.run(&["serve"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("was made by a newer version of portcullis"), "{}", ran.error);
    assert_eq!(std::fs::read_dir(place.path("data")).unwrap().count(), 1);
}
