//! Servers with their credentials, and policies with their versions.

use std::collections::BTreeMap;

use portcullis_state::log::RiskClass;
use portcullis_state::store::*;
use portcullis_state::{Secret, StateFault};
use rusqlite::Connection;

use crate::grants::{Data, data};
use crate::setup::at;

fn server(name: &str, headers: Vec<(&str, HeaderInput)>) -> NewServer {
    NewServer {
        name: name.to_owned(),
        transport: Transport::Url("http://127.0.0.1:9001/mcp".to_owned()),
        headers: headers.into_iter().map(|(name, input)| (name.to_owned(), input)).collect(),
        classes: BTreeMap::from([("eval".to_owned(), RiskClass::Execute)]),
    }
}

fn raw(data: &Data) -> Connection {
    Connection::open(data.directory.store()).unwrap()
}

#[test]
fn a_server_is_kept_with_its_headers_and_classes() {
    let mut data = data();
    let file = data.directory.path().join("key.txt");
    std::fs::write(&file, "from-file\n").unwrap();
    let reference = format!("file:{}", file.display());
    let added = server(
        "pharo",
        vec![
            ("X-File", HeaderInput::parse(Secret::from(reference.as_str()))),
            ("X-Sealed", HeaderInput::parse(Secret::from("CANARY-value"))),
        ],
    );
    let added = data.store.add_server(&added, at(0)).unwrap();
    assert_eq!(added, data.store.server("pharo").unwrap());
    assert_eq!(added.classes["eval"], RiskClass::Execute);
    let resolved = data.store.resolve_headers(&added).unwrap();
    let values: Vec<_> = resolved.iter().map(|(_, secret)| secret.expose()).collect();
    assert_eq!(values, ["from-file", "CANARY-value"]);
    assert!(!format!("{added:?}").contains("CANARY"));
    let command = StoredCommand {
        words: vec!["npx".into(), "server".into()],
        cwd: Some("/srv".into()),
        inherit_env: true,
        shared: true,
    };
    let stdio = NewServer { transport: Transport::Command(command.clone()), ..server("stdio", vec![]) };
    let stdio = data.store.add_server(&stdio, at(0)).unwrap();
    assert_eq!(stdio.transport, Transport::Command(command));
    assert!(data.store.add_server(&server("pharo", vec![]), at(0)).is_err());
    for name in ["", "..", "a b", "../x", "ü", &"x".repeat(129)] {
        assert!(data.store.add_server(&server(name, vec![]), at(0)).is_err(), "{name:?}");
    }
}

#[test]
fn a_missing_variable_is_named() {
    let mut data = data();
    let input = HeaderInput::parse(Secret::from("env:PORTCULLIS_NO_SUCH_VARIABLE"));
    let added = data.store.add_server(&server("pharo", vec![("X-Key", input)]), at(0)).unwrap();
    let fault = data.store.resolve_headers(&added).err().unwrap().to_string();
    for part in ["X-Key", "pharo", "PORTCULLIS_NO_SUCH_VARIABLE"] {
        assert!(fault.contains(part), "{fault}");
    }
}

#[test]
fn a_sealed_value_opens_only_where_it_was_sealed() {
    let mut data = data();
    let sealed = || HeaderInput::Value(Secret::from("CANARY-value"));
    let headers = vec![("Authorization", sealed()), ("X-Other", sealed())];
    data.store.add_server(&server("one", headers), at(0)).unwrap();
    data.store.add_server(&server("two", vec![("Authorization", sealed())]), at(0)).unwrap();
    for swap in [
        "UPDATE server_headers SET value = (SELECT value FROM server_headers WHERE server = 'two')
         WHERE server = 'one' AND name = 'Authorization'",
        "UPDATE server_headers SET value =
            (SELECT value FROM server_headers WHERE server = 'one' AND name = 'X-Other')
         WHERE server = 'one' AND name = 'Authorization'",
        "UPDATE server_headers SET value = substr(value, 1, length(value) - 1)
         WHERE server = 'one' AND name = 'Authorization'",
    ] {
        raw(&data).execute(swap, []).unwrap();
        let one = data.store.server("one").unwrap();
        let fault = data.store.resolve_headers(&one).err().unwrap();
        assert!(matches!(fault, StateFault::Unsealable { .. }), "{fault}");
        assert!(!fault.to_string().contains("CANARY"));
    }
    let bytes = std::fs::read(data.directory.store()).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"CANARY"));
}

#[test]
fn the_sealing_key_rotates() {
    let mut data = data();
    let sealed = HeaderInput::Value(Secret::from("value"));
    data.store.add_server(&server("one", vec![("Authorization", sealed)]), at(0)).unwrap();
    assert_eq!(data.store.rotate_sealing_key().unwrap(), 2);
    // The first key is not needed any more.
    std::fs::remove_file(data.directory.path().join("keys/sealing-1.key")).unwrap();
    let store = Store::open(&data.directory).unwrap();
    let one = store.server("one").unwrap();
    assert_eq!(store.resolve_headers(&one).unwrap()[0].1.expose(), "value");
}

#[test]
fn a_server_in_use_stays() {
    let mut data = data();
    data.store.add_server(&server("pharo", vec![]), at(0)).unwrap();
    data.store.add_policy("daily", "pharo", b"{}", at(0)).unwrap();
    let grant = NewGrant {
        label: "alice".into(),
        policies: BTreeMap::from([("pharo".into(), "daily".into())]),
        ..NewGrant::default()
    };
    data.store.create_grant(&grant, at(0)).unwrap();
    assert!(matches!(data.store.remove_server("pharo"), Err(StateFault::InUse { .. })));
    data.store.revoke_grant("alice", at(1)).unwrap();
    data.store.remove_server("pharo").unwrap();
    assert!(data.store.servers().unwrap().is_empty());
}

#[test]
fn versions_are_addressed_by_content_and_never_change() {
    let mut data = data();
    let store = &mut data.store;
    let first = store.add_policy("daily", "pharo", br#"{"a": 1, "b": 2}"#, at(0)).unwrap();
    let second = store.add_policy("daily", "pharo", br#"{"a": 2}"#, at(1)).unwrap();
    let again = store.add_policy("daily", "pharo", br#"{"b":2.0,"a":1}"#, at(2)).unwrap();
    assert_eq!((first.version, second.version), (1, 2));
    assert_eq!(again, first, "another layout is the same content");
    assert!(store.add_policy("daily", "github", b"{}", at(3)).is_err());
    assert!(store.add_policy("bad", "pharo", br#"{"a":1,"a":2}"#, at(3)).is_err());
    assert!(store.policy("bad").is_err(), "nothing is half added");
    assert_eq!(store.policy_versions("daily").unwrap(), [first, second]);
    let changed = raw(&data).execute("UPDATE policy_versions SET source = x'00'", []);
    assert!(changed.unwrap_err().to_string().contains("never changes"));
}

#[test]
fn activation_and_rollback_are_kept() {
    let mut data = data();
    let store = &mut data.store;
    for (second, source) in [(0, b"1"), (1, b"2"), (2, b"3")] {
        store.add_policy("daily", "pharo", source, at(second)).unwrap();
    }
    assert_eq!(store.policy("daily").unwrap().active, None);
    assert!(store.roll_back_policy("daily", "cli", at(3)).is_err());
    assert!(store.activate_policy("daily", 9, "cli", at(3)).is_err());
    store.activate_policy("daily", 1, "cli", at(4)).unwrap();
    store.activate_policy("daily", 3, "alice", at(5)).unwrap();
    assert_eq!(store.roll_back_policy("daily", "bob", at(6)).unwrap().version, 1);
    assert_eq!(store.policies().unwrap()[0].active, Some(1));
    let history = store.policy_history("daily").unwrap();
    let versions: Vec<_> = history.iter().map(|past| (past.version, past.by.as_str())).collect();
    assert_eq!(versions, [(1, "cli"), (3, "alice"), (1, "bob")]);
}

#[test]
fn a_newer_schema_is_refused_clearly() {
    let data = data();
    raw(&data).pragma_update(None, "user_version", 7).unwrap();
    let fault = Store::open(&data.directory).err().unwrap();
    assert!(matches!(fault, StateFault::Newer { found: 7, known: 1, .. }), "{fault}");
}
