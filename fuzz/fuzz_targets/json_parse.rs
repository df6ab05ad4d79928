//! Any bytes through the strict JSON reader: no panic, and what was read is written and read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_json::{Limits, canonical, compact, parse};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = parse(bytes, &Limits::message()) else {
        return;
    };
    let again = parse(compact(&value).as_bytes(), &Limits { bytes_max: usize::MAX, ..Limits::message() })
        .expect("what was written can be read");
    assert_eq!(canonical(&value), canonical(&again));
});
