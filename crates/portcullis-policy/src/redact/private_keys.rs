//! Private keys in PEM, OpenSSH and PGP armour.

use std::sync::LazyLock;

use regex::Regex;

use super::matches::{Replaced, compiled};

/// Up to the end of the text where the last line of the block is missing: the key was cut, not absent.
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let label = "(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}";
    compiled(&format!("(?s)-{{4,5}} ?BEGIN {label}(?:.*?-{{4,5}} ?END {label}|.*)"))
});

pub(super) fn replace(replaced: &mut Replaced, marker: &str) {
    replaced.replace(&BLOCK, marker, |_| true);
}
