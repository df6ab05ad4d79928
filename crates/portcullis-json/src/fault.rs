//! Why bytes were refused, and where.

use std::fmt;

/// Bytes that are not JSON as this crate reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The byte at which it shows.
    pub offset: usize,
}

/// What can be wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// More bytes than the limit.
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// Not UTF-8.
    NotUtf8,
    /// A byte order mark stands in front.
    ByteOrderMark,
    /// There is nothing but white space.
    Empty,
    /// It stops in the middle.
    UnexpectedEnd,
    /// Something else should stand here.
    Unexpected {
        /// What stands here.
        found: char,
        /// What could.
        wanted: &'static str,
    },
    /// A control character inside a string.
    ControlCharacter,
    /// A backslash followed by something that is no escape.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A number that JSON does not spell so.
    BadNumber,
    /// A number with more digits, or a larger exponent, than the limit.
    NumberTooLarge,
    /// Arrays and objects nested deeper than the limit.
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// A key that its object already has.
    DuplicateKey {
        /// The key, unescaped.
        key: String,
    },
    /// Something follows the value.
    TrailingBytes,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FaultKind::*;
        match self {
            TooLarge { bytes_max } => write!(f, "larger than {bytes_max} bytes"),
            NotUtf8 => f.write_str("not valid UTF-8"),
            ByteOrderMark => f.write_str("starts with a byte order mark; save it as UTF-8 without one"),
            Empty => f.write_str("there is no JSON value here, the input is empty"),
            UnexpectedEnd => f.write_str("ends in the middle of a value"),
            Unexpected { found, wanted } => {
                write!(f, "unexpected `{}`, wanted {wanted}", found.escape_debug())
            }
            ControlCharacter => f.write_str("a control character in a string must be escaped"),
            BadEscape => f.write_str("a backslash must be followed by one of \" \\ / b f n r t u"),
            LoneSurrogate => f.write_str("half of a surrogate pair"),
            BadNumber => f.write_str("not a JSON number"),
            NumberTooLarge => write!(
                f,
                "a number may have at most {} digits and an exponent of at most {}",
                crate::NUMBER_DIGITS_MAX,
                crate::EXPONENT_MAX
            ),
            TooDeep { depth_max } => write!(f, "nested deeper than {depth_max}"),
            DuplicateKey { key } => write!(f, "duplicate key `{}`", key.escape_debug()),
            TrailingBytes => f.write_str("something follows the end of the value"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.kind, self.offset)
    }
}

impl std::error::Error for Fault {}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl Place {
    /// Where the byte at `offset` stands in `source`.
    pub fn of(source: &[u8], offset: usize) -> Place {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let current = before.get(line_start..).unwrap_or_default();
        Place { line, column: String::from_utf8_lossy(current).chars().count() + 1 }
    }
}
