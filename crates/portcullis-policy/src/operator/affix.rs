//! `starts_with`, `ends_with`: for strings, byte for byte.

use portcullis_json::Value;

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const STARTS_WITH: OperatorInfo = OperatorInfo {
    name: "starts_with",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the string starts with this one",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(StartsWith(text(value))))),
};

pub(super) const ENDS_WITH: OperatorInfo = OperatorInfo {
    name: "ends_with",
    operand: Operand::Text,
    speaks_of: "a string",
    meaning: "the string ends with this one",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(EndsWith(text(value))))),
};

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[derive(Debug)]
struct StartsWith(String);

#[derive(Debug)]
struct EndsWith(String);

impl Operator for StartsWith {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        value.as_str().map_or(Tested::Inapplicable, |text| Tested::from_truth(text.starts_with(&self.0)))
    }
}

impl Operator for EndsWith {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        value.as_str().map_or(Tested::Inapplicable, |text| Tested::from_truth(text.ends_with(&self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn the_ends_of_strings() {
        check(
            "starts_with",
            "\"ab\"",
            &[
                ("\"abc\"", Holds),
                ("\"ab\"", Holds),
                ("\"Abc\"", Fails),
                ("\"a\"", Fails),
                ("[\"ab\"]", Inapplicable),
            ],
        );
        check("ends_with", "\"bc\"", &[("\"abc\"", Holds), ("\"abcd\"", Fails), ("7", Inapplicable)]);
    }
}
