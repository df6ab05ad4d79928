//! The index: import, history, search; broken records are reported and skipped.

use std::io::Cursor;

use portcullis_catalogue::index::import::{json_lines, registry_page, tools_list};
use portcullis_catalogue::index::{ChangeKind, Index, Listing, Search, ServerEntry};
use portcullis_catalogue::record::{Override, Provenance};
use portcullis_catalogue::{Class, Level, ToolDefinition};

use crate::given::tool;

fn listing(server: &str, tools: Vec<ToolDefinition>, provenance: Provenance) -> Listing {
    Listing {
        server: ServerEntry { name: server.to_owned(), ..ServerEntry::default() },
        tools,
        provenance,
        source: "test".to_owned(),
        complete: provenance == Provenance::Live,
    }
}

fn doors() -> Vec<ToolDefinition> {
    vec![
        ToolDefinition::named("get_door").described("Gets a wooden door"),
        ToolDefinition::named("delete_door").described("Deletes a door"),
        ToolDefinition::named("pay_door").described("Pays for a door"),
    ]
}

fn found(index: &Index, search: Search) -> Vec<String> {
    let hits = index.search(&Search { most: 50, ..search }).unwrap();
    hits.into_iter().map(|hit| hit.tool).collect()
}

#[test]
fn importing_twice_changes_nothing() {
    let mut index = Index::in_memory().unwrap();
    let first = index.import([listing("doors", doors(), Provenance::Live)].into_iter(), 10).unwrap();
    assert_eq!((first.added, first.unchanged), (3, 0));
    let before = index.search(&Search { most: 50, ..Search::default() }).unwrap();
    let second = index.import([listing("doors", doors(), Provenance::Live)].into_iter(), 20).unwrap();
    assert!(second.is_empty());
    assert_eq!(second.unchanged, 3);
    assert_eq!(index.search(&Search { most: 50, ..Search::default() }).unwrap(), before);
    assert!(index.changes(None, 0, 99).unwrap().is_empty());
}

#[test]
fn every_kind_of_change_is_in_the_history() {
    let mut index = Index::in_memory().unwrap();
    index.import([listing("doors", doors(), Provenance::Live)].into_iter(), 10).unwrap();
    let later = vec![
        ToolDefinition::named("get_door").described("Get or delete a wooden door"),
        ToolDefinition::named("erase_door").described("Deletes a door"),
        ToolDefinition::named("new_one").described("Lists doors"),
    ];
    let report = index.import([listing("doors", later, Provenance::Live)].into_iter(), 20).unwrap();
    assert_eq!((report.added, report.changed, report.removed), (1, 2, 1));
    let history: Vec<(String, ChangeKind)> = index
        .changes(Some("doors"), 15, 99)
        .unwrap()
        .into_iter()
        .map(|change| (change.tool, change.kind))
        .collect();
    for expected in [
        ("get_door", ChangeKind::Changed),
        ("get_door", ChangeKind::ClassRaised),
        ("erase_door", ChangeKind::Renamed),
        ("new_one", ChangeKind::Added),
        ("pay_door", ChangeKind::Removed),
    ] {
        assert!(history.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {history:?}");
    }
    assert_eq!(history.len(), 5, "a rename is one step, not a removal too: {history:?}");
    assert_eq!(
        index.tool("doors", "erase_door").unwrap().map(|tool| (tool.first_seen, tool.last_changed)),
        Some((10, 20))
    );
    assert_eq!(index.tool("doors", "delete_door").unwrap(), None);
    assert_eq!(
        found(&index, Search { text: Some("erase_door".into()), ..Search::default() }),
        ["erase_door"]
    );
    assert_eq!(found(&index, Search { text: Some("wooden".into()), ..Search::default() }), ["get_door"]);
}

#[test]
fn search_by_text_class_level_and_server() {
    let mut index = Index::in_memory().unwrap();
    let two = [
        listing("doors", doors(), Provenance::Live),
        listing(
            "windows",
            vec![ToolDefinition::named("get_window").described("Gets a wooden window")],
            Provenance::Imported,
        ),
    ];
    index.import(two.into_iter(), 10).unwrap();
    let mut wooden = found(&index, Search { text: Some("wooden".into()), ..Search::default() });
    wooden.sort();
    assert_eq!(wooden, ["get_door", "get_window"]);
    assert_eq!(
        found(&index, Search { text: Some("wooden win".into()), ..Search::default() }),
        ["get_window"]
    );
    assert_eq!(found(&index, Search { class: Some(Class::Financial), ..Search::default() }), ["pay_door"]);
    let critical = Search { text: Some("door".into()), level: Some(Level::Critical), ..Search::default() };
    assert_eq!(found(&index, critical).len(), 2);
    assert_eq!(found(&index, Search { server: Some("windows".into()), ..Search::default() }), ["get_window"]);
    assert!(found(&index, Search { text: Some("\" OR *:".into()), ..Search::default() }).is_empty());
    let counts = index.counts().unwrap();
    assert_eq!((counts.servers, counts.total()), (2, 4));
}

#[test]
fn what_was_seen_live_is_not_overwritten_by_less() {
    let mut index = Index::in_memory().unwrap();
    index.import([listing("doors", doors(), Provenance::Live)].into_iter(), 10).unwrap();
    let other = vec![ToolDefinition::named("get_door").described("Something else")];
    let report = index.import([listing("doors", other, Provenance::Imported)].into_iter(), 20).unwrap();
    assert_eq!((report.kept_live, report.changed, report.removed), (1, 0, 0));
}

#[test]
fn an_override_stands_beside_the_computed_class() {
    let mut index = Index::in_memory().unwrap();
    index.import([listing("doors", doors(), Provenance::Live)].into_iter(), 10).unwrap();
    let set = Override { class: Class::Execute, by: "ada".into(), reason: "it rings a bell".into() };
    index.set_class("doors", "get_door", &set, 11).unwrap();
    assert_eq!(index.tool("doors", "get_door").unwrap().unwrap().class, Class::Read);
    assert_eq!(index.override_of("doors", "get_door").unwrap(), Some(set));
    assert_eq!(index.override_of("doors", "pay_door").unwrap(), None);
}

#[test]
fn a_name_that_stands_twice_is_reported() {
    let mut index = Index::in_memory().unwrap();
    let twice = vec![ToolDefinition::named("a"), ToolDefinition::named("a")];
    let report = index.import([listing("doors", twice, Provenance::Live)].into_iter(), 10).unwrap();
    assert_eq!((report.added, report.skipped.len()), (1, 1));
}

#[test]
fn a_saved_tools_list_is_read_in_each_of_its_forms() {
    for text in [
        r#"{"tools":[{"name":"a"},{"name":7}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{}]}}"#,
        r#"[{"name":"a"},3]"#,
    ] {
        let (tools, skipped) = tools_list(text).unwrap();
        assert_eq!((tools.len(), skipped.len()), (1, 1), "{text}");
    }
    assert!(tools_list("{}").is_err());
    let (tools, _) = tools_list(r#"[{"name":"a","arguments":[{"name":"code","type":"string"}]}]"#).unwrap();
    assert_eq!(
        tools,
        [tool(
            r#"{"name":"a","arguments":0,"inputSchema":{"type":"object","properties":{"code":{"type":"string"}}}}"#
        )]
    );
}

#[test]
fn json_lines_are_grouped_and_broken_ones_reported() {
    let text = "{\"server\":\"s\",\"tool\":\"a\"}\n\nnot json\n{\"tool\":\"b\"}\n{\"server\":\"s\",\"tool\":\"c\"}\n";
    let (listings, skipped) = json_lines(Cursor::new(text), "file").unwrap();
    assert_eq!(listings.len(), 1);
    assert_eq!(listings[0].tools.len(), 2);
    assert_eq!(skipped.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["line 3", "line 4"]);
}

#[test]
fn registry_pages_keep_the_host_and_the_cursor() {
    let page = registry_page(
        r#"{"servers":[
            {"server":{"name":"io.x/a","version":"1.2","repository":{"url":"https://git.example/a"},
                       "packages":[{"registryType":"npm","identifier":"@x/a"}]}},
            {"server":{"name":"io.x/b","remotes":[{"url":"https://u:p@mcp.example:8443/path?key=1"}]}},
            {"server":{"name":"io.x/gone"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}},
            {"server":{}}],
          "metadata":{"nextCursor":"abc"}}"#,
    )
    .unwrap();
    assert_eq!(page.servers.len(), 2);
    assert_eq!(page.servers[0].package.as_deref(), Some("npm:@x/a"));
    assert_eq!(page.servers[1].remote.as_deref(), Some("mcp.example:8443"));
    assert_eq!(page.next_cursor.as_deref(), Some("abc"));
    assert_eq!(page.skipped.len(), 1);
    let single = registry_page(r#"{"name":"io.x/a","version":"1"}"#).unwrap();
    assert_eq!(single.servers[0].name, "io.x/a");
}

#[test]
fn a_directory_of_tools_json_is_read() {
    let root = std::env::temp_dir().join(format!("portcullis-catalogue-{}", std::process::id()));
    std::fs::create_dir_all(root.join("doors")).unwrap();
    std::fs::create_dir_all(root.join("broken")).unwrap();
    std::fs::write(root.join("doors/tools.json"), r#"[{"name":"get_door"}]"#).unwrap();
    std::fs::write(root.join("broken/tools.json"), "[{").unwrap();
    let read = portcullis_catalogue::index::import::directory(&root);
    std::fs::remove_dir_all(&root).unwrap();
    let (listings, skipped) = read.unwrap();
    assert_eq!(listings.len(), 1);
    assert_eq!(listings[0].server.name, "doors");
    assert_eq!(skipped.len(), 1);
}

#[test]
fn an_export_has_a_line_for_every_tool_and_no_description() {
    let mut index = Index::in_memory().unwrap();
    let many: Vec<ToolDefinition> = (0..450)
        .map(|number| ToolDefinition::named(&format!("get_door_{number}")).described("A secret recipe"))
        .collect();
    index.import([listing("doors", many, Provenance::Live)].into_iter(), 10).unwrap();
    let mut out = Vec::new();
    assert_eq!(index.export(&Search::default(), &mut out).unwrap(), 450);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 450);
    assert!(!text.contains("recipe"));
    let first = crate::given::json(text.lines().next().unwrap());
    assert_eq!(first.get("class").and_then(portcullis_json::Value::as_str), Some("Read"));
}
