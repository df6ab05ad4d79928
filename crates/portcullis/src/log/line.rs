//! A record of the log on one line, for people.

use portcullis_json::{Value, compact};
use portcullis_state::log::Stored;

/// The record as JSON, or the line for people.
pub(super) fn printed(record: &Stored, json: bool) -> String {
    match json {
        true => compact(&Value::from(record.fields().clone())),
        false => line(record),
    }
}

fn line(record: &Stored) -> String {
    let time = record.time.strftime("%Y-%m-%d %H:%M:%S");
    let mut words = vec![format!("{:>6}", record.position.sequence), time.to_string(), record.kind.clone()];
    for key in ["outcome", "action", "server", "method", "tool", "class", "rule", "detail", "message"] {
        words.extend(record.text(key).filter(|text| !text.is_empty()).map(str::to_owned));
    }
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    words.join("  ").chars().map(plain).collect()
}
