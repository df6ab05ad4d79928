//! The commands about the store: with and without a gateway that runs.

use portcullis_json::{Limits, Value, parse};

use crate::command::{Place, Ran};
use crate::running::{Running, paste};

const POLICY: &str = r#"{"version": "1", "default": "allow"}"#;
const STRICTER: &str = r#"{"version": "1", "default": "deny"}"#;

fn run(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[arguments, &["--data-dir", "data"]].concat())
}

fn good(place: &Place, arguments: &[&str]) -> Value {
    let ran = run(place, &[arguments, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.error);
    parse(ran.out.as_bytes(), &Limits::document()).unwrap()
}

fn refused(place: &Place, arguments: &[&str], because: &str) {
    let ran = run(place, arguments);
    assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.out);
    assert!(ran.error.contains(because), "{arguments:?}: {}", ran.error);
}

fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter().fold(value, |value, key| value.get(key).unwrap()).as_str().unwrap()
}

fn prepared() -> Place {
    let place = Place::new();
    place.file("p.json", POLICY).file("q.json", STRICTER);
    good(
        &place,
        &[
            "server",
            "add",
            "s",
            "--url",
            "http://127.0.0.1:9/mcp",
            "--header",
            "X-Key=hush",
            "--class",
            "t=Write",
        ],
    );
    good(&place, &["policy", "add", "p", "p.json", "--server", "s", "--activate"]);
    place
}

#[test]
fn a_grant_lives_from_create_to_revoke() {
    let place = prepared();
    let made =
        good(&place, &["grant", "create", "alice", "--server", "s", "--policy", "p", "--expires-in", "1h"]);
    let token = text(&made, &["token"]).to_owned();
    assert!(token.starts_with("pcl_"));
    let rotated = good(&place, &["grant", "rotate", "alice", "--overlap", "5m"]);
    assert_ne!(text(&rotated, &["token"]), token);
    assert_eq!(text(&good(&place, &["grant", "revoke", "alice"]), &["grant", "state"]), "revoked");
    let list = run(&place, &["grant", "list"]);
    assert!(list.out.contains("alice") && list.out.contains("revoked"), "{}", list.out);
    assert!(!list.out.contains(&token));
    refused(&place, &["grant", "rotate", "alice"], "has ended");
    refused(&place, &["grant", "revoke", "bob"], "there is no grant `bob`");
    refused(
        &place,
        &["grant", "create", "c", "--server", "s", "--policy", "none"],
        "there is no policy `none`",
    );
}

#[test]
fn policies_have_versions_that_come_and_go() {
    let place = prepared();
    good(&place, &["policy", "add", "p", "q.json", "--server", "s"]);
    assert_eq!(good(&place, &["policy", "show", "p"]).get("version"), Some(&Value::from(1)));
    assert_eq!(good(&place, &["policy", "activate", "p"]).get("version"), Some(&Value::from(2)));
    assert!(run(&place, &["policy", "show", "p"]).out.contains("\"deny\""));
    assert_eq!(good(&place, &["policy", "rollback", "p"]).get("version"), Some(&Value::from(1)));
    place.file("bad.json", "{}");
    refused(&place, &["policy", "add", "p", "bad.json", "--server", "s"], "does not check");
    refused(&place, &["policy", "activate", "p", "--version", "9"], "version 9");
}

#[test]
fn a_server_that_could_not_be_used_is_not_kept() {
    let place = prepared();
    let shown = run(&place, &["server", "show", "s"]).out;
    assert!(
        shown.contains("X-Key: (sealed)") && shown.contains("t: Write") && !shown.contains("hush"),
        "{shown}"
    );
    refused(&place, &["server", "add", "x", "--url", "ftp://h"], "no absolute http or https address");
    refused(
        &place,
        &["server", "add", "x", "--url", "http://h", "--header", "A=env:NOT_SET_HERE"],
        "not set",
    );
    refused(&place, &["server", "add", "x", "--url", "http://h", "--class", "t=Nice"], "`Nice` is no class");
    assert!(!run(&place, &["server", "list"]).out.contains('x'), "a refused server was kept");
    good(&place, &["server", "remove", "s"]);
    refused(&place, &["server", "show", "s"], "there is no server `s`");
}

#[test]
fn commands_do_not_make_directories_by_accident() {
    let place = Place::new();
    for arguments in [["grant", "list"], ["log", "verify"], ["log", "tail"], ["policy", "list"]] {
        refused(&place, &arguments, "there is no data directory at `data`");
    }
    assert!(!place.path("data").exists());
}

#[test]
fn the_log_tells_what_was_administered_and_goes_out_in_three_forms() {
    let place = prepared();
    let tail = run(&place, &["log", "tail"]).out;
    assert!(tail.contains("server_added") && tail.contains("policy_activated"), "{tail}");
    let found = good(&place, &["log", "query", "--text", "server_added"]);
    assert_eq!(found.get("records").and_then(Value::as_array).unwrap().len(), 1);
    assert!(run(&place, &["log", "export", "--format", "csv"]).out.starts_with("seq,time,kind"));
    assert!(run(&place, &["log", "export", "--format", "ocsf"]).out.contains("class_uid"));
    let lines = run(&place, &["log", "export"]).out;
    assert!(lines.lines().all(|line| parse(line.as_bytes(), &Limits::document()).is_ok()));
    assert!(good(&place, &["log", "verify"]).get("intact").and_then(Value::as_bool).unwrap());
}

/// Turns round what follows, and hides.
const TRICKY: &str = "a\u{202e}b\u{200b}c";

#[test]
fn names_from_outside_do_nothing_to_a_terminal() {
    let place = prepared();
    let create = |label: &str| run(&place, &["grant", "create", label, "--server", "s", "--policy", "p"]);
    let shown = [
        create(TRICKY),
        create(TRICKY),
        run(&place, &["grant", "list"]),
        run(&place, &["grant", "list", "--json"]),
        run(&place, &["log", "tail"]),
        run(&place, &["log", "tail", "--json"]),
        run(&place, &["log", "query"]),
        run(&place, &["log", "query", "--json"]),
        run(&place, &["grant", "revoke", "x\u{1b}[2J\u{202e}"]),
    ];
    assert_ne!(shown[1].code, 0, "the label is taken");
    for ran in &shown {
        let all = format!("{}{}", ran.out, ran.error);
        assert!(all.contains("202e"), "it is to be seen: {all}");
        assert!(!all.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{all:?}");
    }
    let list = good(&place, &["grant", "list"]);
    let grants = list.get("grants").and_then(Value::as_array).unwrap();
    assert_eq!(text(&grants[0], &["label"]), TRICKY, "for programs it is the same text");
}

#[test]
fn a_changed_log_is_noticed() {
    let place = prepared();
    let segment = std::fs::read_dir(place.path("data/log")).unwrap().flatten().map(|entry| entry.path());
    let segment = segment.filter(|path| path.file_name().unwrap().to_str().unwrap() != "head").max().unwrap();
    let text = std::fs::read_to_string(&segment).unwrap();
    assert!(text.contains("server_added"));
    std::fs::write(&segment, text.replace("server_added", "server_adder")).unwrap();
    let ran = run(&place, &["log", "verify"]);
    assert_eq!(ran.code, 1);
    assert!(ran.error.contains("the log does not hold"), "{}", ran.error);
}

/// On a machine that has nothing but a copy of the log, the public key, and a checkpoint kept from before.
#[test]
fn a_copy_of_the_log_is_verified_elsewhere() {
    let (place, elsewhere) = (prepared(), Place::new());
    std::fs::copy(place.path("data/keys/checkpoint.pub"), elsewhere.path("key")).unwrap();
    std::fs::copy(place.path("data/log/head"), elsewhere.path("kept")).unwrap();
    good(&place, &["policy", "add", "p", "q.json", "--server", "s", "--activate"]);
    std::fs::create_dir(elsewhere.path("copy")).unwrap();
    for entry in std::fs::read_dir(place.path("data/log")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, elsewhere.path("copy").join(path.file_name().unwrap())).unwrap();
    }
    let arguments = ["log", "verify", "--log", "copy", "--key", "key", "--checkpoint", "kept"];
    let verified = elsewhere.run(&arguments);
    assert_eq!(verified.code, 0, "{}", verified.error);
    // Everything behind the first line is gone, and the checkpoint beside it: the one kept elsewhere tells.
    let segment = elsewhere.path("copy/00000000000000000001.jsonl");
    let text = std::fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, format!("{}\n", text.lines().next().unwrap())).unwrap();
    std::fs::remove_file(elsewhere.path("copy/head")).unwrap();
    assert_eq!(elsewhere.run(&arguments[..6]).code, 0, "nothing at hand tells of it");
    let broken = elsewhere.run(&arguments);
    assert_eq!(broken.code, 1);
    assert!(broken.error.contains("`kept`, line 1: the end is missing"), "{}", broken.error);
    // A changed line is named with its file.
    std::fs::write(&segment, text.replacen("server_added", "server_adder", 1)).unwrap();
    let broken = elsewhere.run(&arguments).error;
    assert!(broken.contains("00000000000000000001.jsonl`, line 2"), "{broken}");
    assert_eq!(elsewhere.run(&["log", "verify", "--log", "copy"]).code, 2, "without a key nothing is proven");
}

#[test]
fn a_server_is_looked_at_with_and_without_a_gateway() {
    let place = prepared();
    refused(&place, &["server", "check", "s"], "server `s` cannot be reached");
    refused(&place, &["server", "check", "none"], "there is no server `none`");
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    for gateway in [Some(gateway), None] {
        let looked = run(&place, &["server", "check", "playground"]);
        assert_eq!(looked.code, 0, "{}", looked.error);
        assert!(looked.out.contains("in revision 2026-07-28 and has 13 tools"), "{}", looked.out);
        assert!(looked.out.contains("pay_invoice   Financial"), "{}", looked.out);
        drop(gateway);
    }
}

#[test]
fn a_revoked_grant_is_worth_nothing_at_once() {
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    let allowed = gateway.text("allowed");
    assert!(paste(&place.path(""), allowed).contains("shopping"));
    good(&place, &["grant", "revoke", "quick-start"]);
    let answer = paste(&place.path(""), &format!("{allowed} -w ' %{{http_code}}'"));
    assert!(answer.ends_with(" 401"), "{answer}");
}

#[test]
fn a_policy_activated_through_the_socket_is_in_force_at_once() {
    let place = Place::new();
    place.file("q.json", STRICTER);
    let gateway = Running::up(&place.path(""));
    let name = "playground-recommended";
    good(&place, &["policy", "add", name, "q.json", "--server", "playground", "--activate"]);
    let answer = paste(&place.path(""), gateway.text("allowed"));
    assert!(!answer.contains("shopping"), "{answer}");
    good(&place, &["policy", "rollback", name]);
    assert!(paste(&place.path(""), gateway.text("allowed")).contains("shopping"));
}
