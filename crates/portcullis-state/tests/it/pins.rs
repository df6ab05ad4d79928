//! Pins: kept on disk, moved by nobody but `accept`, bounded.

use portcullis_state::StateFault;
use portcullis_state::pins::{OpenPins, PINS_MAX, Pins, Step};

use crate::grants::data;
use crate::setup::at;

fn pin(tool: &str, fingerprint: u8) -> Step {
    let definition = format!(r#"{{"name":"{tool}"}}"#);
    Step::Pin { tool: tool.to_owned(), fingerprint: [fingerprint; 32], definition }
}

fn hold(tool: &str, fingerprint: u8) -> Step {
    let (tool, definition) = (tool.to_owned(), "{}".to_owned());
    Step::Hold { tool, fingerprint: [fingerprint; 32], definition, renamed_from: None }
}

fn change<T>(
    pins: &Pins,
    work: impl FnOnce(&mut OpenPins<'_>) -> Result<T, StateFault>,
) -> Result<T, StateFault> {
    pins.change("s", work)
}

#[test]
fn a_pin_outlives_the_process_and_a_second_sight_does_not_move_it() {
    let data = data();
    let pins = Pins::open(&data.directory).unwrap();
    change(&pins, |open| open.apply(&[pin("a", 1)], at(0))).unwrap();
    change(&pins, |open| open.apply(&[pin("a", 2)], at(1))).unwrap();
    assert_eq!(pins.pinned("s", "a"), Some([1; 32]));
    assert_eq!(pins.pinned("other", "a"), None);
    drop(pins);
    let pins = Pins::open(&data.directory).unwrap();
    assert_eq!(pins.pinned("s", "a"), Some([1; 32]));
    assert_eq!(change(&pins, |open| open.pin("a")).unwrap().unwrap().definition, r#"{"name":"a"}"#);
}

#[test]
fn only_what_was_shown_is_accepted() {
    let pins = Pins::in_memory().unwrap();
    change(&pins, |open| open.apply(&[pin("a", 1), hold("a", 2)], at(0))).unwrap();
    let refused = |pins: &Pins| change(pins, |open| open.accept("a", at(1))).unwrap_err().to_string();
    assert!(refused(&pins).contains("nobody has looked"));
    change(&pins, |open| open.note_shown("a", &[9; 32])).unwrap();
    assert!(refused(&pins).contains("nobody has looked"), "something else was shown");
    change(&pins, |open| open.note_shown("a", &[2; 32])).unwrap();
    change(&pins, |open| open.apply(&[hold("a", 3)], at(1))).unwrap();
    assert!(refused(&pins).contains("nobody has looked"), "it changed again since");
    change(&pins, |open| open.note_shown("a", &[3; 32])).unwrap();
    assert_eq!(change(&pins, |open| open.accept("a", at(2))).unwrap().fingerprint, [3; 32]);
    assert_eq!(pins.pinned("s", "a"), Some([3; 32]));
    assert!(refused(&pins).contains("nothing to accept"));
    assert!(
        change(&pins, |open| open.accept("b", at(2))).unwrap_err().to_string().contains("no changed tool")
    );
}

#[test]
fn what_fails_half_way_leaves_nothing() {
    let pins = Pins::in_memory().unwrap();
    let failed = change(&pins, |open| {
        open.apply(&[pin("a", 1)], at(0))?;
        Err::<(), _>(StateFault::Invalid("the log is full".to_owned()))
    });
    assert!(failed.is_err());
    assert_eq!(pins.pinned("s", "a"), None);
    assert!(change(&pins, |open| open.pins()).unwrap().is_empty());
}

#[test]
fn a_server_that_is_taken_away_is_forgotten() {
    let pins = Pins::in_memory().unwrap();
    change(&pins, |open| open.apply(&[pin("a", 1), hold("b", 2)], at(0))).unwrap();
    change(&pins, |open| open.forget()).unwrap();
    assert_eq!(pins.pinned("s", "a"), None);
    assert!(change(&pins, |open| open.changes()).unwrap().is_empty());
}

#[test]
fn a_server_cannot_fill_the_disk_with_names() {
    let pins = Pins::in_memory().unwrap();
    let many: Vec<Step> = (0..=PINS_MAX).map(|n| pin(&format!("t{n}"), 1)).collect();
    let refused = change(&pins, |open| open.apply(&many, at(0))).unwrap_err();
    assert!(refused.to_string().contains("more tools than can be pinned"));
    assert_eq!(pins.pinned("s", "t0"), None);
}
