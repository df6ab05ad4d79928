//! The first five minutes: `up`, what it prints, and what is still there afterwards.

use std::os::unix::fs::PermissionsExt as _;

use crate::command::Place;
use crate::running::{Running, paste};

const DENIED_BY_LIMIT: &str = "At most 3 sums a minute. Try again in";

fn verify(place: &Place) {
    let ran = place.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.error);
    assert!(ran.out.contains("the log is intact"), "{}", ran.out);
}

#[test]
fn what_is_printed_can_be_pasted_and_is_still_there_after_a_restart() {
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    assert!(paste(&place.path(""), gateway.text("allowed")).contains("shopping"));
    let denied = paste(&place.path(""), gateway.text("denied"));
    assert!(denied.contains("[POLICY DENIED] Agents do not delete here."), "{denied}");
    assert!(denied.contains("/classes/Destructive/action"), "{denied}");
    for _ in 0..3 {
        let allowed = paste(&place.path(""), gateway.text("limited"));
        assert!(allowed.contains(r#""text":"6""#), "{allowed}");
    }
    let limited = paste(&place.path(""), gateway.text("limited"));
    assert!(limited.contains(DENIED_BY_LIMIT) && limited.contains("retry_after_s"), "{limited}");
    assert_eq!(gateway.stop(), Some(0));
    verify(&place);

    let gateway = Running::up(&place.path(""));
    assert!(paste(&place.path(""), gateway.text("allowed")).contains("shopping"));
    let limited = paste(&place.path(""), gateway.text("limited"));
    assert!(limited.contains(DENIED_BY_LIMIT), "the limit was forgotten: {limited}");
    let grants = place.run(&["grant", "list", "--json", "--data-dir", "data"]);
    assert_eq!(grants.out.matches(r#""label": "quick-start""#).count(), 1, "{}", grants.out);
    verify(&place);
}

#[test]
fn nothing_is_forgotten_when_the_process_is_killed() {
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    for _ in 0..3 {
        assert!(paste(&place.path(""), gateway.text("limited")).contains(r#""text":"6""#));
    }
    gateway.kill();
    let gateway = Running::up(&place.path(""));
    let limited = paste(&place.path(""), gateway.text("limited"));
    assert!(limited.contains(DENIED_BY_LIMIT), "the limit was forgotten: {limited}");
    verify(&place);
}

#[test]
fn the_token_is_kept_for_its_owner_alone_and_printed_once() {
    let place = Place::new();
    drop(Running::up(&place.path("")));
    let token = place.read("data/quick-start.token");
    for file in ["data/quick-start.token", "data/quick-start.json"] {
        let mode = std::fs::metadata(place.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let gateway = Running::up(&place.path(""));
    assert!(!gateway.printed.to_string().contains(token.trim()));
    assert_eq!(place.read("data/quick-start.token"), token);
    assert!(place.read("data/quick-start.json").contains(token.trim()));
}

#[test]
fn a_token_that_was_rotated_away_is_not_offered() {
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    let rotated = place.run(&["grant", "rotate", "quick-start", "--json", "--data-dir", "data"]);
    assert_eq!(gateway.stop(), Some(0));
    let gateway = Running::up(&place.path(""));
    assert!(gateway.printed.to_string().contains(r#""token_known":false"#), "{}", gateway.printed);
    assert!(!place.path("data/quick-start.token").exists(), "a file that opens nothing");
    let token = rotated.out.split('"').find(|word| word.starts_with("pcl_")).unwrap().to_owned();
    place.file("data/quick-start.token", &token);
    let answer = paste(&place.path(""), gateway.text("allowed"));
    assert!(answer.contains("shopping"), "whoever rotated it has the right one: {answer}");
    assert_eq!(gateway.stop(), Some(0));
    let gateway = Running::up(&place.path(""));
    assert!(gateway.printed.to_string().contains(r#""token_known":true"#), "{}", gateway.printed);
    // An empty file is none.
    assert_eq!(gateway.stop(), Some(0));
    place.file("data/quick-start.token", "");
    let gateway = Running::up(&place.path(""));
    assert!(paste(&place.path(""), gateway.text("allowed")).contains("shopping"));
}

#[test]
fn a_revoked_grant_stays_revoked() {
    let place = Place::new();
    let gateway = Running::up(&place.path(""));
    assert_eq!(place.run(&["grant", "revoke", "quick-start", "--data-dir", "data"]).code, 0);
    assert_eq!(place.run(&["server", "remove", "playground", "--data-dir", "data"]).code, 0);
    assert_eq!(gateway.stop(), Some(0));
    std::fs::remove_file(place.path("data/quick-start.token")).unwrap();
    let gateway = Running::up(&place.path(""));
    assert!(gateway.printed.to_string().contains(r#""grant_ended":true"#), "{}", gateway.printed);
    let servers = place.run(&["server", "list", "--data-dir", "data"]).out;
    assert!(!servers.contains("playground"), "what was removed is back: {servers}");
}

#[test]
fn a_second_one_says_who_holds_the_directory() {
    let place = Place::new();
    let _gateway = Running::up(&place.path(""));
    let ran = place.run(&["up", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("is held by process"), "{}", ran.error);
}

#[test]
fn it_stays_on_this_machine() {
    let place = Place::new();
    let ran = place.run(&["up", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("listens on this machine only"), "{}", ran.error);
    assert!(!place.path("portcullis-data").exists());
}

#[test]
fn the_demo_shows_every_kind_of_answer() {
    let place = Place::new();
    let ran = place.run(&["demo"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.error);
    for line in [
        "server   ideas, shopping, welcome",
        "[POLICY DENIED] Agents do not delete here.",
        "Unknown tool: wipe_notes",
        DENIED_BY_LIMIT,
        "Invoices above 500 credits are paid by people.",
        "A person must approve this",
        "and it is intact",
    ] {
        assert!(ran.out.contains(line), "`{line}` is missing in:\n{}", ran.out);
    }
}
