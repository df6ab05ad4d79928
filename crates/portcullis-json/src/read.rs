//! The reader: bytes to a value, or one fault with its place.
//!
//! Recursive descent over text that was checked to be UTF-8 once. Depth is bounded, so recursion is.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use crate::number::{EXPONENT_MAX, NUMBER_DIGITS_MAX};
use crate::{Fault, FaultKind, Key, Member, Number, Object, Value};

/// What the reader takes at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of input.
    pub bytes_max: usize,
    /// Arrays and objects inside one another.
    pub depth_max: usize,
}

impl Limits {
    /// For policies and other documents that people write: 1 MiB, 64 deep.
    pub const fn document() -> Limits {
        Limits { bytes_max: 1 << 20, depth_max: 64 }
    }

    /// For messages from the network: 4 MiB, 128 deep.
    pub const fn message() -> Limits {
        Limits { bytes_max: 4 << 20, depth_max: 128 }
    }
}

/// Bytes that end a plain run inside a string: the quote, the backslash, control characters.
#[expect(clippy::indexing_slicing, reason = "worked out by the compiler, which would refuse it")]
const ENDS_PLAIN: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        ends[byte] = true;
        byte += 1;
    }
    ends[b'"' as usize] = true;
    ends[b'\\' as usize] = true;
    ends
};

/// Reads exactly one JSON value, with white space around it and nothing else.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Value, Fault> {
    if bytes.len() > limits.bytes_max {
        let kind = FaultKind::TooLarge { bytes_max: limits.bytes_max };
        return Err(Fault { kind, offset: limits.bytes_max });
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Fault { kind: FaultKind::NotUtf8, offset: error.valid_up_to() })?;
    if text.starts_with('\u{feff}') {
        return Err(Fault { kind: FaultKind::ByteOrderMark, offset: 0 });
    }
    let mut reader = Reader { text, bytes, at: 0, depth: 0, depth_max: limits.depth_max };
    reader.skip_white_space();
    if reader.peek().is_none() {
        return Err(reader.fault(FaultKind::Empty));
    }
    let value = reader.value()?;
    reader.skip_white_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.fault(FaultKind::TrailingBytes)),
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    depth_max: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, offset: self.at }
    }

    fn unexpected(&self, wanted: &'static str) -> Fault {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => self.fault(FaultKind::Unexpected { found, wanted }),
            None => self.fault(FaultKind::UnexpectedEnd),
        }
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, Fault> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.unexpected("a value"))
    }

    /// Steps over the opening bracket and reads what it opens, one level deeper.
    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth == self.depth_max {
            return Err(self.fault(FaultKind::TooDeep { depth_max: self.depth_max }));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_white_space();
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, Fault> {
        let mut elements = Vec::new();
        if self.ends_with(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            if self.list_ends(b']', "`,` or `]`")? {
                return Ok(Value::Array(elements));
            }
        }
    }

    fn object(&mut self) -> Result<Value, Fault> {
        if self.ends_with(b'}') {
            return Ok(Value::Object(Object::new()));
        }
        let mut keys = Keys::default();
        let mut members: Vec<Member> = Vec::with_capacity(8);
        loop {
            let key = self.key(&mut keys, &members)?;
            members.push(Member { key, value: self.value()? });
            if self.list_ends(b'}', "`,` or `}`")? {
                return Ok(Value::Object(Object::from_distinct(members)));
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self, keys: &mut Keys, members: &[Member]) -> Result<Key, Fault> {
        let offset = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let key: Key = self.string()?;
        keys.note(&key, offset, members)?;
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        self.skip_white_space();
        Ok(key)
    }

    fn ends_with(&mut self, bracket: u8) -> bool {
        let ends = self.peek() == Some(bracket);
        self.at += usize::from(ends);
        ends
    }

    /// After an element: true at the closing bracket, false after a comma.
    fn list_ends(&mut self, bracket: u8, wanted: &'static str) -> Result<bool, Fault> {
        self.skip_white_space();
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.at += 1;
                Ok(true)
            }
            Some(b',') => {
                self.at += 1;
                self.skip_white_space();
                Ok(false)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// A string, as a value or as a key.
    fn string<T: From<&'a str> + From<String>>(&mut self) -> Result<T, Fault> {
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        let plain = self.slice(start, self.at);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(plain.into());
        }
        self.escaped_string(plain.to_owned()).map(T::from)
    }

    /// To the next byte that ends a string or means something in it.
    fn skip_plain(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| ENDS_PLAIN.get(usize::from(*byte)).copied().unwrap_or(true);
        let plain = rest.iter().position(ends);
        self.at += plain.unwrap_or(rest.len());
    }

    fn escaped_string(&mut self, mut text: String) -> Result<String, Fault> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.fault(FaultKind::ControlCharacter)),
                None => return Err(self.fault(FaultKind::UnexpectedEnd)),
            }
            let start = self.at;
            self.skip_plain();
            text.push_str(self.slice(start, self.at));
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let character = match self.bytes.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault(FaultKind::BadEscape)),
        };
        self.at += 2;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let first = self.code_unit()?;
        let code = match first {
            0xd800..=0xdbff => match self.code_unit() {
                Ok(second @ 0xdc00..=0xdfff) => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => {
                    return Err(Fault { kind: FaultKind::LoneSurrogate, offset: start });
                }
            },
            other => other,
        };
        char::from_u32(code).ok_or(Fault { kind: FaultKind::LoneSurrogate, offset: start })
    }

    /// Four hexadecimal digits after `\u`.
    fn code_unit(&mut self) -> Result<u32, Fault> {
        let bad = self.fault(FaultKind::BadEscape);
        let digits = match self.bytes.get(self.at..self.at + 6) {
            Some([b'\\', b'u', digits @ ..]) => digits,
            _ => return Err(bad),
        };
        let mut unit = 0;
        for digit in digits {
            unit = unit * 16 + char::from(*digit).to_digit(16).ok_or_else(|| bad.clone())?;
        }
        self.at += 6;
        Ok(unit)
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let bad = self.fault(FaultKind::BadNumber);
        self.at += usize::from(self.peek() == Some(b'-'));
        let whole_start = self.at;
        let mut digits = self.digits();
        let leading_zero = self.bytes.get(whole_start) == Some(&b'0') && digits > 1;
        if digits == 0 || leading_zero {
            return Err(bad);
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = self.digits();
            if fraction == 0 {
                return Err(bad);
            }
            digits += fraction;
        }
        let exponent_fits = self.exponent()?.unwrap_or(0) <= EXPONENT_MAX;
        if digits > NUMBER_DIGITS_MAX || !exponent_fits {
            return Err(Fault { kind: FaultKind::NumberTooLarge, offset: start });
        }
        Ok(Value::Number(Number::from_checked(self.slice(start, self.at))))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    /// The size of the exponent, without its sign; `u32::MAX` when it does not even fit.
    fn exponent(&mut self) -> Result<Option<u32>, Fault> {
        if !matches!(self.peek(), Some(b'e' | b'E')) {
            return Ok(None);
        }
        self.at += 1;
        self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
        let start = self.at;
        if self.digits() == 0 {
            return Err(self.fault(FaultKind::BadNumber));
        }
        Ok(Some(self.slice(start, self.at).parse().unwrap_or(u32::MAX)))
    }
}

/// Finds a key that its object has twice, without comparing each with each.
///
/// A small mask says of most keys at once that they are new. Objects with many keys get a set of hashes,
/// so that no choice of keys makes reading slow. Either only ever says "perhaps": then all are compared.
#[derive(Default)]
struct Keys {
    mask: [u64; 4],
    hashes: Option<HashSet<u64>>,
    hasher: Option<RandomState>,
}

/// From so many members on, the mask is too full to help.
const MANY_MEMBERS: usize = 48;

impl Keys {
    fn note(&mut self, key: &str, offset: usize, members: &[Member]) -> Result<(), Fault> {
        let perhaps =
            if members.len() < MANY_MEMBERS { self.mask_has(key) } else { self.hashes_have(key, members) };
        if perhaps && members.iter().any(|member| member.key == key) {
            return Err(Fault { kind: FaultKind::DuplicateKey { key: key.to_owned() }, offset });
        }
        Ok(())
    }

    /// Whether a key like this was noted before; notes it.
    fn mask_has(&mut self, key: &str) -> bool {
        let bits =
            key.bytes().rev().take(8).fold(key.len(), |bits, byte| bits.wrapping_mul(31) ^ usize::from(byte));
        let (word, bit) = ((bits >> 6) & 3, 1 << (bits & 63));
        let Some(word) = self.mask.get_mut(word) else { return true };
        let had = *word & bit != 0;
        *word |= bit;
        had
    }

    fn hashes_have(&mut self, key: &str, members: &[Member]) -> bool {
        let hasher = self.hasher.get_or_insert_with(RandomState::new);
        let hashes = self.hashes.get_or_insert_with(|| {
            members.iter().map(|member| hasher.hash_one(member.key.as_str())).collect()
        });
        !hashes.insert(hasher.hash_one(key))
    }
}
