//! The index as JSON lines, for other programs and for another index.

use std::io::Write;

use portcullis_json::{Number, Object, Value, compact};

use super::search::{Entry, HITS_MAX, Search};
use super::{Index, IndexFault};
use crate::Level;

impl Index {
    /// Writes one line per tool that matches; returns how many.
    pub fn export(&self, search: &Search, out: &mut impl Write) -> Result<usize, IndexFault> {
        let mut written = 0;
        let mut page = Search { most: HITS_MAX, ..search.clone() };
        loop {
            let hits = self.search(&page)?;
            for hit in &hits {
                writeln!(out, "{}", compact(&line(hit)))?;
            }
            written += hits.len();
            match hits.last() {
                Some(last) if hits.len() == HITS_MAX => page.after = last.id,
                _ => return Ok(written),
            }
        }
    }
}

fn line(entry: &Entry) -> Value {
    let confidence = Number::parse(&format!("{:.2}", entry.confidence)).map_or(Value::Null, Value::Number);
    let names = entry.parameters.split_whitespace().map(|shape| match shape.rsplit_once(':') {
        Some((name, _)) => name,
        None => shape,
    });
    let parameters: Vec<Value> = names.map(Value::from).collect();
    let object = Object::new()
        .with("server", entry.server.as_str())
        .with("tool", entry.tool.as_str())
        .with("class", entry.class.name())
        .with("level", Level::of(entry.class).name())
        .with("confidence", confidence)
        .with("provenance", entry.provenance.name())
        .with("tokens", entry.tokens)
        .with("inputKeys", parameters)
        .with("evidence", entry.evidence.as_str())
        .with("fingerprint", entry.fingerprint.as_str())
        .with("first_seen", entry.first_seen)
        .with("last_changed", entry.last_changed);
    Value::Object(object)
}
