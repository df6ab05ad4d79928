//! Servers that a client reaches through a gateway from now on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use portcullis_clients::{
    Additions, Bridge, Client, Hidden, Redirected, Undone, Way, find, is_guarded, redirect, undo,
};

use crate::homes::{House, SECRET};

const TOKEN: &str = "pcl_0123456789012345678901234567890123456789012345678";

fn bridge() -> Bridge {
    Bridge { program: "/opt/portcullis".to_owned(), data_dir: "/srv/bridges".to_owned() }
}

/// Leads every server of every file that is known to the gateway.
fn redirect_all(house: &House) {
    for found in find(&house.home(), None, &[]) {
        let entries = found.entries.unwrap();
        let known = entries.into_iter().filter(|entry| !matches!(entry.way, Way::Unknown(_)));
        let redirected: Vec<Redirected> = known
            .map(|entry| {
                let url = format!("http://127.0.0.1:1/mcp/{}", entry.name);
                Redirected { entry, url, token: Hidden::new(TOKEN.to_owned()) }
            })
            .collect();
        let names: Vec<String> = redirected.iter().map(|redirected| redirected.entry.name.clone()).collect();
        let (data_dir, grants) = (PathBuf::from("/srv/gateway"), names.clone());
        let additions = Additions { data_dir, servers: names, grants };
        let change = redirect(&found.place, &redirected, &bridge(), additions).unwrap();
        change.apply(&house.backups()).unwrap();
    }
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn every_client_is_led_to_the_gateway_in_its_own_words() {
    let house = House::furnished();
    redirect_all(&house);
    let mut seen = Vec::new();
    for found in find(&house.home(), None, &[]) {
        let client = found.place.client;
        for entry in found.entries.unwrap().iter().filter(|entry| !matches!(entry.way, Way::Unknown(_))) {
            assert!(is_guarded(entry), "{client} {}", entry.name);
            assert_eq!(
                entry.environment.len(),
                usize::from(client == Client::ClaudeDesktop),
                "{}",
                entry.name
            );
            match &entry.way {
                Way::Remote(remote) => {
                    assert_eq!(remote.url, format!("http://127.0.0.1:1/mcp/{}", entry.name));
                    assert_eq!(remote.headers.len(), 1, "{client} {}", entry.name);
                }
                Way::Command { command, arguments } => {
                    assert_eq!((client, command.as_str()), (Client::ClaudeDesktop, "/opt/portcullis"));
                    assert!(arguments.contains(&"--behind-gateway".to_owned()), "{arguments:?}");
                }
                Way::Unknown(_) => {}
            }
            seen.push(client);
        }
        let text = fs::read_to_string(&found.place.path).unwrap();
        assert!(
            !text.contains(SECRET),
            "what the gateway has now is not left in {}",
            found.place.path.display()
        );
        assert_eq!(mode(&found.place.path) & 0o077, 0, "a token is its owner's alone");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), Client::ALL.len());
}

#[test]
fn bytes_and_rights_come_back_and_the_gateway_is_told() {
    let house = House::furnished();
    let cursor = house.path(".cursor/mcp.json");
    fs::set_permissions(&cursor, fs::Permissions::from_mode(0o640)).unwrap();
    let before = house.contents();
    redirect_all(&house);
    let mut told = Vec::new();
    let mut take_down = |additions: &Additions| {
        assert_eq!(additions.servers, additions.grants);
        told.extend(additions.servers.clone());
        Ok(())
    };
    let undone = undo(&house.backups(), &house.home(), None, &[], &mut take_down).unwrap();
    assert!(undone.iter().all(|(_, undone)| matches!(undone, Ok(Undone::Exactly(_)))));
    assert_eq!(before, house.contents());
    assert_eq!(mode(&cursor), 0o640);
    assert!(told.contains(&"git".to_owned()) && told.contains(&"docs".to_owned()), "{told:?}");
}

/// The file is its owner's again at once; what is left at the gateway can be tried again.
#[test]
fn a_gateway_that_does_not_answer_can_be_told_later() {
    let house = House::new();
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"args\": [], \"env\": {}}}}";
    house.write(".cursor/mcp.json", text);
    redirect_all(&house);
    let undo_with = |told: Result<(), String>| {
        undo(&house.backups(), &house.home(), None, &[], &mut |_| told.clone()).unwrap()
    };
    let failed = undo_with(Err("it sleeps".to_owned()));
    assert!(failed[0].1.as_ref().is_err_and(|fault| fault.to_string().contains("it sleeps")));
    assert_eq!(house.text(".cursor/mcp.json"), text);
    assert_eq!(undo_with(Ok(())).len(), 1);
    assert!(undo_with(Ok(())).is_empty());
}

/// Fields that stand together at the end of an entry go together.
#[test]
fn several_fields_at_the_end_are_taken_out() {
    let house = House::new();
    let text = "{\"mcpServers\": {\"a\": {\"timeout\": 5, \"command\": \"a\", \"args\": [], \"env\": {\"X\": \"1\"}, \"cwd\": \"/\"}}}";
    house.write(".cursor/mcp.json", text);
    redirect_all(&house);
    let expected = format!(
        "{{\"mcpServers\": {{\"a\": {{\"timeout\": 5, \"url\": \"http://127.0.0.1:1/mcp/a\", \"headers\": {{\"Authorization\": \"Bearer {TOKEN}\"}}}}}}}}"
    );
    assert_eq!(house.text(".cursor/mcp.json"), expected);
}
