//! `portcullis stack` on somebody's home directory.

use std::fs;

use crate::command::{Place, Ran};

const SECRET: &str = "hunter2-of-somebody";

fn furnished() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path(".cursor")).unwrap();
    let cursor = format!(
        r#"{{ "mcpServers": {{
            "files": {{ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] }},
            "web": {{ "command": "uvx", "args": ["mcp-server-fetch"], "env": {{ "WEB_TOKEN": "{SECRET}", "OTHER_TOKEN": "${{env:T}}" }} }},
            "mine": {{ "command": "something-of-my-own" }}
        }} }}"#
    );
    place.file(".cursor/mcp.json", &cursor);
    place
}

fn stack(place: &Place, arguments: &[&str]) -> Ran {
    let home = place.path("").to_string_lossy().into_owned();
    let mut all = vec!["stack", "--home", &home, "--project", &home];
    all.extend(arguments);
    place.run(&all)
}

#[test]
fn a_fetcher_beside_files_is_named_with_the_tools_that_make_it() {
    let place = furnished();
    let ran = stack(&place, &[]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert!(ran.out.contains("dangerous together: strangers can draw out private data"), "{}", ran.out);
    assert!(ran.out.contains("text from strangers: web/fetch"), "{}", ran.out);
    assert!(ran.out.contains("private data: files/"), "{}", ran.out);
    assert!(ran.out.contains("tools unknown: not in the catalogue"), "{}", ran.out);
    assert!(ran.out.contains(": WEB_TOKEN\n"), "the one that is written there: {}", ran.out);
    assert!(!ran.out.contains(SECRET), "{}", ran.out);
    assert_eq!(stack(&place, &["--fail-on-combination"]).code, 1);
    let json = stack(&place, &["--json"]);
    assert!(json.out.contains("\"combinations\"") && !json.out.contains(SECRET), "{}", json.out);
}

#[test]
fn look_alikes_and_equal_names_between_servers_are_named() {
    let place = Place::new();
    fs::create_dir_all(place.path(".cursor")).unwrap();
    let cursor = r#"{ "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] },
        "flles": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home"] },
        "git": { "command": "uvx", "args": ["mcp-server-giit"] },
        "off\u202e\u001b[2J": { "command": "uvx", "args": ["mcp-server-git\u001b[31m"], "disabled": true }
    } }"#;
    place.file(".cursor/mcp.json", cursor);
    let ran = stack(&place, &[]);
    assert_eq!(ran.code, 0, "{}", ran.error);
    for expected in [
        "look-alike: the package `mcp-server-giit` is easily mistaken for `mcp-server-git`, which the catalogue knows",
        "name-collision: `",
        "have the same name and ",
    ] {
        assert!(ran.out.contains(expected), "{expected}\n{}", ran.out);
    }
    let json = stack(&place, &["--json"]);
    assert!(json.out.contains(r#""kind": "name-collision""#), "{}", json.out);
    for out in [&ran.out, &json.out] {
        assert!(!out.contains('\u{202e}') && !out.contains('\u{1b}'), "{out}");
    }
}

#[test]
fn a_broken_file_is_reported_not_skipped() {
    let place = furnished();
    fs::create_dir_all(place.path(".gemini")).unwrap();
    place.file(".gemini/settings.json", "{");
    let ran = stack(&place, &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("settings.json` cannot be read: line 1"), "{}", ran.error);
    assert!(ran.out.contains("Cursor"), "{}", ran.out);
}
