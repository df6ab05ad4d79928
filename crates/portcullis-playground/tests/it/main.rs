//! The playground over real HTTP, in both eras.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod client;
mod legacy;
mod modern;

use std::collections::BTreeSet;

use portcullis_policy::Class;

#[test]
fn there_is_a_tool_of_every_class() {
    let classes: BTreeSet<Class> = portcullis_playground::classes().map(|(_, class)| class).collect();
    assert_eq!(classes.len(), Class::ALL.len());
    assert!(portcullis_playground::classes().count() >= 12);
}
