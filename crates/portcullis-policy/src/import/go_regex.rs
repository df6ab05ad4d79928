//! Regular expressions from Go's syntax to Rust's, where the same text can mean different things.
//!
//! In Go `\d`, `\s`, `\w` and `\b` know ASCII alone, a `[` inside a class is a character, `&&` and `--` are
//! no operators, `\<` is a `<`, and a `{` that starts no repetition is itself. What is not known here is
//! an error, never a guess.

use std::iter::Peekable;
use std::str::Chars;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0C\r ";

/// The same expression for the `regex` operator.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translator = Translator { rest: pattern.chars().peekable(), out: String::new() };
    translator.all()?;
    Ok(translator.out)
}

struct Translator<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
}

impl Translator<'_> {
    fn all(&mut self) -> Result<(), String> {
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                '{' if self.starts_repetition() => self.repetition(),
                '{' | '}' => self.out.extend(['\\', character]),
                ']' => self.out.push_str(r"\]"),
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    /// Whether what follows a `{` is a count: `3}`, `3,}` or `3,5}`.
    fn starts_repetition(&self) -> bool {
        let inside: String = self.rest.clone().take_while(|next| *next != '}').collect();
        let closes = self.rest.clone().any(|next| next == '}');
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (from, to) = inside.split_once(',').unwrap_or((&inside, ""));
        closes && digits(from) && (to.is_empty() || digits(to))
    }

    fn repetition(&mut self) {
        self.out.push('{');
        for character in self.rest.by_ref() {
            self.out.push(character);
            if character == '}' {
                return;
            }
        }
    }

    /// After `(`: flags that both know, and groups without their names.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        let named = self.rest.clone().next() == Some('P') || self.rest.clone().next() == Some('<');
        if named {
            return self.named_group();
        }
        self.out.push('?');
        loop {
            match self.rest.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U' | '-')) => self.out.push(flag),
                Some(end @ (':' | ')')) => {
                    self.out.push(end);
                    return Ok(());
                }
                _ => {
                    return Err("the expression has a kind of group that has no counterpart".to_owned());
                }
            }
        }
    }

    fn named_group(&mut self) -> Result<(), String> {
        self.rest.next_if_eq(&'P');
        let name = |next: &char| next.is_ascii_alphanumeric() || *next == '_';
        if self.rest.next_if_eq(&'<').is_some() {
            while self.rest.next_if(name).is_some() {}
            if self.rest.next_if_eq(&'>').is_some() {
                return Ok(());
            }
        }
        Err("the expression has a kind of group that has no counterpart".to_owned())
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(escaped) = self.rest.next() else {
            return Err("the expression ends in a backslash".to_owned());
        };
        match escaped {
            'd' | 's' | 'w' | 'D' | 'S' | 'W' => self.out.push_str(&perl_class(escaped)),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'A' | 'z' => self.out.extend(['\\', escaped]),
            'p' | 'P' => self.unicode_class(escaped),
            'Q' => self.quoted(),
            other => {
                let literal = self.escaped_character(other)?;
                self.out.push_str(&literal);
            }
        }
        Ok(())
    }

    /// `\Q…\E`: everything is itself.
    fn quoted(&mut self) {
        while let Some(character) = self.rest.next() {
            if character == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.out.push_str(&literal(character));
        }
    }

    /// `\pL` or `\p{Greek}`.
    fn unicode_class(&mut self, letter: char) {
        self.out.extend(['\\', letter]);
        let braced = self.rest.peek() == Some(&'{');
        for character in self.rest.by_ref() {
            self.out.push(character);
            if !braced || character == '}' {
                return;
            }
        }
    }

    /// An escape that stands for one character, inside a class or out.
    fn escaped_character(&mut self, escaped: char) -> Result<String, String> {
        match escaped {
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => Ok(format!("\\{escaped}")),
            'x' => Ok(self.hexadecimal()),
            other if other.is_ascii_punctuation() => Ok(literal(other)),
            other => Err(format!("`\\{other}` in the expression has no counterpart")),
        }
    }

    /// `\x7F` or `\x{10FFFF}`; whether the digits are right is for the compiler to say.
    fn hexadecimal(&mut self) -> String {
        let mut text = String::from(r"\x");
        if self.rest.peek() == Some(&'{') {
            for character in self.rest.by_ref() {
                text.push(character);
                if character == '}' {
                    break;
                }
            }
        } else {
            text.extend(self.rest.by_ref().take(2));
        }
        text
    }

    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            match self.rest.next() {
                Some(']') if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                Some(item) => self.class_item(item)?,
                None => return Err("the expression has a class that does not end".to_owned()),
            }
            first = false;
        }
    }

    fn class_item(&mut self, item: char) -> Result<(), String> {
        if item == '[' && self.rest.peek() == Some(&':') {
            return self.posix_class();
        }
        if item == '\\' {
            match self.rest.peek().copied() {
                Some(letter @ ('d' | 's' | 'w' | 'D' | 'S' | 'W')) => {
                    self.rest.next();
                    self.out.push_str(&perl_class(letter));
                    return Ok(());
                }
                Some(letter @ ('p' | 'P')) => {
                    self.rest.next();
                    self.unicode_class(letter);
                    return Ok(());
                }
                _ => {}
            }
        }
        let low = self.class_character(item)?;
        self.out.push_str(&low);
        let mut ahead = self.rest.clone();
        if ahead.next() == Some('-')
            && let Some(high) = ahead.next().filter(|high| *high != ']')
        {
            self.rest = ahead;
            let high = self.class_character(high)?;
            self.out.push('-');
            self.out.push_str(&high);
        }
        Ok(())
    }

    fn class_character(&mut self, character: char) -> Result<String, String> {
        match (character, self.rest.peek().copied()) {
            ('\\', Some(escaped)) => {
                self.rest.next();
                self.escaped_character(escaped)
            }
            (other, _) => Ok(literal(other)),
        }
    }

    /// `[:alpha:]`, which means the same to both.
    fn posix_class(&mut self) -> Result<(), String> {
        let mut name: String = String::from("[");
        for character in self.rest.by_ref() {
            name.push(character);
            if name.ends_with(":]") && name.len() > "[:]".len() {
                self.out.push_str(&name);
                return Ok(());
            }
            if !(character.is_ascii_lowercase() || ":^".contains(character)) {
                break;
            }
        }
        Err("the expression has a class like `[:x:]` that is not known".to_owned())
    }
}

fn perl_class(letter: char) -> String {
    let set = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        's' => SPACE,
        _ => WORD,
    };
    let not = if letter.is_ascii_uppercase() { "^" } else { "" };
    format!("[{not}{set}]")
}

/// The character itself, wherever it stands. `\<` and `\>` would be something else.
fn literal(character: char) -> String {
    if character.is_ascii_punctuation() && !matches!(character, '<' | '>') {
        format!("\\{character}")
    } else {
        character.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(go: &str, expected: &str) {
        let ours = translate(go).unwrap();
        assert_eq!(ours, expected, "{go}");
        regex::Regex::new(&ours).unwrap();
    }

    #[test]
    fn what_means_the_same_stays() {
        for same in [
            "^feat/",
            "(?i)drop|alter",
            "^(a|b)+?$",
            "a{3}b{2,}c{2,5}",
            r"\.\*\[",
            r"\A.\z",
            r"\x41\x{1F600}\n",
            r"\pL\p{Greek}",
            "[a-z0-9]",
            "[^a]",
            "[[:alpha:]x]",
            "(?s:.)",
            "日本",
        ] {
            check(same, same);
        }
    }

    #[test]
    fn ascii_classes_stay_ascii() {
        check(r"^\d+$", "^[0-9]+$");
        check(r"[\w.-]", r"[[0-9A-Za-z_]\.\-]");
        check(r"\S\W", r"[^\t\n\x0C\r ][^0-9A-Za-z_]");
        check(r"\bx", r"(?-u:\b)x");
        let ours = regex::Regex::new(&translate(r"^[\d]+\b$").unwrap()).unwrap();
        assert!(ours.is_match("12"));
        assert!(!ours.is_match("\u{0661}\u{0662}"));
    }

    #[test]
    fn characters_that_rust_would_take_for_operators_are_escaped() {
        check("[[a]b]", r"[\[a]b\]");
        check("[a&&b~~c]", r"[a\&\&b\~\~c]");
        check("[]a]", r"[\]a]");
        check("[a-]", r"[a\-]");
        check("[+--]", r"[\+-\-]");
        check(r"\<b\>", "<b>");
        check("x{,5}", r"x\{,5\}");
        check("{a}", r"\{a\}");
        check(r"\\{3}\{3}", r"\\{3}\{3\}");
        check(r"\Qa.b\E+", r"a\.b+");
        check("(?P<year>x)(?<m>y)", "(x)(y)");
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for unknown in [r"\1", r"\07", r"\y", r"\u{41}", "a\\", "[a", "(?=a)", "(?x) a", "[[:nope", r"[\Q]"] {
            assert!(translate(unknown).is_err(), "{unknown}");
        }
    }
}
