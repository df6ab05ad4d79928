//! Figures and imports on data that stays outside of the repository. Set `PORTCULLIS_CATALOGUE_DATA` to its
//! directory; without it these tests have nothing to look at and say so.

use std::io::Cursor;
use std::path::PathBuf;

use portcullis_catalogue::eval::{Evaluation, evaluate, read_rows};
use portcullis_catalogue::index::Index;
use portcullis_catalogue::index::import::json_lines;

fn text(name: &str) -> Option<String> {
    let Some(directory) = std::env::var_os("PORTCULLIS_CATALOGUE_DATA") else {
        println!("skipped: PORTCULLIS_CATALOGUE_DATA is not set");
        return None;
    };
    Some(std::fs::read_to_string(PathBuf::from(directory).join(name)).unwrap())
}

fn judged(name: &str) -> Option<Evaluation> {
    let (rows, faults) = read_rows(&text(name)?);
    assert_eq!(faults, []);
    Some(evaluate(&rows, false))
}

#[test]
fn read_and_mutating_are_told_apart() {
    let Some(evaluation) = judged("annotated_tools_dev.jsonl") else {
        return;
    };
    assert!(evaluation.confusion.macro_f1() >= 0.96);
    assert!(evaluation.unsafe_errors.share <= 0.015);
}

#[test]
fn five_classes_agree_with_the_labels() {
    let Some(evaluation) = judged("class_labels_dev.jsonl") else {
        return;
    };
    assert!(evaluation.confusion.macro_f1() >= 0.83);
}

#[test]
fn every_row_is_imported_or_reported_and_the_second_time_nothing_changes() {
    for name in ["servers_8k_tools.jsonl", "registry_tools.jsonl"] {
        let Some(text) = text(name) else { return };
        let rows = text.lines().count();
        let mut index = Index::in_memory().unwrap();
        let (listings, broken) = json_lines(Cursor::new(&text), name).unwrap();
        let first = index.import(listings.clone().into_iter(), 1).unwrap();
        assert_eq!(first.added + first.skipped.len() + broken.len(), rows, "{name}");
        println!("{name}: {} added, {} skipped", first.added, first.skipped.len() + broken.len());
        let second = index.import(listings.into_iter(), 2).unwrap();
        assert!(second.is_empty(), "{name}: {second:?}");
        assert_eq!(second.unchanged, first.added, "{name}");
    }
}
