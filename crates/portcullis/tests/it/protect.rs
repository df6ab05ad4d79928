//! `portcullis protect` on somebody's home directory.

use std::fs;
use std::process::Command;

use portcullis_clients::{Entry, Home, Way, find};

use crate::command::Place;
use crate::running::Running;
use crate::wrap::Client;

pub(crate) const SECRET: &str = "hunter2-of-somebody";

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

/// A configuration of each client, all of them with the same small server, one also with a remote one.
pub(crate) fn of_all_clients(place: &Place, remote: &str, token: &str) {
    let server = place.path("server.py").to_string_lossy().into_owned();
    let local =
        format!(r#"{{ "command": "python3", "args": ["{server}"], "env": {{ "API_KEY": "{SECRET}" }} }}"#);
    let reached = format!(r#"{{ "url": "{remote}", "headers": {{ "Authorization": "bearer {token}" }} }}"#);
    let servers = format!(r#"{{ "mcpServers": {{ "notes": {local} }} }}"#);
    let files = [
        (".claude.json", servers.clone()),
        (".config/Claude/claude_desktop_config.json", servers.clone()),
        (".cursor/mcp.json", format!(r#"{{ "mcpServers": {{ "notes": {local}, "remote": {reached} }} }}"#)),
        (".config/Code/User/mcp.json", format!(r#"{{ "servers": {{ "notes": {local}, }} /* yes */ }}"#)),
        (".codeium/windsurf/mcp_config.json", servers.clone()),
        (
            ".codex/config.toml",
            format!(
                "[mcp_servers.notes]\ncommand = \"python3\"\nargs = [\"{server}\"]\nenv = {{ API_KEY = \"{SECRET}\" }}\n"
            ),
        ),
        (".gemini/settings.json", servers),
    ];
    place.file("server.py", include_str!("notes_server.py"));
    for (path, text) in files {
        fs::create_dir_all(place.path(path).parent().unwrap()).unwrap();
        place.file(path, text);
    }
}

/// As a client does: the entry's command, arguments and environment, and little else.
fn as_its_client_would(entry: &Entry) -> Client {
    let (command, arguments) = match &entry.way {
        Way::Command { command, arguments } => Some((command, arguments)),
        _ => None,
    }
    .unwrap();
    let mut started = Command::new(command);
    started.args(arguments).env_clear();
    started.envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    started.envs(entry.environment.iter().map(|(name, value)| (name, value.reveal())));
    Client::talk(started)
}

#[cfg(target_os = "linux")]
#[test]
fn every_server_works_when_it_is_started_from_the_rewritten_files() {
    let place = Place::new();
    let upstream = Place::new();
    let up = Running::up(&upstream.path(""));
    let token = fs::read_to_string(up.text("token_file")).unwrap();
    of_all_clients(&place, up.text("url"), token.trim());
    let home = place.path("").to_string_lossy().into_owned();
    let data = place.path("data").to_string_lossy().into_owned();
    let ran = place.run(&["protect", "--home", &home, "--project", &data, "--yes", "--data-dir", &data]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.error);
    let found = find(&Home::at(place.path("")), None, &[]);
    let entries: Vec<Entry> = found.into_iter().flat_map(|found| found.entries.unwrap()).collect();
    assert_eq!(entries.len(), 8);
    for entry in entries {
        let mut client = as_its_client_would(&entry);
        let tools = client.tools();
        if entry.name == "notes" {
            assert!(tools.contains(&"read_note".to_owned()), "{tools:?}");
            assert!(
                !tools.contains(&"delete_all_notes".to_owned()),
                "the recommended policy hides it: {tools:?}"
            );
            assert_eq!(client.call("read_note").as_deref(), Ok("read_note done"));
            let environment = client.call("get_environment").unwrap();
            assert!(environment.contains("API_KEY"), "its environment reaches it: {environment}");
            assert!(!environment.contains(SECRET), "and no secret of it comes back: {environment}");
        } else {
            assert!(!tools.is_empty(), "the playground behind a gateway behind us");
        }
        assert_eq!(client.close(), Some(0), "{}", entry.name);
    }
    let verified = place.run(&["log", "verify", "--data-dir", "data"]);
    assert_eq!(verified.code, 0, "{}", verified.error);
    up.stop();
}
