//! `eq`, `neq`, `in`, `not_in`: equality by JSON value, for values of every type.

use portcullis_json::{Number, Value};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

pub(super) const EQ: OperatorInfo = OperatorInfo {
    name: "eq",
    operand: Operand::Any,
    speaks_of: "any value",
    meaning: "equal by JSON value: numbers by numeric value, strings byte for byte, objects without regard to key order",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(AnyOf { values: vec![value.clone()] }))),
};

pub(super) const NEQ: OperatorInfo = OperatorInfo {
    name: "neq",
    operand: Operand::Any,
    speaks_of: "any value",
    meaning: "not equal by JSON value",
    negative: true,
    compile: Compile::Test(|value| Ok(Box::new(NoneOf { values: vec![value.clone()] }))),
};

pub(super) const IN: OperatorInfo = OperatorInfo {
    name: "in",
    operand: Operand::List,
    speaks_of: "any value",
    meaning: "equal to some element of the list",
    negative: false,
    compile: Compile::Test(|value| Ok(Box::new(AnyOf { values: elements(value) }))),
};

pub(super) const NOT_IN: OperatorInfo = OperatorInfo {
    name: "not_in",
    operand: Operand::List,
    speaks_of: "any value",
    meaning: "equal to no element of the list",
    negative: true,
    compile: Compile::Test(|value| Ok(Box::new(NoneOf { values: elements(value) }))),
};

fn elements(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_default().to_vec()
}

#[derive(Debug)]
struct AnyOf {
    values: Vec<Value>,
}

impl Operator for AnyOf {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        let same = match stance {
            Stance::Admits => exactly,
            Stance::Stops => Number::equals_as_double,
        };
        Tested::from_truth(self.values.iter().any(|wanted| wanted.equals_by(value, same)))
    }
}

#[derive(Debug)]
struct NoneOf {
    values: Vec<Value>,
}

impl Operator for NoneOf {
    fn test(&self, value: &Value, stance: Stance) -> Tested {
        let same = match stance {
            Stance::Admits => Number::equals_as_double,
            Stance::Stops => exactly,
        };
        Tested::from_truth(!self.values.iter().any(|unwanted| unwanted.equals_by(value, same)))
    }
}

pub(super) fn exactly(a: &Number, b: &Number) -> bool {
    a == b
}

#[cfg(test)]
mod tests {
    use super::super::{Stance, Tested::*, check, check_with};

    #[test]
    fn values_are_compared_as_json() {
        check(
            "eq",
            r#"{"a":[1,"x"],"b":null}"#,
            &[
                (r#"{"b":null,"a":[1.0,"x"]}"#, Holds),
                (r#"{"b":null,"a":["x",1]}"#, Fails),
                (r#"{"a":[1,"x"]}"#, Fails),
                ("[]", Fails),
            ],
        );
        check(
            "eq",
            "1",
            &[("1", Holds), ("1.0", Holds), ("1e0", Holds), ("\"1\"", Fails), ("true", Fails), ("2", Fails)],
        );
        check("neq", "1", &[("1.0", Fails), ("\"1\"", Holds), ("null", Holds)]);
        check(
            "in",
            r#"["a",2]"#,
            &[("\"a\"", Holds), ("2.0", Holds), ("\"A\"", Fails), ("[\"a\",2]", Fails)],
        );
        check("in", "[]", &[("1", Fails)]);
        check("not_in", r#"["a",2]"#, &[("\"a\"", Fails), ("3", Holds)]);
    }

    #[test]
    fn numbers_equal_as_doubles_fall_to_the_safe_side() {
        let near = "9007199254740993";
        for operand in ["9007199254740992", "[9007199254740992]"] {
            let (positive, negative) =
                if operand.starts_with('[') { ("in", "not_in") } else { ("eq", "neq") };
            check_with(positive, operand, Stance::Admits, &[(near, Fails)]);
            check_with(positive, operand, Stance::Stops, &[(near, Holds)]);
            check_with(negative, operand, Stance::Admits, &[(near, Fails)]);
            check_with(negative, operand, Stance::Stops, &[(near, Holds)]);
        }
        check_with(
            "eq",
            r#"{"a":[9007199254740992]}"#,
            Stance::Stops,
            &[(r#"{"a":[9007199254740993]}"#, Holds)],
        );
    }
}
