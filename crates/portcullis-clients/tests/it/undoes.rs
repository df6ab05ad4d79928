//! Taking guards out again.

use std::fs;
use std::path::PathBuf;

use portcullis_clients::{Undone, find, protect, undo};

use crate::homes::{House, guard};

fn protect_all(house: &House) {
    for found in find(&house.home(), Some(&house.project()), &[]) {
        if found.entries.is_ok() {
            protect(&found.place, &guard()).unwrap().apply(&house.backups()).unwrap();
        }
    }
}

fn undo_all(house: &House) -> Vec<Undone> {
    let undone = undo(&house.backups(), &house.home(), Some(&house.project()), &[], &mut |_| Ok(())).unwrap();
    undone.into_iter().map(|(_, result)| result.unwrap()).collect()
}

/// Where the steps of all files are kept.
fn steps(house: &House) -> Vec<PathBuf> {
    let inside = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    inside(house.path("backups")).flat_map(inside).collect()
}

#[test]
fn the_same_bytes_come_back() {
    let house = House::furnished();
    let before = house.contents();
    protect_all(&house);
    assert_ne!(before, house.contents());
    assert_eq!(undo_all(&house).len(), 11);
    assert_eq!(before, house.contents());
    assert!(undo_all(&house).is_empty());
}

#[test]
fn a_projects_file_comes_back_from_anywhere() {
    let house = House::furnished();
    let before = house.contents();
    protect_all(&house);
    undo(&house.backups(), &house.home(), None, &[], &mut |_| Ok(())).unwrap();
    assert_eq!(before, house.contents());
}

#[test]
fn two_steps_are_both_taken_back() {
    let house = House::new();
    house.write(".cursor/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    protect_all(&house);
    let text = house.text(".cursor/mcp.json").replace("{\"a\":", "{\"b\": {\"command\": \"b\"}, \"a\":");
    house.write(".cursor/mcp.json", &text);
    protect_all(&house);
    let path = house.path(".cursor/mcp.json");
    assert_eq!(undo_all(&house), [Undone::Exactly(path.clone()), Undone::GuardsOnly(path)]);
    let expected = "{\"mcpServers\": {\"b\": {\"command\": \"b\"}, \"a\": {\"command\": \"a\"}}}";
    assert_eq!(house.text(".cursor/mcp.json"), expected);
}

/// Killed before a step's record was there, or while it was forgotten: its file is as it was.
#[test]
fn a_step_that_was_stopped_halfway_is_in_nobodys_way() {
    let house = House::new();
    let before = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    house.write(".cursor/mcp.json", before);
    protect_all(&house);
    fs::remove_file(steps(&house)[0].join("step.json")).unwrap();
    house.write(".cursor/mcp.json", before);
    protect_all(&house);
    assert_eq!(steps(&house).len(), 1, "what was left holds secrets, and is gone");
    assert_eq!(undo_all(&house), [Undone::Exactly(house.path(".cursor/mcp.json"))]);
    assert_eq!(house.text(".cursor/mcp.json"), before);
    assert!(steps(&house).is_empty());
}

#[test]
fn a_damaged_step_keeps_no_other_file_from_coming_back() {
    let house = House::new();
    let before = "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}";
    for path in [".cursor/mcp.json", ".gemini/settings.json"] {
        house.write(path, before);
        protect_all(&house);
        if path == ".cursor/mcp.json" {
            fs::write(steps(&house)[0].join("step.json"), "").unwrap();
        }
    }
    let undone = undo(&house.backups(), &house.home(), None, &[], &mut |_| Ok(())).unwrap();
    let failed: Vec<String> =
        undone.iter().filter_map(|(_, result)| result.as_ref().err().map(ToString::to_string)).collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].contains("is damaged; restore your file by hand"), "{failed:?}");
    assert_ne!(house.text(".cursor/mcp.json"), before);
    assert_eq!(house.text(".gemini/settings.json"), before);
}

#[test]
fn what_somebody_edited_since_stays() {
    let house = House::furnished();
    protect_all(&house);
    let json = house.text(".gemini/settings.json").replace("Dracula", "Light");
    house.write(".gemini/settings.json", &json);
    let toml = house.text(".codex/config.toml").replace("\"dark\"", "\"light\"");
    house.write(".codex/config.toml", &toml);
    undo_all(&house);
    let original = |path: &str| crate::homes::files().into_iter().find(|(name, _)| *name == path).unwrap().1;
    assert_eq!(
        house.text(".gemini/settings.json"),
        original(".gemini/settings.json").replace("Dracula", "Light")
    );
    assert_eq!(
        house.text(".codex/config.toml"),
        original(".codex/config.toml").replace("\"dark\"", "\"light\"")
    );
}

#[test]
fn a_file_that_is_gone_is_let_go() {
    let house = House::new();
    house.write(".cursor/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    protect_all(&house);
    fs::remove_file(house.path(".cursor/mcp.json")).unwrap();
    assert!(matches!(undo_all(&house).as_slice(), [Undone::Gone(_)]));
    assert!(undo_all(&house).is_empty());
}
