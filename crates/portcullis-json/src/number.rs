//! A number as it was spelled, compared by its exact value.
//!
//! The spelling is what leaves again; the value is what is judged.

use std::cmp::Ordering;

use compact_str::CompactString;

use crate::Decimal;

/// More digits than this in one number are refused by the reader.
pub const NUMBER_DIGITS_MAX: usize = 400;
/// An exponent further from zero than this is refused by the reader.
pub const EXPONENT_MAX: u32 = 400;

/// A JSON number. Equality and order are by exact value: `1`, `1.0` and `1e0` are equal.
#[derive(Clone)]
pub struct Number {
    spelling: CompactString,
}

impl Number {
    /// The spelling must be a JSON number inside the bounds: the reader has looked.
    pub(crate) fn from_checked(spelling: &str) -> Number {
        Number { spelling: spelling.into() }
    }

    /// The number with this spelling, if it is one that the reader would take.
    pub fn parse(spelling: &str) -> Option<Number> {
        match crate::parse(spelling.as_bytes(), &crate::Limits::document()) {
            Ok(crate::Value::Number(number)) if *number.spelling == *spelling => Some(number),
            _ => None,
        }
    }

    /// As it was written.
    pub fn spelling(&self) -> &str {
        &self.spelling
    }

    /// The exact value.
    pub fn decimal(&self) -> Decimal {
        Decimal::from_spelling(&self.spelling)
    }

    /// The nearest double, which is what many servers will see. Beyond the doubles: infinity.
    pub fn nearest_double(&self) -> f64 {
        // Every spelling that the reader takes is one that `f64` takes; NaN equals nothing.
        self.spelling.parse().unwrap_or(f64::NAN)
    }

    /// Equal by exact value, or no longer distinguishable as doubles.
    pub fn equals_as_double(&self, other: &Number) -> bool {
        self == other || self.nearest_double() == other.nearest_double()
    }

    /// Whether the value has no fraction (`1.0` has none).
    pub fn is_integer(&self) -> bool {
        self.decimal().is_integer()
    }

    /// The value, if it is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.decimal().as_i64()
    }
}

impl std::fmt::Debug for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.spelling)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number { spelling: value.to_string().into() }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.spelling == other.spelling || self.decimal() == other.decimal()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        self.decimal().cmp(&other.decimal())
    }
}
