//! A record as it is read back from a line, with its hash checked.
//!
//! Readers (verify, replay, index, tail, export) go through `Stored::read`; none trusts a line whose hash
//! does not hold.

use jiff::Timestamp;
use portcullis_json::{Limits, Object, Value, parse};

use super::chain::{Hash, Position, SealFault, check_seal, parse_hex};
use super::record::Charge;

/// Bytes that one line can have at most; a longer one is no record.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// One record.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its place in the chain.
    pub position: Position,
    /// The hash of the record before.
    pub previous: Hash,
    /// When it happened.
    pub time: Timestamp,
    /// `decision`, `outcome`, `event`, `refusals`, `segment`, `checkpoint`, `repair` or `retention`.
    pub kind: String,
    fields: Object,
}

/// Why a line is no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARecord {
    /// The content was changed, or the hash.
    #[error("the content does not have the hash that the record carries")]
    HashWrong,
    /// Not what the log writes.
    #[error("not a record: {0}")]
    Malformed(String),
}

impl Stored {
    /// Reads a line without its line break.
    pub fn read(line: &[u8]) -> Result<Stored, NotARecord> {
        let hash = check_seal(line).map_err(|fault| match fault {
            SealFault::Missing => NotARecord::Malformed("it does not end with a hash".to_owned()),
            SealFault::Wrong => NotARecord::HashWrong,
        })?;
        let limits = Limits { bytes_max: LINE_BYTES_MAX, depth_max: 8 };
        let value = parse(line, &limits).map_err(|fault| NotARecord::Malformed(fault.to_string()))?;
        let Value::Object(fields) = value else {
            return Err(NotARecord::Malformed("it is no object".to_owned()));
        };
        Stored::from_fields(fields, hash)
    }

    fn from_fields(fields: Object, hash: Hash) -> Result<Stored, NotARecord> {
        let lacks = |what: &str| NotARecord::Malformed(format!("`{what}` is missing or unreadable"));
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let sequence = whole(fields.get("seq")).ok_or_else(|| lacks("seq"))?;
        let previous = text("prev").and_then(|digits| parse_hex(digits.as_bytes()));
        let time = text("time").and_then(|time| time.parse().ok());
        let kind = text("kind").ok_or_else(|| lacks("kind"))?.to_owned();
        Ok(Stored {
            position: Position { sequence, hash },
            previous: previous.ok_or_else(|| lacks("prev"))?,
            time: time.ok_or_else(|| lacks("time"))?,
            kind,
            fields,
        })
    }

    /// All fields, in the order they are stored.
    pub fn fields(&self) -> &Object {
        &self.fields
    }

    /// A field that is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    /// A field that is a whole number.
    pub fn number(&self, key: &str) -> Option<u64> {
        whole(self.fields.get(key))
    }

    /// A field that is a hash.
    pub fn hash(&self, key: &str) -> Option<Hash> {
        parse_hex(self.text(key)?.as_bytes())
    }

    /// The charges under `charges` or `given_back`; none if one of them is unreadable.
    pub fn charges(&self, key: &str) -> Option<Vec<Charge>> {
        match self.fields.get(key) {
            None => Some(Vec::new()),
            Some(list) => list.as_array()?.iter().map(charge).collect(),
        }
    }
}

fn whole(value: Option<&Value>) -> Option<u64> {
    value?.as_number()?.spelling().parse().ok()
}

fn charge(value: &Value) -> Option<Charge> {
    Some(Charge {
        counter: value.get("counter")?.as_str()?.to_owned(),
        amount: value.get("amount")?.as_str()?.to_owned(),
        window_seconds: whole(value.get("window_s"))?,
    })
}
