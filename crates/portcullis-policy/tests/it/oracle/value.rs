//! A JSON value that forgets nothing: numbers keep their spelling, objects their key order. With the
//! two equalities of the language and a plain reader. The printer is in `print`.

use std::cmp::Ordering;

use super::number::{Decimal, nearest_double};

#[derive(Clone, Debug)]
pub(crate) enum Val {
    Null,
    Bool(bool),
    Num(String),
    Str(String),
    Arr(Vec<Val>),
    Obj(Vec<(String, Val)>),
}

impl Val {
    pub(crate) fn str(text: &str) -> Self {
        Self::Str(text.to_owned())
    }

    pub(crate) fn num(spelling: &str) -> Self {
        Self::Num(spelling.to_owned())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Obj(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
}

/// How numbers are compared inside an equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sameness {
    /// By numeric value, exactly.
    Exact,
    /// Also when a server that reads doubles could not tell them apart.
    Doubles,
}

pub(crate) fn same(a: &Val, b: &Val, sameness: Sameness) -> bool {
    match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(x), Val::Bool(y)) => x == y,
        (Val::Num(x), Val::Num(y)) => same_number(x, y, sameness),
        (Val::Str(x), Val::Str(y)) => x == y,
        (Val::Arr(x), Val::Arr(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(v, w)| same(v, w, sameness))
        }
        (Val::Obj(x), Val::Obj(_)) => {
            keys(a) == keys(b)
                && x.iter().all(|(key, v)| {
                    let other = b.get(key);
                    other.is_some_and(|w| same(v, w, sameness))
                })
        }
        _ => false,
    }
}

fn same_number(x: &str, y: &str, sameness: Sameness) -> bool {
    if Decimal::read(x).compare(&Decimal::read(y)) == Ordering::Equal {
        return true;
    }
    sameness == Sameness::Doubles && nearest_double(x) == nearest_double(y)
}

fn keys(value: &Val) -> Vec<&str> {
    let Val::Obj(members) = value else {
        return Vec::new();
    };
    let mut keys: Vec<&str> = members.iter().map(|(k, _)| k.as_str()).collect();
    keys.sort_unstable();
    keys
}

/// Reads JSON text that is known to be valid.
pub(crate) fn read(text: &str) -> Val {
    let mut reader = Reader { rest: text.chars().collect(), at: 0 };
    let value = reader.value();
    reader.space();
    assert_eq!(reader.at, reader.rest.len(), "text after the value: {text}");
    value
}

struct Reader {
    rest: Vec<char>,
    at: usize,
}

impl Reader {
    fn value(&mut self) -> Val {
        self.space();
        match self.rest[self.at] {
            '{' => self.object(),
            '[' => self.array(),
            '"' => Val::Str(self.string()),
            't' => self.word("true", Val::Bool(true)),
            'f' => self.word("false", Val::Bool(false)),
            'n' => self.word("null", Val::Null),
            _ => self.number(),
        }
    }

    fn space(&mut self) {
        while self.at < self.rest.len() && " \t\r\n".contains(self.rest[self.at]) {
            self.at += 1;
        }
    }

    /// Steps over the character if it comes next.
    fn takes(&mut self, wanted: char) -> bool {
        self.space();
        let found = self.rest[self.at] == wanted;
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Val) -> Val {
        for wanted in word.chars() {
            assert_eq!(self.rest[self.at], wanted);
            self.at += 1;
        }
        value
    }

    fn number(&mut self) -> Val {
        let start = self.at;
        while self.at < self.rest.len() && "+-.eE0123456789".contains(self.rest[self.at]) {
            self.at += 1;
        }
        Val::Num(self.rest[start..self.at].iter().collect())
    }

    fn object(&mut self) -> Val {
        let mut members = Vec::new();
        assert!(self.takes('{'));
        if self.takes('}') {
            return Val::Obj(members);
        }
        loop {
            self.space();
            let key = self.string();
            assert!(self.takes(':'));
            members.push((key, self.value()));
            if self.takes('}') {
                return Val::Obj(members);
            }
            assert!(self.takes(','));
        }
    }

    fn array(&mut self) -> Val {
        let mut elements = Vec::new();
        assert!(self.takes('['));
        if self.takes(']') {
            return Val::Arr(elements);
        }
        loop {
            elements.push(self.value());
            if self.takes(']') {
                return Val::Arr(elements);
            }
            assert!(self.takes(','));
        }
    }

    fn string(&mut self) -> String {
        let mut text = String::new();
        assert!(self.takes('"'));
        loop {
            let next = self.rest[self.at];
            self.at += 1;
            match next {
                '"' => return text,
                '\\' => text.push(self.escape()),
                _ => text.push(next),
            }
        }
    }

    fn escape(&mut self) -> char {
        let letter = self.rest[self.at];
        self.at += 1;
        match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.code_unit(),
            other => other,
        }
    }

    fn code_unit(&mut self) -> char {
        let first = self.hex();
        if let Some(found) = char::from_u32(first) {
            return found;
        }
        self.at += 2;
        let second = self.hex();
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).unwrap()
    }

    fn hex(&mut self) -> u32 {
        let digits: String = self.rest[self.at..self.at + 4].iter().collect();
        self.at += 4;
        u32::from_str_radix(&digits, 16).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(a: &str, b: &str) -> bool {
        same(&read(a), &read(b), Sameness::Exact)
    }

    #[test]
    fn equality_is_by_value() {
        assert!(exact(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#));
        assert!(!exact("[1,2]", "[2,1]"));
        assert!(!exact("1", "\"1\""));
        assert!(!exact("false", "0"));
        assert!(!exact(r#"{"a":1}"#, r#"{"a":1,"b":1}"#));
        assert!(!exact("\"\u{e9}\"", "\"e\u{301}\""));
        assert!(exact(r#""\ud83d\ude00\u00e9""#, "\"\u{1f600}\u{e9}\""));
    }

    #[test]
    fn doubles_are_looked_at_deep_inside() {
        let a = read(r#"{"x":[9007199254740993]}"#);
        let b = read(r#"{"x":[9007199254740992]}"#);
        assert!(!same(&a, &b, Sameness::Exact));
        assert!(same(&a, &b, Sameness::Doubles));
        let (huge, huger) = (read("1e399"), read("1e400"));
        assert!(same(&huge, &huger, Sameness::Doubles));
        assert!(!same(&huge, &read("-1e400"), Sameness::Doubles));
    }
}
