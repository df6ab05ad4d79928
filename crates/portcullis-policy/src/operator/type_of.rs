//! `type`: what kind of JSON value it is; applies to everything.

use portcullis_json::{Kind, Value};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};
use crate::path::listed;

/// The names a policy can write.
pub(crate) const TYPE_NAMES: [&str; 7] =
    ["string", "number", "integer", "boolean", "object", "array", "null"];

pub(super) const TYPE: OperatorInfo = OperatorInfo {
    name: "type",
    operand: Operand::TypeName,
    speaks_of: "any value",
    meaning: "the value is of this type; `integer` is a number without fraction, 1.0 is one",
    negative: false,
    compile: Compile::Test(compile),
};

#[derive(Debug)]
enum OfType {
    Kind(Kind),
    Integer,
}

fn compile(value: &Value) -> Result<Box<dyn Operator>, String> {
    let name = value.as_str().unwrap_or_default();
    let test = match name {
        "string" => OfType::Kind(Kind::String),
        "number" => OfType::Kind(Kind::Number),
        "integer" => OfType::Integer,
        "boolean" => OfType::Kind(Kind::Boolean),
        "object" => OfType::Kind(Kind::Object),
        "array" => OfType::Kind(Kind::Array),
        "null" => OfType::Kind(Kind::Null),
        _ => {
            return Err(format!("`{name}` is not a type; known are {}", listed(&TYPE_NAMES)));
        }
    };
    Ok(Box::new(test))
}

impl Operator for OfType {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        Tested::from_truth(match self {
            OfType::Kind(kind) => value.kind() == *kind,
            OfType::Integer => value.as_number().is_some_and(portcullis_json::Number::is_integer),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn integers_are_numbers_without_fraction() {
        check(
            "type",
            "\"integer\"",
            &[
                ("1", Holds),
                ("1.0", Holds),
                ("1e2", Holds),
                ("10e-1", Holds),
                ("1.5", Fails),
                ("1e-1", Fails),
                ("\"1\"", Fails),
            ],
        );
        check("type", "\"number\"", &[("1.5", Holds), ("1", Holds), ("null", Fails)]);
        check("type", "\"null\"", &[("null", Holds), ("0", Fails)]);
        check("type", "\"array\"", &[("[]", Holds), ("{}", Fails)]);
    }
}
