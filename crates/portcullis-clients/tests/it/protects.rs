//! Guards in front of servers.

use portcullis_clients::{Home, Place, find, protect, read};

use crate::homes::{House, SECRET, guard};

fn places(house: &House) -> Vec<Place> {
    find(&house.home(), Some(&house.project()), &[]).into_iter().map(|found| found.place).collect()
}

fn protect_all(house: &House) -> usize {
    let mut guarded = 0;
    for place in places(house) {
        let change = protect(&place, &guard()).unwrap();
        guarded += change.guarded.len();
        change.apply(&house.backups()).unwrap();
    }
    guarded
}

#[test]
fn every_known_server_gets_a_guard_and_the_rest_of_each_file_stays() {
    let house = House::furnished();
    let before = house.contents();
    assert_eq!(protect_all(&house), 16);
    let text = house.text(".cursor/mcp.json");
    let expected = "\u{feff}{\r\n\t// what I use every day\r\n\t\"mcpServers\": {\r\n\t\t\"git\": {\r\n\t\t\t\"command\": \"/opt/portcullis\",\r\n\t\t\t\"args\": [\"wrap\", \"--label\", \"cursor-git\", \"--profile\", \"recommended\", \"--\", \"uvx\"], // not pipx\r\n\t\t\t\"envFile\": \".env\",\r\n\t\t},\r\n\t\t\"remote\": {\r\n\t\t\t\"command\": \"/opt/portcullis\",\r\n\t\t\t\"args\": [\"wrap\", \"--label\", \"cursor-remote\", \"--profile\", \"recommended\", \"--url\", \"https://cursor.example/mcp?key=SECRET\", \"--header\", \"X-Api-Key=env:PORTCULLIS_HEADER_1\"],\r\n\t\t\t/* from the vault */\r\n\t\t\t\"env\": {\"PORTCULLIS_HEADER_1\": \"${env:API_KEY}\"},\r\n\t\t},\r\n\t},\r\n}\r\n";
    assert_eq!(text, expected.replace("SECRET", SECRET));
    let toml = house.text(".codex/config.toml");
    assert!(toml.starts_with("model = \"o9\" # the good one\n\n[mcp_servers.docs]\ncommand = \"/opt/portcullis\"   # from npm\n"), "{toml}");
    assert!(toml.contains("Authorization=bearer-env:REMOTE_TOKEN"), "{toml}");
    assert!(toml.contains("env_vars = [\"REMOTE_TOKEN\"]"), "{toml}");
    assert!(toml.ends_with("[tui]\ntheme = \"dark\"\n"), "{toml}");
    assert!(!toml.contains("url ="), "{toml}");
    // The file that names no server is untouched.
    let empty = |contents: &[(std::path::PathBuf, Vec<u8>)]| {
        contents.iter().find(|(path, _)| path.ends_with("project/.cursor/mcp.json")).unwrap().1.clone()
    };
    assert_eq!(empty(&before), empty(&house.contents()));
}

#[test]
fn the_rewritten_entries_are_read_back_as_command_lines_that_name_the_server() {
    let house = House::furnished();
    protect_all(&house);
    for place in places(&house) {
        for entry in read(&place).unwrap().1.entries() {
            if entry.name != "odd" {
                assert!(portcullis_clients::is_guarded(&entry), "{} in {}", entry.name, place.path.display());
            }
        }
    }
}

#[test]
fn twice_changes_nothing() {
    let house = House::furnished();
    protect_all(&house);
    let once = house.contents();
    assert_eq!(protect_all(&house), 0);
    assert_eq!(once, house.contents());
}

#[test]
fn no_secret_leaves_its_file_but_into_the_backup() {
    let house = House::furnished();
    protect_all(&house);
    for place in places(&house) {
        let change = protect(&place, &guard()).unwrap();
        for (_, line) in &change.guarded {
            assert!(!line.join(" ").contains(&format!("Bearer {SECRET}")));
        }
    }
    let text = house.text(".claude.json");
    assert_eq!(text.matches(SECRET).count(), 2, "each secret is there once, as before: {text}");
}

#[cfg(unix)]
#[test]
fn rights_and_links_stay_and_backups_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    house.write("dotfiles/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    std::fs::set_permissions(house.path("dotfiles/mcp.json"), PermissionsExt::from_mode(0o640)).unwrap();
    std::fs::create_dir_all(house.path(".cursor")).unwrap();
    std::os::unix::fs::symlink(house.path("dotfiles/mcp.json"), house.path(".cursor/mcp.json")).unwrap();
    assert_eq!(protect_all(&house), 1);
    assert!(house.path(".cursor/mcp.json").is_symlink());
    let mode = |path: &str| std::fs::metadata(house.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("dotfiles/mcp.json"), 0o640);
    assert!(house.text("dotfiles/mcp.json").contains("wrap"));
    assert_eq!(mode("backups"), 0o700);
}

#[test]
fn a_file_that_changed_meanwhile_is_not_written() {
    let house = House::new();
    house.write(".cursor/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    let place =
        Home::at(house.root.path()).places(None).into_iter().find(|place| place.path.exists()).unwrap();
    let change = protect(&place, &guard()).unwrap();
    house.write(".cursor/mcp.json", "{\"mcpServers\": {}}");
    assert!(change.apply(&house.backups()).unwrap_err().to_string().contains("run the command again"));
    assert_eq!(house.text(".cursor/mcp.json"), "{\"mcpServers\": {}}");
}
