//! `portcullis catalogue …`: what ships, what is taken in, and how it is found again.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use portcullis_json::{Limits, Value, parse};

use crate::command::{Place, Ran};

const BEFORE: &str = r#"{"tools":[
    {"name":"list_doors","description":"Lists the doors"},
    {"name":"paint_door","description":"Shows the colour of a door"},
    {"name":"old_door","description":"Gets the oldest door of all"}]}"#;
const AFTER: &str = r#"{"tools":[
    {"name":"list_doors","description":"Lists the doors"},
    {"name":"paint_door","description":"Deletes the paint of a door for good"},
    {"name":"eldest_door","description":"Gets the oldest door of all"},
    {"name":"delete_door","description":"Deletes a door"}]}"#;

fn run(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["catalogue"], arguments, &["--data-dir", "data"]].concat())
}

fn good(place: &Place, arguments: &[&str]) -> String {
    let ran = run(place, arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.error);
    ran.out
}

fn json(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::message()).unwrap()
}

fn number(value: &Value, key: &str) -> i64 {
    value.get(key).unwrap().to_string().parse().unwrap()
}

fn imported(place: &Place, arguments: &[&str]) -> Value {
    let answer = json(&good(place, &[&["import", "--json"], arguments].concat()));
    answer.get("imported").and_then(Value::as_array).unwrap().first().unwrap().clone()
}

fn doors() -> Place {
    let place = Place::new();
    place.file("doors.json", BEFORE);
    let report = imported(&place, &["doors.json"]);
    assert_eq!((number(&report, "servers_new"), number(&report, "tools_new")), (1, 3));
    place
}

#[test]
fn what_ships_is_there_without_a_directory_and_reading_makes_none() {
    let place = Place::new();
    let list = json(&good(&place, &["list", "--json"]));
    let shipped = list.get("shipped").unwrap();
    let live = number(shipped.get("tools").unwrap(), "live");
    assert!(number(shipped, "servers") > 0 && live > 0);
    let lines = good(&place, &["export"]);
    assert_eq!(lines.lines().count(), usize::try_from(live).unwrap());
    let first = json(lines.lines().next().unwrap());
    let (server, tool) = (first.get("server").unwrap(), first.get("tool").unwrap());
    let (server, tool) = (server.as_str().unwrap(), tool.as_str().unwrap());
    assert!(good(&place, &["show", server]).contains(tool));
    let shown = good(&place, &["show", server, tool]);
    assert!(shown.contains("The index keeps no descriptions"), "{shown}");
    for form in ["--json", "--markdown", "--html"] {
        assert!(good(&place, &["show", server, tool, form]).contains("policy"), "{form}");
        assert!(good(&place, &["show", server, form]).to_lowercase().contains("polic"), "{form}");
    }
    assert!(!place.path("data").exists());
}

#[test]
fn a_hostile_server_is_shown_inert_in_every_form() {
    let place = Place::new();
    let evil = r#"<img src=x onerror=alert(1)>\u001b]0;x\u0007\u202e\u200b `</code>` [a](javascript:b)"#;
    let list = format!(
        r##"{{"tools":[{{"name":"delete_\u202e<b>x","description":"{evil}","inputSchema":{{"properties":{{"\u001b[2Jp":{{"$ref":"#"}}}}}}}}]}}"##
    );
    place.file("evil\u{202e}<i>.json", &list);
    assert_eq!(run(&place, &["import", "evil\u{202e}<i>.json"]).code, 0);
    let acts = |text: &str| {
        let hidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}');
        text.find(hidden)
    };
    for form in [&[][..], &["--json"], &["--markdown"], &["--html"]] {
        for arguments in
            [&["show", "evil\u{202e}<i>"][..], &["show", "evil\u{202e}<i>", "delete_\u{202e}<b>x"]]
        {
            let shown = good(&place, &[arguments, form].concat());
            assert_eq!(acts(&shown), None, "{arguments:?} {form:?}: {}", shown.escape_unicode());
            if form == ["--html"] {
                assert!(
                    !shown.contains("<img") && !shown.contains("<b>x") && !shown.contains("<i>"),
                    "{shown}"
                );
            }
        }
    }
    for arguments in [&["list"][..], &["search", "delete"], &["search", "delete", "--json"], &["export"]] {
        let shown = good(&place, arguments);
        assert_eq!(acts(&shown), None, "{arguments:?}: {}", shown.escape_unicode());
    }
}

#[test]
fn an_imported_list_is_found_by_words_class_level_and_server() {
    let place = doors();
    let find = |arguments: &[&str]| {
        let found = json(&good(&place, &[&["search", "--json"], arguments].concat()));
        let tools = found.get("tools").and_then(Value::as_array).unwrap().to_vec();
        tools.iter().map(|tool| tool.get("tool").unwrap().as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(find(&["--server", "doors"]), ["list_doors", "paint_door", "old_door"]);
    assert_eq!(find(&["oldest", "--server", "doors"]), ["old_door"]);
    assert_eq!(find(&["colour", "door"]), ["paint_door"]);
    assert!(find(&["list", "--class", "read"]).contains(&"list_doors".to_owned()));
    assert_eq!(find(&["--level", "critical", "--server", "doors"]), Vec::<String>::new());
    assert_eq!(find(&["-n", "1"]).len(), 1);
    assert_eq!(run(&place, &["search", "--class", "nice"]).code, 2);
    assert!(run(&place, &["search", "zzzz-nothing"]).error.contains("no tool matches"));
}

#[test]
fn importing_twice_changes_nothing_and_broken_records_are_left_out() {
    let place = doors();
    let export = good(&place, &["export", "--server", "doors"]);
    let again = imported(&place, &["doors.json"]);
    assert_eq!((number(&again, "servers_new"), number(&again, "tools_new")), (0, 0));
    assert_eq!(number(&again, "tools_unchanged"), 3);
    assert_eq!(good(&place, &["export", "--server", "doors"]), export);
    place.file("broken.json", r#"[{"name":"list_keys"},{"name":7},5]"#);
    let ran = run(&place, &["import", "broken.json"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.error.contains("left out tools[1]") && ran.error.contains("left out tools[2]"),
        "{}",
        ran.error
    );
    assert_eq!(run(&place, &["import", "--strict", "broken.json"]).code, 1);
    place.file("garbage.json", "{");
    let ran = run(&place, &["import", "garbage.json", "missing.json", "doors.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("`doors.json`: 1 servers read"), "{}", ran.out);
}

#[test]
fn every_kind_of_source_is_taken_in() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("lists/keys")).unwrap();
    place.file("lists/keys/tools.json", r#"[{"name":"list_keys"}]"#);
    place.file("rows.jsonl", "{\"server\":\"rows\",\"tool\":\"get_row\"}\n{\"tool\":\"x\"}\n");
    place.file(
        "server.json",
        r#"{"name":"io.example/windows","version":"1.0.0","packages":[{"registryType":"npm","identifier":"windows-mcp"}],
            "remotes":[{"url":"https://user:pw@windows.example/mcp?key=hush"}]}"#,
    );
    good(&place, &["import", "lists", "rows.jsonl", "server.json"]);
    let list = good(&place, &["list", "--json"]);
    for name in ["keys", "rows", "io.example/windows", "npm:windows-mcp", "windows.example"] {
        assert!(list.contains(name), "{name}\n{list}");
    }
    assert!(!list.contains("hush") && !list.contains("pw@"), "{list}");
    assert!(good(&place, &["show", "windows-mcp"]).contains("no tools"));
    place.file("scanned.json", r#"[{"name":"list_roofs"}]"#);
    let scan = place.run(&["scan", "scanned.json", "--name", "roofs", "--json", "--out", "scan.json"]);
    assert_eq!(scan.code, 0, "{}", scan.error);
    good(&place, &["import", "scan.json"]);
    assert!(good(&place, &["show", "roofs"]).contains("list_roofs"));
}

#[test]
fn a_full_record_is_shown_where_the_definitions_were_imported() {
    let place = doors();
    let shown = good(&place, &["show", "doors", "paint_door"]);
    assert!(shown.contains("Shows the colour of a door"), "{shown}");
    assert!(shown.contains("Can I rate-limit") || shown.contains("rate"), "{shown}");
    // The slug of a tool will do.
    assert_eq!(good(&place, &["show", "doors", "paint-door"]), shown);
    let ran = run(&place, &["show", "doors", "no_door"]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("has no tool `no_door`"), "{}", ran.error);
    assert_eq!(run(&place, &["show", "nobody"]).code, 2);
}

#[test]
fn names_that_slug_alike_are_told_apart() {
    let place = Place::new();
    place.file("twins.json", r#"[{"name":"a_b"},{"name":"a-b"}]"#);
    good(&place, &["import", "twins.json"]);
    let record = json(&good(&place, &["show", "twins", "--json"]));
    let tools = record.get("tools").and_then(Value::as_array).unwrap();
    let slug = |at: usize| tools[at].get("slug").unwrap().as_str().unwrap().to_owned();
    assert_ne!(slug(0), slug(1));
    for at in [0, 1] {
        let tool = json(&good(&place, &["show", "twins", &slug(at), "--json"]));
        assert_eq!(tool.get("name"), tools[at].get("name"));
    }
}

#[test]
fn what_changed_between_two_lists_is_shown_side_by_side() {
    let place = doors();
    place.file("after.json", AFTER);
    for arguments in [&["diff", "doors.json", "after.json"][..], &["diff", "doors"]] {
        good(&place, &["import", "--name", "doors", "after.json"]);
        let ran = run(&place, arguments);
        assert_eq!(ran.code, 1, "{}", ran.error);
        for expected in [
            "renamed  `eldest_door` (was `old_door`)",
            "changed  `paint_door`",
            "- Shows the colour of a door",
            "+ Deletes the paint of a door for good",
            "added    `delete_door`  Destructive",
        ] {
            assert!(ran.out.contains(expected), "{arguments:?}: {expected}\n{}", ran.out);
        }
    }
    assert_eq!(good(&place, &["diff", "after.json", "after.json"]), "no differences\n");
    let wrong = run(&place, &["diff", "doors", "--from", "9.9.9"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.error.contains("nothing is kept for `9.9.9`"), "{}", wrong.error);
    assert_eq!(good(&place, &["diff", "doors", "--from", "2999-01-01"]), "no differences\n");
}

#[test]
fn two_versions_are_compared_by_their_names() {
    let place = Place::new();
    let scan = |version: &str, tools: &str| {
        format!(
            r#"{{"server":"doors","version":"{version}","scan":{{"provenance":"live"}},"definitions":{tools}}}"#
        )
    };
    place.file("one.json", scan("1.0.0", r#"[{"name":"list_doors"}]"#));
    place.file("two.json", scan("2.0.0", r#"[{"name":"list_doors"},{"name":"delete_door"}]"#));
    good(&place, &["import", "one.json"]);
    good(&place, &["import", "two.json"]);
    let ran = run(&place, &["diff", "doors", "--from", "1.0.0", "--to", "2.0.0", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.error);
    let found = json(&ran.out);
    let difference = &found.get("differences").and_then(Value::as_array).unwrap()[0];
    assert_eq!(difference.get("tool").and_then(Value::as_str), Some("delete_door"));
    let back = run(&place, &["diff", "doors", "--from", "2.0.0", "--to", "1.0.0"]);
    assert!(back.out.contains("removed  `delete_door`"), "{}", back.out);
}

#[test]
fn a_class_set_by_hand_is_recorded_beside_the_computed_one() {
    let place = doors();
    let set = ["set-class", "doors", "list_doors", "write", "--reason", "it \u{1b}[1mlogs", "--by", "alice"];
    assert!(good(&place, &set).contains("`list_doors` is Write by hand; the rules say Read"));
    let tool = json(&good(&place, &["show", "doors", "list_doors", "--json"]));
    assert_eq!(tool.get("class").and_then(Value::as_str), Some("Write"));
    assert_eq!(tool.get("computed_class").and_then(Value::as_str), Some("Read"));
    let by = tool.get("override").and_then(|set| set.get("by")).and_then(Value::as_str);
    assert_eq!(by, Some("alice"));
    let shown = good(&place, &["show", "doors"]);
    assert!(shown.contains("set by alice: it \\u{1b}[1mlogs"), "{shown}");
    // An import does not take it away.
    place.file("after.json", AFTER);
    good(&place, &["import", "--name", "doors", "after.json"]);
    assert!(good(&place, &["show", "doors"]).contains("set by alice"));
    assert_eq!(run(&place, &["set-class", "doors", "none", "Read", "--reason", "x"]).code, 2);
}

/// A registry with three pages, the second of them broken in one record; answers until it is asked no more.
fn registry() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

fn answer(mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let server = |name: &str| format!(r#"{{"server":{{"name":"{name}","version":"1.0.0"}},"_meta":{{}}}}"#);
    let page = |servers: &str, next: &str| {
        format!(r#"{{"servers":[{servers}],"metadata":{{"count":1,"nextCursor":"{next}"}}}}"#)
    };
    let (status, body) = match target.as_str() {
        "/v0.1/servers?limit=100&version=latest" => {
            ("200 OK", page(&server("io.example/one"), "io.example/one:1.0.0"))
        }
        "/v0.1/servers?limit=100&version=latest&cursor=io.example%2Fone%3A1.0.0" => {
            ("200 OK", page(&format!("{{}},{}", server("io.example/two")), "next"))
        }
        "/v0.1/servers?limit=100&version=latest&cursor=next" => {
            ("200 OK", page(&server("io.example/three"), ""))
        }
        "/endless/v0.1/servers?limit=100&version=latest"
        | "/endless/v0.1/servers?limit=100&version=latest&cursor=a" => {
            ("200 OK", page(&server("io.example/one"), "a"))
        }
        _ => ("404 Not Found", "{}".to_owned()),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).unwrap();
}

#[test]
fn a_registry_is_read_page_by_page() {
    let place = Place::new();
    let url = registry();
    let report = imported(&place, &[&url]);
    assert_eq!((number(&report, "servers"), number(&report, "servers_new")), (3, 3));
    assert_eq!(report.get("skipped").and_then(Value::as_array).unwrap().len(), 1);
    let again = imported(&place, &[&format!("{url}/v0.1/servers")]);
    assert_eq!(number(&again, "servers_new"), 0);
    assert!(good(&place, &["list"]).contains("io.example/three"));
    let endless = run(&place, &["import", &format!("{url}/endless")]);
    assert_eq!(endless.code, 2);
    assert!(endless.error.contains("the same page again and again"), "{}", endless.error);
    let missing = run(&place, &["import", &format!("{url}/nothing")]);
    assert!(missing.error.contains("the registry answers with 404"), "{}", missing.error);
}

#[test]
fn hostile_names_are_inert_in_every_command() {
    let place = Place::new();
    place.file("evil.json", r#"[{"name":"get_\u202e\u001b[2J","description":"\u001b]0;x\u0007 gets"}]"#);
    good(&place, &["import", "--name", "evil\u{202e}", "evil.json"]);
    for arguments in [
        &["search", "gets"][..],
        &["search", "gets", "--json"],
        &["list"],
        &["list", "--json"],
        &["export", "--level", "low"],
        &["show", "evil\u{202e}"],
        &["show", "evil\u{202e}", "get_\u{202e}\u{1b}[2J"],
        &["show", "evil\u{202e}", "--json"],
        &["show", "evil\u{202e}", "--markdown"],
        &["show", "evil\u{202e}", "--html"],
    ] {
        let text = good(&place, arguments);
        assert_eq!(
            text.find(portcullis_catalogue::is_hidden),
            None,
            "{arguments:?}: {}",
            text.escape_unicode()
        );
    }
}
