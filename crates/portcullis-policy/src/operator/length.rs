//! `length_lte`, `length_gte`: characters of a string, elements of an array, keys of an object.

use portcullis_json::{Decimal, Value};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const LENGTH_LTE: OperatorInfo = OperatorInfo {
    name: "length_lte",
    operand: Operand::Integer,
    speaks_of: "a string, an array or an object",
    meaning: "at most so many characters (Unicode scalar values), elements or keys",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(AtMost(bound(value)?)))),
};

pub(super) const LENGTH_GTE: OperatorInfo = OperatorInfo {
    name: "length_gte",
    operand: Operand::Integer,
    speaks_of: "a string, an array or an object",
    meaning: "at least so many characters (Unicode scalar values), elements or keys",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(AtLeast(bound(value)?)))),
};

#[derive(Debug)]
struct AtMost(Decimal);

#[derive(Debug)]
struct AtLeast(Decimal);

fn bound(value: &Value) -> Result<Decimal, String> {
    value
        .as_number()
        .map(portcullis_json::Number::decimal)
        .ok_or_else(|| "the length is no number".to_owned())
}

fn length(value: &Value) -> Option<Decimal> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(elements) => elements.len(),
        Value::Object(object) => object.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    i64::try_from(length).ok().map(Decimal::from)
}

impl Operator for AtMost {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        length(value).map_or(Tested::Inapplicable, |length| Tested::from_truth(length <= self.0))
    }
}

impl Operator for AtLeast {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        length(value).map_or(Tested::Inapplicable, |length| Tested::from_truth(length >= self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn characters_elements_keys() {
        check(
            "length_lte",
            "2",
            &[
                ("\"é😀\"", Holds),
                ("\"abc\"", Fails),
                ("[1,2]", Holds),
                ("{\"a\":1,\"b\":2,\"c\":3}", Fails),
                ("12", Inapplicable),
                ("null", Inapplicable),
                ("true", Inapplicable),
            ],
        );
        check("length_gte", "1.0", &[("\"\"", Fails), ("[0]", Holds), ("{}", Fails)]);
    }
}
