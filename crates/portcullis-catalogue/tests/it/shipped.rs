//! The index that ships with the program, and the text it is kept in.

use portcullis_catalogue::index::{Index, IndexFault, Listing, Search, ServerEntry};
use portcullis_catalogue::record::Provenance;
use portcullis_catalogue::{Class, Signal, ToolDefinition};

use crate::given::tool;

fn text_of(index: &Index) -> String {
    let mut text = Vec::new();
    index.write_facts(|_| true, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn doors() -> Index {
    let mut index = Index::in_memory().unwrap();
    let definition = r#"{"name":"delete_door","description":"Deletes a wooden door","annotations":{"readOnlyHint":false},
        "inputSchema":{"type":"object","required":["file path"],
        "properties":{"file path":{"type":"string"},"n":{"type":["integer","null"]}}}}"#;
    let listing = Listing {
        server: ServerEntry {
            name: "doors".to_owned(),
            version: Some("1.0.0".to_owned()),
            package: Some("npm:doors".to_owned()),
            ..ServerEntry::default()
        },
        tools: vec![tool(definition), ToolDefinition::named("get_door")],
        provenance: Provenance::Live,
        source: "test".to_owned(),
        complete: true,
    };
    index.import(std::iter::once(listing), 1_700_000_000).unwrap();
    index
}

#[test]
fn what_ships_was_seen_live_and_reads_back_as_it_was_written() {
    let index = Index::shipped().unwrap();
    for server in index.servers().unwrap() {
        assert!(server.tools > 0 && server.version.is_some() && server.seen_at > 1_700_000_000, "{server:?}");
        let package = server.package.unwrap();
        assert!(package.starts_with("npm:") || package.starts_with("pypi:"), "{package}");
        assert_eq!(index.server_of_package(&package).unwrap().unwrap().name, server.name);
    }
    assert!(index.counts().unwrap().tools.iter().all(|(provenance, _, _)| *provenance == Provenance::Live));
    assert_eq!(text_of(&index), include_str!("../../index/live.jsonl"));
}

#[test]
fn a_server_that_ships_is_found_by_its_package_with_its_tools() {
    let index = Index::shipped().unwrap();
    let server = index.server_of_package("npm:@modelcontextprotocol/server-filesystem").unwrap().unwrap();
    let write = index.tool(&server.name, "write_file").unwrap().unwrap();
    assert_eq!((write.class, write.provenance), (Class::Write, Provenance::Live));
    assert!(write.signals.contains(&Signal::Path));
    assert!(write.parameters.contains("path:string!"), "{}", write.parameters);
    let found =
        index.search(&Search { text: Some("write file".into()), most: 50, ..Search::default() }).unwrap();
    assert!(found.iter().any(|hit| hit.server == server.name && hit.tool == "write_file"));
}

#[test]
fn facts_keep_the_shape_and_no_word_of_the_description() {
    let index = doors();
    let text = text_of(&index);
    assert!(!text.contains("wooden"), "{text}");
    assert!(text.contains(r#""parameters":"file_path:string! n:any""#), "{text}");
    assert!(text.contains(r#""hints":{"readOnlyHint":false}"#), "{text}");
    let mut again = Index::in_memory().unwrap();
    assert_eq!(again.read_facts(&text).unwrap().added, 2);
    assert_eq!(text_of(&again), text);
    assert_eq!(again.tool("doors", "delete_door").unwrap(), index.tool("doors", "delete_door").unwrap());
    assert!(again.read_facts(&text).unwrap().is_empty());
}

#[test]
fn broken_facts_are_refused_whole() {
    let text = text_of(&doors());
    let (all_but_last, _) = text.trim_end().rsplit_once('\n').unwrap();
    let unknown_class = text.replacen("Destructive", "Peculiar", 1);
    let no_hexadecimal = text.replacen("\"prints\":\"", "\"prints\":\"x", 1);
    for broken in [all_but_last, "{", "{}", &unknown_class, &no_hexadecimal] {
        let mut index = Index::in_memory().unwrap();
        assert!(matches!(index.read_facts(broken), Err(IndexFault::Facts(_))), "{broken}");
        assert_eq!(index.counts().unwrap().servers, 0);
    }
}

#[test]
fn what_the_rules_judge_otherwise_today_is_judged_anew_and_no_change_of_the_tool() {
    let index = doors();
    let older = text_of(&index)
        .replace(r#""class":"Destructive","confidence":0.98"#, r#""class":"Write","confidence":0.70"#);
    assert_ne!(older, text_of(&index));
    let mut again = Index::in_memory().unwrap();
    again.read_facts(&older).unwrap();
    let report = again.read_facts(&text_of(&index)).unwrap();
    assert_eq!((report.judged_anew, report.changed, report.unchanged), (1, 0, 1));
    assert_eq!(text_of(&again), text_of(&index));
}
