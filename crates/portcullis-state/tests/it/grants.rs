//! Grants: tokens, look-up, rotation, revocation.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use portcullis_state::grants::*;
use portcullis_state::store::{NewGrant, Store};
use portcullis_state::{DataDirectory, StateFault};

use crate::setup::at;

pub(crate) struct Data {
    pub(crate) _guard: tempfile::TempDir,
    pub(crate) directory: DataDirectory,
    pub(crate) store: Store,
}

pub(crate) fn data() -> Data {
    let guard = tempfile::tempdir().unwrap();
    let directory = DataDirectory::open_or_create(&guard.path().join("data")).unwrap();
    let store = Store::open(&directory).unwrap();
    Data { _guard: guard, directory, store }
}

fn new(label: &str) -> NewGrant {
    NewGrant { label: label.to_owned(), ..NewGrant::default() }
}

fn table(store: &Store) -> GrantTable {
    GrantTable::build(store.grant_entries().unwrap(), None).unwrap()
}

#[test]
fn a_token_has_its_form_and_a_checksum() {
    let mut seen = HashSet::new();
    for _ in 0..500 {
        let token = Token::generate().unwrap();
        let text = token.expose().to_owned();
        assert!(text.starts_with("pcl_") && text.len() == 4 + 43 + 6, "{text}");
        assert!(text[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(Token::parse(&text).is_ok());
        assert!(seen.insert(text));
    }
    let letters: HashSet<u8> = seen.iter().flat_map(|text| text.bytes().skip(4).take(43)).collect();
    assert_eq!(letters.len(), 62, "every letter occurs");
}

#[test]
fn a_mistyped_token_is_noticed() {
    let token = Token::generate().unwrap();
    let text = token.expose();
    for at in 0..text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
        assert!(Token::parse(std::str::from_utf8(&bytes).unwrap()).is_err(), "letter {at}");
    }
    for wrong in ["", "pcl_", &text[..52], &format!("{text}0"), "pcl_ü"] {
        assert!(Token::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn only_the_hash_is_stored() {
    let mut data = data();
    let (_, token) = data.store.create_grant(&new("alice"), at(0)).unwrap();
    drop(data.store);
    for entry in std::fs::read_dir(data.directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let needle = &token.expose().as_bytes()[4..30];
            assert!(!bytes.windows(26).any(|window| window == needle), "{}", path.display());
        }
    }
}

#[test]
fn unknown_expired_and_revoked_look_the_same() {
    let mut data = data();
    let expiring = NewGrant { expires: Some(at(100)), ..new("expiring") };
    let (grant, expiring) = data.store.create_grant(&expiring, at(0)).unwrap();
    let (_, revoked) = data.store.create_grant(&new("revoked"), at(0)).unwrap();
    let before = table(&data.store);
    let found = before.find(expiring.expose(), at(99)).unwrap();
    assert_eq!(found.grant(), &grant);
    assert!(before.find(revoked.expose(), at(0)).is_some());
    data.store.revoke_grant("revoked", at(1)).unwrap();
    let after = table(&data.store);
    for (presented, second) in [(expiring.expose(), 100), (revoked.expose(), 1), ("pcl_nothing", 1), ("", 1)]
    {
        assert!(after.find(presented, at(second)).is_none());
    }
}

#[test]
fn an_open_stream_asks_the_current_table() {
    let mut data = data();
    let (grant, token) = data.store.create_grant(&new("alice"), at(0)).unwrap();
    let before = table(&data.store);
    assert!(before.find(token.expose(), at(0)).is_some());
    assert!(before.is_active(&grant.id, at(0)));
    data.store.revoke_grant("alice", at(1)).unwrap();
    assert!(!table(&data.store).is_active(&grant.id, at(0)), "also if the clock stands before");
}

#[test]
fn rotation_overlaps_and_then_ends_the_old_token() {
    let mut data = data();
    let (grant, old) = data.store.create_grant(&new("alice"), at(0)).unwrap();
    let new = data.store.rotate_grant("alice", Duration::from_secs(60), at(10)).unwrap();
    let now = table(&data.store);
    for token in [&old, &new] {
        assert_eq!(now.find(token.expose(), at(69)).unwrap().grant().id, grant.id);
    }
    assert!(now.find(old.expose(), at(70)).is_none());
    assert!(now.find(new.expose(), at(70)).is_some());
    // A second rotation does not give the first token more time.
    let newest = data.store.rotate_grant("alice", Duration::from_secs(600), at(20)).unwrap();
    let now = table(&data.store);
    assert!(now.find(old.expose(), at(70)).is_none());
    assert!(now.find(new.expose(), at(70)).is_some());
    assert!(now.find(newest.expose(), at(10_000)).is_some());
    // Without overlap the old ones end at once.
    let last = data.store.rotate_grant("alice", Duration::ZERO, at(30)).unwrap();
    let now = table(&data.store);
    assert_eq!(now.len(), 1);
    assert!(now.find(last.expose(), at(30)).is_some());
    data.store.revoke_grant(&grant.id, at(40)).unwrap();
    assert!(table(&data.store).is_empty());
    assert!(data.store.rotate_grant("alice", Duration::ZERO, at(50)).is_err());
}

#[test]
fn last_use_is_kept_across_tables_and_restarts() {
    let mut data = data();
    let (grant, token) = data.store.create_grant(&new("alice"), at(0)).unwrap();
    let first = table(&data.store);
    first.find(token.expose(), at(50)).unwrap();
    let second = GrantTable::build(data.store.grant_entries().unwrap(), Some(&first)).unwrap();
    assert_eq!(second.last_used(), [(grant.id.clone(), at(50))]);
    data.store.note_last_used(&second.last_used()).unwrap();
    // An older note does not take it back.
    data.store.note_last_used(&[(grant.id.clone(), at(20))]).unwrap();
    let store = Store::open(&data.directory).unwrap();
    assert_eq!(store.grant("alice").unwrap().last_used, Some(at(50)));
}

#[test]
fn two_grants_cannot_share_a_token_or_a_label() {
    let mut data = data();
    let (grant, token) = data.store.create_grant(&new("alice"), at(0)).unwrap();
    let again = data.store.create_grant(&new("alice"), at(0)).err().unwrap();
    assert!(matches!(again, StateFault::Exists { .. }), "{again}");
    let posing = data.store.create_grant(&new(&grant.id), at(0)).err().unwrap();
    assert!(matches!(posing, StateFault::Exists { .. }), "a command could mean either: {posing}");
    let mut entries = data.store.grant_entries().unwrap();
    let other = Grant { id: "g_config".into(), label: "bob".into(), ..grant };
    entries.push(TableEntry { token: token.hash(), valid_until: None, grant: other });
    let refused = GrantTable::build(entries, None).unwrap_err();
    assert!(refused.to_string().contains("`alice` and `bob`"), "{refused}");
}

#[test]
fn a_grant_binds_servers_to_policies_that_are_for_them() {
    let mut data = data();
    data.store.add_policy("daily", "pharo", b"{}", at(0)).unwrap();
    let bound = |server: &str, policy: &str| NewGrant {
        tags: vec!["ci".into()],
        policies: BTreeMap::from([(server.to_owned(), policy.to_owned())]),
        ..new(&format!("{server}-{policy}"))
    };
    for (server, policy) in [("github", "daily"), ("pharo", "nightly")] {
        assert!(data.store.create_grant(&bound(server, policy), at(0)).is_err());
    }
    let (grant, _) = data.store.create_grant(&bound("pharo", "daily"), at(0)).unwrap();
    assert_eq!(grant.policies["pharo"], "daily");
    assert_eq!(grant.tags, ["ci"]);
    assert_eq!(data.store.grants().unwrap(), [grant]);
    for label in ["", "two\nlines", &"x".repeat(200)] {
        assert!(data.store.create_grant(&new(label), at(0)).is_err(), "{label:?}");
    }
}
