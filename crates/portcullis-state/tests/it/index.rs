//! The index: lags, says so, and is built again when it must be.

use std::path::PathBuf;

use portcullis_state::log::*;
use portcullis_state::{Filter, Index, Indexer};

use crate::setup::*;

fn path(place: &Place) -> PathBuf {
    place.log.with_file_name("index.db")
}

fn index(place: &Place) -> Index {
    let mut index = Index::open(&path(place), &place.log).unwrap();
    while index.catch_up().unwrap() > 0 {}
    index
}

fn found(index: &Index, filter: Filter) -> Vec<String> {
    let page = index.query(&filter).unwrap();
    let request = |record: &Stored| record.text("request").unwrap_or("-").to_owned();
    page.records.iter().map(request).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn everything_that_is_asked_for_is_found() {
    let place = place();
    let log = open(&place, quiet());
    let denied = Decision {
        verdict: Verdict::Denied,
        rule: Some("/tools/save/deny"),
        message: Some("Not on Sundays: 100%_sure"),
        grant: Some("g_2"),
        ..write_call("w")
    };
    for (second, decision) in [(1, read_call("a")), (2, denied), (3, read_call("b"))] {
        log.append(at(second), &Entry::Decision(&decision)).unwrap().wait().unwrap();
    }
    let index = index(&place);
    let all = Filter { kind: some("decision"), ..Filter::default() };
    assert_eq!(found(&index, all.clone()), ["b", "w", "a"]);
    for (filter, expected) in [
        (Filter { since: Some(at(2)), ..all.clone() }, vec!["b", "w"]),
        (Filter { until: Some(at(2)), ..all.clone() }, vec!["a"]),
        (Filter { grant: some("g_2"), ..all.clone() }, vec!["w"]),
        (Filter { server: some("pharo"), tool: some("find"), ..all.clone() }, vec!["b", "a"]),
        (Filter { outcome: some("denied"), ..all.clone() }, vec!["w"]),
        (Filter { rule: some("/tools/save/deny"), ..all.clone() }, vec!["w"]),
        (Filter { class: some("Read"), ..all.clone() }, vec!["b", "a"]),
        (Filter { request: some("a"), ..all.clone() }, vec!["a"]),
        (Filter { text: some("sundays: 100%_"), ..all.clone() }, vec!["w"]),
        (Filter { text: some("100%%"), ..all.clone() }, vec![]),
        (Filter { grant: some("' OR 1 --"), ..all.clone() }, vec![]),
    ] {
        assert_eq!(found(&index, filter.clone()), expected, "{filter:?}");
    }
    let first = index.query(&Filter { limit: Some(2), ..all.clone() }).unwrap();
    assert!(first.more);
    let before = first.records.last().map(|record| record.position.sequence);
    let next = index.query(&Filter { before, ..all }).unwrap();
    assert_eq!((next.records.len(), next.more), (1, false));
}

#[test]
fn it_says_how_far_it_has_read() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 5);
    let mut behind = index(&place);
    let read = behind.indexed_to().unwrap();
    assert_eq!(read, log.position().sequence);
    append_many(&log, 5, 2500);
    log.rotate_now().unwrap();
    let page = behind.query(&Filter::default()).unwrap();
    assert_eq!(page.indexed_to, read, "it lags, and says so");
    let batch = behind.catch_up().unwrap();
    assert_eq!(batch, 1000, "bounded work at a time");
    // Another process reads on from there.
    drop(behind);
    assert_eq!(index(&place).indexed_to().unwrap(), log.position().sequence);
}

#[test]
fn it_is_built_again_when_it_is_gone_broken_or_of_another_log() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 3);
    let wanted = ["r2", "r1", "r0"];
    let decisions = || Filter { kind: some("decision"), ..Filter::default() };
    assert_eq!(found(&index(&place), decisions()), wanted);
    std::fs::remove_file(path(&place)).unwrap();
    assert_eq!(found(&index(&place), decisions()), wanted);
    std::fs::write(path(&place), "garbage".repeat(1000)).unwrap();
    assert_eq!(found(&index(&place), decisions()), wanted);
    // Another log in the same place.
    drop(log);
    std::fs::remove_dir_all(&place.log).unwrap();
    std::fs::create_dir(&place.log).unwrap();
    let log = open(&place, quiet());
    append_many(&log, 7, 1);
    assert_eq!(found(&index(&place), decisions()), ["r7"]);
}

#[test]
fn a_past_that_the_log_took_back_is_forgotten() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 3);
    drop(log);
    let mut index = index(&place);
    // The end is lost in a crash, and other records take its place.
    let file = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, kept).unwrap();
    let log = open(&place, quiet());
    append_many(&log, 10, 9);
    while index.catch_up().unwrap() > 0 {}
    let requests = found(&index, Filter { kind: some("decision"), ..Filter::default() });
    assert_eq!(requests.len(), 10, "{requests:?}");
    assert!(!requests.contains(&"r2".to_owned()), "{requests:?}");
}

#[test]
fn the_background_reader_follows_while_calls_go_on() {
    let place = place();
    let log = open(&place, LogOptions { segment_bytes_max: 100 << 10, ..quiet() });
    let indexer = Indexer::start(&path(&place), &place.log).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let log = &log;
            scope.spawn(move || append_many(log, writer * 1000, 500));
        }
    });
    log.close().unwrap();
    let end = verify_ok(&place).to;
    let reader = loop {
        match Index::open(&path(&place), &place.log) {
            Ok(reader) if reader.indexed_to().is_ok_and(|read| read == end) => break reader,
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
        assert_eq!(indexer.fault(), None);
    };
    let first = Filter { request: some("r3499"), ..Filter::default() };
    assert_eq!(found(&reader, first), ["r3499"]);
    drop(indexer);
}

#[test]
fn only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    let log = open(&place, quiet());
    log.append(at(1), &Entry::Decision(&read_call("a"))).unwrap().wait().unwrap();
    let _index = index(&place);
    for ending in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{ending}", path(&place).display()));
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_broken_chain_ends_it_where_it_is_and_is_told_every_time() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 4);
    log.rotate_now().unwrap();
    append_many(&log, 4, 1);
    log.close().unwrap();
    let file = Segment::in_directory(&place.log, 1).path;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"r2\"", "\"R2\"")).unwrap();
    let mut index = Index::open(&path(&place), &place.log).unwrap();
    assert_eq!(index.catch_up().unwrap(), 3, "the segment's record and two decisions");
    for _ in 0..3 {
        assert!(index.catch_up().unwrap_err().to_string().contains("at byte"));
        assert_eq!(found(&index, Filter { kind: some("decision"), ..Filter::default() }), ["r1", "r0"]);
    }
}

#[test]
fn an_index_that_somebody_is_writing_to_is_not_deleted() {
    let place = place();
    let log = open(&place, quiet());
    append_many(&log, 0, 3);
    drop(index(&place));
    let writing = rusqlite::Connection::open(path(&place)).unwrap();
    writing
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT * FROM progress;")
        .unwrap();
    let opened = Index::open(&path(&place), &place.log);
    assert!(opened.is_err_and(|fault| fault.to_string().contains("locked")));
    writing.execute_batch("COMMIT").unwrap();
    let count: u32 = writing.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 4, "what was there is still there");
    assert!(path(&place).exists());
}
