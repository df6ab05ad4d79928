//! A request's id: a string or an integer, kept exactly as it was spelled.

use std::fmt;
use std::hash::{Hash, Hasher};

use portcullis_json::{Number, Value};

/// An id longer than this is refused; we keep ids while calls are open.
pub const ID_BYTES_MAX: usize = 256;

/// An id. `1` and `"1"` differ; so do integers that are spelled differently.
///
/// Progress tokens have the same form and are read with the same type.
#[derive(Clone)]
pub enum Id {
    /// A whole number without fraction or exponent.
    Integer(Number),
    /// A string.
    String(String),
}

impl Id {
    /// The id in this value, if it is one.
    pub fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::Number(number) if is_plain_integer(number.spelling()) => Some(Id::Integer(number.clone())),
            Value::String(text) if text.len() <= ID_BYTES_MAX => Some(Id::String(text.clone())),
            _ => None,
        }
    }

    /// As a value to be written.
    pub fn to_value(&self) -> Value {
        match self {
            Id::Integer(number) => Value::Number(number.clone()),
            Id::String(text) => Value::String(text.clone()),
        }
    }

    fn spelling(&self) -> (bool, &str) {
        match self {
            Id::Integer(number) => (true, number.spelling()),
            Id::String(text) => (false, text),
        }
    }
}

fn is_plain_integer(spelling: &str) -> bool {
    let digits = spelling.strip_prefix('-').unwrap_or(spelling);
    spelling.len() <= ID_BYTES_MAX && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl From<i64> for Id {
    fn from(number: i64) -> Id {
        Id::Integer(Number::from(number))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        Id::String(text.to_owned())
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Id) -> bool {
        self.spelling() == other.spelling()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spelling().hash(state);
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Integer(number) => f.write_str(number.spelling()),
            Id::String(text) => write!(f, "{text:?}"),
        }
    }
}
