//! `glob`: over the whole string.
//!
//! Values can be long, so the glob becomes a regular expression, whose cost does not multiply with the
//! length of the pattern.

use portcullis_json::Value;
use regex::Regex;

use super::regex::bounded;
use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const GLOB: OperatorInfo = OperatorInfo {
    name: "glob",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the whole string matches: `*` is any run of characters, `?` exactly one",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(MatchesGlob(compile(value.as_str().unwrap_or_default())?)))),
};

#[derive(Debug)]
struct MatchesGlob(Regex);

fn compile(glob: &str) -> Result<Regex, String> {
    let parts = glob.chars().map(|character| match character {
        '*' => ".*".to_owned(),
        '?' => ".".to_owned(),
        other => regex::escape(other.encode_utf8(&mut [0; 4])),
    });
    bounded(&format!("(?s)\\A{}\\z", parts.collect::<String>()))
}

impl Operator for MatchesGlob {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        value.as_str().map_or(Tested::Inapplicable, |text| Tested::from_truth(self.0.is_match(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn the_whole_string_or_nothing() {
        check("glob", "\"*.txt\"", &[("\"a/b.txt\"", Holds), ("\"a.txt.gz\"", Fails), ("5", Inapplicable)]);
        check("glob", "\"a?\"", &[("\"aé\"", Holds), ("\"a\\n\"", Holds), ("\"a\"", Fails)]);
        check("glob", "\"[a].+$\"", &[("\"[a].+$\"", Holds), ("\"a.b\"", Fails)]);
        check("glob", "\"\"", &[("\"\"", Holds), ("\"a\"", Fails)]);
    }

    #[test]
    fn a_long_pattern_on_a_long_text_stays_quick() {
        let pattern = format!("\"*{}b\"", "a".repeat(500));
        let text = format!("\"{}\"", "a".repeat(200_000));
        check("glob", &pattern, &[(text.as_str(), Fails)]);
    }
}
