//! `contains`, `not_contains`: a substring of a string, or an element of a list.

use portcullis_json::{Number, Value};

use super::equality::exactly;
use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const CONTAINS: OperatorInfo = OperatorInfo {
    name: "contains",
    operand: Operand::Any,
    speaks_of: "a list, or a string in which to look for a string",
    meaning: "a substring of the string, or an element (by eq) of the list",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(Contains { wanted: value.clone() }))),
};

pub(super) const NOT_CONTAINS: OperatorInfo = OperatorInfo {
    name: "not_contains",
    operand: Operand::Any,
    speaks_of: "a list, or a string in which to look for a string",
    meaning: "no substring of the string, and no element (by eq) of the list",
    negative: true,
    compile: Compile::Test(|value| Ok(Box::new(ContainsNot { unwanted: value.clone() }))),
};

#[derive(Debug)]
struct Contains {
    wanted: Value,
}

#[derive(Debug)]
struct ContainsNot {
    unwanted: Value,
}

impl Operator for Contains {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        match stance {
            Stance::Admits => search(value, &self.wanted, exactly),
            Stance::Stops => search(value, &self.wanted, Number::equals_as_double),
        }
    }
}

impl Operator for ContainsNot {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        match stance {
            Stance::Admits => search(value, &self.unwanted, Number::equals_as_double).negated(),
            Stance::Stops => search(value, &self.unwanted, exactly).negated(),
        }
    }
}

fn search(value: &Value, wanted: &Value, same: fn(&Number, &Number) -> bool) -> Tested {
    match (value, wanted) {
        (Value::String(text), Value::String(part)) => Tested::from_truth(text.contains(part.as_str())),
        (Value::Array(elements), _) => {
            Tested::from_truth(elements.iter().any(|element| element.equals_by(wanted, same)))
        }
        _ => Tested::Inapplicable,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Stance, Tested::*, check, check_with};

    #[test]
    fn substrings_and_elements() {
        check(
            "contains",
            "\"ab\"",
            &[
                ("\"xaby\"", Holds),
                ("\"xAby\"", Fails),
                ("[\"ab\"]", Holds),
                ("[\"xab\"]", Fails),
                ("[]", Fails),
                ("5", Inapplicable),
                ("{\"ab\":1}", Inapplicable),
            ],
        );
        check("contains", "5", &[("[5.0]", Holds), ("\"5\"", Inapplicable), ("5", Inapplicable)]);
        check(
            "not_contains",
            "\"ab\"",
            &[("\"xaby\"", Fails), ("\"\"", Holds), ("[]", Holds), ("null", Inapplicable)],
        );
    }

    #[test]
    fn elements_equal_as_doubles_fall_to_the_safe_side() {
        let (operand, near) = ("9007199254740992", "[9007199254740993]");
        check_with("contains", operand, Stance::Admits, &[(near, Fails)]);
        check_with("contains", operand, Stance::Stops, &[(near, Holds)]);
        check_with("not_contains", operand, Stance::Admits, &[(near, Fails)]);
        check_with("not_contains", operand, Stance::Stops, &[(near, Holds)]);
    }
}
