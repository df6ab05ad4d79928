//! A record of the log on one line, for people.

use portcullis_catalogue::{inert, inert_json};
use portcullis_json::{Value, compact};
use portcullis_state::log::Stored;

/// The record as JSON, or the line for people.
pub(super) fn printed(record: &Stored, json: bool) -> String {
    match json {
        true => inert_json(&compact(&Value::from(record.fields().clone()))),
        false => line(record),
    }
}

fn line(record: &Stored) -> String {
    let time = record.time.strftime("%Y-%m-%d %H:%M:%S");
    let mut words = vec![format!("{:>6}", record.position.sequence), time.to_string(), record.kind.clone()];
    for key in ["outcome", "action", "server", "method", "tool", "class", "rule", "detail", "message"] {
        words.extend(record.text(key).filter(|text| !text.is_empty()).map(inert));
    }
    words.join("  ")
}
