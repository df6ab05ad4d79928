//! `portcullis protect` on somebody's home directory.

use std::fs;

use crate::command::Place;

const SECRET: &str = "hunter2-of-somebody";

fn furnished() -> Place {
    let place = Place::new();
    for directory in [".cursor", ".codex", "project"] {
        fs::create_dir_all(place.path(directory)).unwrap();
    }
    let cursor = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"web\": {{ \"url\": \"https://user:{SECRET}@web.example/mcp?k={SECRET}\", \"headers\": {{ \"X-Key\": \"{SECRET}\" }} }},\n    \"shell\": {{ \"command\": \"sh-mcp\", \"args\": [\"--token\", \"{SECRET}\"], \"env\": {{ \"T\": \"{SECRET}\" }} }}\n  }}\n}}\n"
    );
    place.file(".cursor/mcp.json", &cursor);
    place.file(".codex/config.toml", "[mcp_servers.docs]\ncommand = \"docs\"\n");
    place.file("project/.mcp.json", "{ not json");
    place
}

fn protect(place: &Place, arguments: &[&str]) -> crate::command::Ran {
    let home = place.path("").to_string_lossy().into_owned();
    let project = place.path("project").to_string_lossy().into_owned();
    let mut all = vec!["protect", "--home", &home, "--project", &project];
    all.extend(arguments);
    place.run(&all)
}

#[test]
fn a_look_changes_nothing_and_shows_no_secret() {
    let place = furnished();
    let before = place.read(".cursor/mcp.json");
    let ran = protect(&place, &["--dry-run"]);
    assert_eq!(ran.code, 2, "one file cannot be read: {}", ran.error);
    assert!(
        ran.out
            .contains("wrap --label cursor-web --profile recommended --url https://•••@web.example/mcp?•••"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("-- sh-mcp --token •••"), "{}", ran.out);
    assert!(ran.out.contains("left alone: line 1"), "{}", ran.out);
    let json = protect(&place, &["--dry-run", "--json"]);
    for text in [&ran.out, &ran.error, &json.out, &json.error] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert_eq!(place.read(".cursor/mcp.json"), before);
}

#[test]
fn nobody_to_ask_means_no() {
    let place = furnished();
    let before = place.read(".cursor/mcp.json");
    let ran = protect(&place, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.error.contains("say `--yes`"), "{}", ran.error);
    assert_eq!(place.read(".cursor/mcp.json"), before);
}

#[test]
fn guards_go_in_once_and_come_out_byte_for_byte() {
    let place = furnished();
    let before = [place.read(".cursor/mcp.json"), place.read(".codex/config.toml")];
    let ran = protect(&place, &["--yes"]);
    assert_eq!(ran.code, 2, "the broken file is told by the code: {}", ran.error);
    assert!(ran.error.contains("project/.mcp.json` was left alone"), "{}", ran.error);
    let once = [place.read(".cursor/mcp.json"), place.read(".codex/config.toml")];
    assert!(once.iter().all(|text| text.contains("wrap")));
    assert_eq!(place.read("project/.mcp.json"), "{ not json");
    let again = protect(&place, &["--yes", "--client", "cursor"]);
    assert_eq!(again.code, 0, "{}", again.error);
    assert!(again.out.contains("behind portcullis already"), "{}", again.out);
    assert_eq!([place.read(".cursor/mcp.json"), place.read(".codex/config.toml")], once);
    let undone = protect(&place, &["--undo"]);
    assert_eq!(undone.code, 0, "{}", undone.error);
    assert_eq!([place.read(".cursor/mcp.json"), place.read(".codex/config.toml")], before);
    assert!(protect(&place, &["--undo"]).out.contains("nothing to take back"));
}
