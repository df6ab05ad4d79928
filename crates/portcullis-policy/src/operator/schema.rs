//! `schema`: the value satisfies a JSON Schema (2020-12, no remote references).

use portcullis_json::Value;

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};
use crate::json_schema::{Dialect, JsonSchema};

pub(super) const SCHEMA: OperatorInfo = OperatorInfo {
    name: "schema",
    operand: Operand::Schema,
    speaks_of: "any value",
    meaning: "the value satisfies this JSON Schema (2020-12, no remote references)",
    negative: false,
    compile: Compile::Test(|value| {
        Ok(Box::new(Satisfies(JsonSchema::compile(value, Dialect::Draft202012)?)))
    }),
};

#[derive(Debug)]
struct Satisfies(JsonSchema);

impl Operator for Satisfies {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        Tested::from_truth(self.0.is_satisfied_by(value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check, find};

    #[test]
    fn values_satisfy_or_do_not() {
        check(
            "schema",
            r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer","maximum":10000000000000000998}}}"#,
            &[
                (r#"{"a":1}"#, Holds),
                (r#"{"a":1.5}"#, Fails),
                ("{}", Fails),
                ("[]", Fails),
                (r#"{"a":10000000000000000999}"#, Fails),
            ],
        );
    }

    #[test]
    fn a_schema_that_does_not_compile_does_not_load() {
        for schema in
            [r#"{"type":"nonsense"}"#, r#"{"$ref":"https://example.com/schema.json"}"#, r#"{"pattern":"("}"#]
        {
            let operand =
                portcullis_json::parse(schema.as_bytes(), &portcullis_json::Limits::document()).unwrap();
            assert!(find("schema").unwrap().compile(&operand).is_err(), "{schema}");
        }
    }
}
