//! What is found in clients' files.

use portcullis_clients::{Client, Transport, Way, find};

use crate::homes::{House, SECRET};

#[test]
fn the_servers_of_all_seven_clients_are_found() {
    let house = House::furnished();
    let found = find(&house.home(), Some(&house.project()), &[]);
    assert_eq!(found.len(), 12);
    let mut clients: Vec<Client> = found.iter().map(|found| found.place.client).collect();
    clients.sort();
    clients.dedup();
    assert_eq!(clients, Client::ALL);
    let entries: Vec<_> = found.iter().flat_map(|found| found.entries.as_ref().unwrap()).collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let expected = [
        "files", "issues", "memory", "git", "remote", "github", "time", "old", "figma", "odd", "docs",
        "remote", "search", "older", "pharo", "local", "p",
    ];
    assert_eq!(names, expected);
    assert!(entries.iter().any(|entry| entry.name == "figma" && entry.disabled));
    let older = entries.iter().find(|entry| entry.name == "older").unwrap();
    assert!(matches!(&older.way, Way::Remote(remote) if remote.transport == Transport::Sse));
}

#[test]
fn values_of_environments_and_headers_are_not_in_debug() {
    let house = House::furnished();
    for found in find(&house.home(), None, &[Client::ClaudeCode, Client::ClaudeDesktop, Client::Codex]) {
        let shown = format!("{:?}", found.entries.unwrap());
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

#[test]
fn one_client_alone() {
    let house = House::furnished();
    let found = find(&house.home(), Some(&house.project()), &[Client::Cursor]);
    assert_eq!(found.len(), 2);
}

#[test]
fn a_broken_file_says_where_and_nothing_of_what() {
    let house = House::new();
    house.write(".cursor/mcp.json", &format!("{{\n  \"mcpServers\": {{ \"a\": \"{SECRET}\" oops }}\n}}"));
    house.write(".codex/config.toml", &format!("[mcp_servers.x]\ncommand = \"{SECRET}\" oops\n"));
    for found in find(&house.home(), None, &[]) {
        let fault = found.entries.err().unwrap().to_string();
        assert!(fault.contains("line 2"), "{fault}");
        assert!(!fault.contains(SECRET), "{fault}");
    }
}
