//! `regex`, `not_regex`: the Rust `regex` syntax, unanchored, compiled once, linear in the text.

use portcullis_json::Value;
use regex::{Regex, RegexBuilder};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

/// A longer pattern is refused.
const PATTERN_BYTES_MAX: usize = 4096;
/// A pattern that compiles to more than this is refused.
const PROGRAM_BYTES_MAX: usize = 256 << 10;
/// What the matcher may cache while it runs.
const CACHE_BYTES_MAX: usize = 2 << 20;
/// Groups and repetitions inside one another.
const NEST_MAX: u32 = 50;

pub(super) const REGEX: OperatorInfo = OperatorInfo {
    name: "regex",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the regular expression (Rust `regex` syntax, unanchored) matches somewhere",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(Matches { regex: compile(value)? }))),
};

pub(super) const NOT_REGEX: OperatorInfo = OperatorInfo {
    name: "not_regex",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the regular expression matches nowhere",
    negative: true,
    compile: Compile::Test(|value| Ok(Box::new(MatchesNowhere(Matches { regex: compile(value)? })))),
};

#[derive(Debug)]
struct Matches {
    regex: Regex,
}

#[derive(Debug)]
struct MatchesNowhere(Matches);

fn compile(value: &Value) -> Result<Regex, String> {
    bounded(value.as_str().unwrap_or_default())
}

/// A regular expression within the bounds on its length, its size and its nesting.
pub(super) fn bounded(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("a regular expression may have at most {PATTERN_BYTES_MAX} bytes"));
    }
    RegexBuilder::new(pattern)
        .size_limit(PROGRAM_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        .nest_limit(NEST_MAX)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                "the regular expression is too large when compiled; make its repetitions smaller".to_owned()
            }
            other => format!("the regular expression does not compile: {}", last_line(&other.to_string())),
        })
}

/// The crate draws a picture over several lines; the last one says what is wrong.
fn last_line(text: &str) -> &str {
    let line = text.lines().last().unwrap_or(text);
    line.strip_prefix("error: ").unwrap_or(line)
}

impl Operator for Matches {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        match value.as_str() {
            Some(text) => Tested::from_truth(self.regex.is_match(text)),
            None => Tested::Inapplicable,
        }
    }
}

impl Operator for MatchesNowhere {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        self.0.test(value, stance).negated()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check, find};

    #[test]
    fn unanchored_and_only_for_strings() {
        check(
            "regex",
            "\"b+\"",
            &[("\"abbc\"", Holds), ("\"ac\"", Fails), ("5", Inapplicable), ("null", Inapplicable)],
        );
        check("regex", "\"^b+$\"", &[("\"abbc\"", Fails), ("\"bb\"", Holds)]);
        check("not_regex", "\"b+\"", &[("\"abbc\"", Fails), ("\"ac\"", Holds), ("[\"ac\"]", Inapplicable)]);
    }

    #[test]
    fn what_would_cost_too_much_does_not_load() {
        for pattern in ["(", "(?=x)", "((((a{100}){100}){100}){100})", &"(".repeat(60), &"a".repeat(5000)] {
            let operand = portcullis_json::Value::from(pattern);
            assert!(find("regex").unwrap().compile(&operand).is_err(), "{pattern}");
        }
    }
}
