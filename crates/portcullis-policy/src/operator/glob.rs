//! `glob`: over the whole string.

use portcullis_json::Value;

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};
use crate::glob::Glob;

pub(super) const GLOB: OperatorInfo = OperatorInfo {
    name: "glob",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the whole string matches: `*` is any run of characters, `?` exactly one",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(MatchesGlob(Glob::new(value.as_str().unwrap_or_default())?)))),
};

#[derive(Debug)]
struct MatchesGlob(Glob);

impl Operator for MatchesGlob {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        value.as_str().map_or(Tested::Inapplicable, |text| Tested::from_truth(self.0.matches(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn the_whole_string_or_nothing() {
        check("glob", "\"*.txt\"", &[("\"a/b.txt\"", Holds), ("\"a.txt.gz\"", Fails), ("5", Inapplicable)]);
    }
}
