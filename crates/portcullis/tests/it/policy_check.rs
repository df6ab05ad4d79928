//! `policy check`: every problem at once, with its place; bad input of every kind.

use crate::command::Place;

const GOOD: &str = r#"{"version":"1","default":"deny","tools":{"eval":{"rate_limit":"10/minute"}}}"#;

#[test]
fn every_problem_is_shown_with_its_place_and_a_suggestion() {
    let place = Place::new();
    place.file(
        "p.json",
        "{\n  \"version\": \"1\",\n  \"defualt\": \"deny\",\n  \"default\": \"deny\",\n  \"tools\": {\"eval\": {\"require\": [\n    \
         {\"conditions\": [{\"path\": \"args.x\", \"op\": \"lenght_lte\", \"value\": 1}]}]}}\n}\n",
    );
    let ran = place.run(&["policy", "check", "p.json"]);
    assert_eq!(ran.code, 2);
    for part in [
        "p.json:3:3",
        "^^^^^^^^^",
        "did you mean `default`?",
        "p.json:6:46",
        "did you mean `length_lte`?",
        "2 errors",
    ] {
        assert!(ran.out.contains(part), "`{part}` is not in\n{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "no colour where there is no terminal");
}

#[test]
fn json_has_the_same_places() {
    let place = Place::new();
    place.file("p.json", "{\"version\":\"1\",\n\"default\":\"maybe\"}");
    let ran = place.run(&["policy", "check", "--json", "p.json"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.out.contains(r#""severity":"error","line":2,"column":11,"pointer":"/default""#),
        "{}",
        ran.out
    );
}

#[test]
fn warnings_count_only_when_strict() {
    let place = Place::new();
    place.file("p.json", r#"{"version":"1","default":"deny","tools":{"a":{"limits":[{"counter":"c","window":"minute","max":1,"scope":"session"}]}}}"#);
    let lenient = place.run(&["policy", "check", "p.json"]);
    assert_eq!(lenient.code, 0, "{}", lenient.out);
    assert!(lenient.out.contains("warning: ") && lenient.out.contains("1 warning"), "{}", lenient.out);
    assert_eq!(place.run(&["policy", "check", "--strict", "p.json"]).code, 1);
    place.file("good.json", GOOD);
    assert_eq!(place.run(&["policy", "check", "--strict", "good.json"]).code, 0);
}

#[test]
fn tools_that_the_server_does_not_have_are_named() {
    let place = Place::new();
    place.file("p.json", GOOD);
    for saved in [
        r#"["evaluate"]"#,
        r#"{"tools":[{"name":"evaluate"}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"evaluate"}]}}"#,
    ] {
        place.file("tools.json", saved);
        let ran = place.run(&["policy", "check", "--strict", "--tools", "tools.json", "p.json"]);
        assert_eq!(ran.code, 1, "{}", ran.out);
        assert!(ran.out.contains("`eval`"), "{}", ran.out);
    }
    place.file("tools.json", r#"["eval"]"#);
    assert_eq!(place.run(&["policy", "check", "--strict", "--tools", "tools.json", "p.json"]).code, 0);
}

#[test]
fn bad_input_of_every_kind_gets_a_clear_message() {
    let place = Place::new();
    std::fs::create_dir(place.path("directory")).unwrap();
    place
        .file("empty.json", "")
        .file("large.json", vec![b'a'; 10 << 20])
        .file("huge.json", vec![b' '; 17 << 20])
        .file("utf16.json", b"\xff\xfe{\0}\0")
        .file("mark.json", b"\xef\xbb\xbf{}")
        .file("future.json", r#"{"version":"2","default":"deny"}"#)
        .file("number.json", r#"{"version":1,"default":"deny"}"#)
        .file("deep.json", "[".repeat(100_000))
        .file("twice.json", r#"{"version":"1","default":"deny","default":"allow"}"#)
        .file("list.json", "[]")
        .file("cut.json", r#"{"version":"1","#)
        .file("yaml.json", "version: 1");
    for (name, part) in [
        ("empty.json", "empty"),
        ("large.json", "larger than 1048576 bytes"),
        ("huge.json", "larger than"),
        ("utf16.json", "not valid UTF-8"),
        ("mark.json", "byte order mark"),
        ("future.json", "reads policies of version \"1\" only"),
        ("number.json", "reads policies of version \"1\" only"),
        ("deep.json", "nested deeper than 64"),
        ("twice.json", "duplicate key `default`"),
        ("list.json", "this must be an object"),
        ("cut.json", "ends in the middle"),
        ("yaml.json", "unexpected `v`"),
        ("directory", "is a directory"),
        ("missing.json", "no such file"),
    ] {
        let ran = place.run(&["policy", "check", name]);
        let all = format!("{}{}", ran.out, ran.error);
        assert_eq!(ran.code, 2, "{name}: {all}");
        assert!(all.contains(part), "`{part}` is not in\n{all}");
        assert!(!all.contains("panicked"), "{all}");
        // The other commands that read a policy refuse the same.
        assert_eq!(place.run(&["policy", "explain", name, "--tool", "t"]).code, 2, "{name}");
    }
}

#[test]
fn a_file_that_may_not_be_read_is_said_so() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.file("secret.json", GOOD);
    std::fs::set_permissions(place.path("secret.json"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let ran = place.run(&["policy", "check", "secret.json"]);
    // Root may read everything; everybody else is told.
    if std::fs::read(place.path("secret.json")).is_err() {
        assert_eq!(ran.code, 2);
        assert!(ran.error.contains("permission denied"), "{}", ran.error);
    } else {
        assert_eq!(ran.code, 0);
    }
}

#[test]
fn what_a_document_says_does_nothing_to_the_terminal() {
    let place = Place::new();
    place.file("p.json", "{\"version\":\"1\",\"default\":\"deny\",\"\\u001b[31mred\\u202e\":1}");
    let ran = place.run(&["policy", "check", "p.json"]);
    assert_eq!(ran.code, 2);
    assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{:?}", ran.out);
}
