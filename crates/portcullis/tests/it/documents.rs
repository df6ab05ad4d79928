//! Documents that are made by the command and checked in.

use crate::command::Place;

#[test]
fn the_reference_of_the_configuration_is_up_to_date() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
    let kept = std::fs::read_to_string(kept).unwrap();
    let made = Place::new().run(&["config", "reference"]).out;
    assert!(kept == made, "run `portcullis config reference > docs/reference/configuration.md`");
}
