//! The operators: one table, one file for each family.
//!
//! An operator is compiled when the policy loads. Tested against a value it holds, fails, or is
//! inapplicable because it does not speak of such values; what that means is decided by the caller.

mod affix;
mod contains;
mod equality;
mod glob;
mod host;
mod length;
mod ordering;
mod path_within;
mod regex;
mod schema;
mod type_of;

use std::fmt::Debug;

pub(crate) use type_of::TYPE_NAMES;

use portcullis_json::{Kind, Value};

use crate::shape::shortened;

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tested {
    Holds,
    Fails,
    Inapplicable,
}

impl Tested {
    fn from_truth(holds: bool) -> Tested {
        if holds { Tested::Holds } else { Tested::Fails }
    }

    fn negated(self) -> Tested {
        match self {
            Tested::Holds => Tested::Fails,
            Tested::Fails => Tested::Holds,
            Tested::Inapplicable => Tested::Inapplicable,
        }
    }
}

/// Which way a mistake would hurt. Servers often read numbers as doubles, so the two sides take numbers
/// that are equal as doubles differently: always towards safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    /// `require`: holding admits.
    Admits,
    /// `deny_if`, `approve_if`: holding stops.
    Stops,
}

/// A compiled test.
pub(crate) trait Operator: Debug + Send + Sync {
    fn test(&self, value: &Value, stance: Stance) -> Tested;
}

/// What an operator takes as its `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Any,
    Boolean,
    Integer,
    List,
    Number,
    Schema,
    Text,
    TextList,
    TypeName,
}

impl Operand {
    /// In words, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Operand::Any => "any value",
            Operand::Boolean => "`true` or `false`",
            Operand::Integer => "a whole number, 0 or more",
            Operand::List => "a list",
            Operand::Number => "a number",
            Operand::Schema => "a JSON Schema, which is an object",
            Operand::Text => "a string",
            Operand::TextList => "a list of strings",
            Operand::TypeName => "the name of a type",
        }
    }

    fn takes(self, value: &Value) -> bool {
        match self {
            Operand::Any => true,
            Operand::Boolean => value.kind() == Kind::Boolean,
            Operand::Integer => {
                value.as_number().is_some_and(|number| number.is_integer() && !number.decimal().is_negative())
            }
            Operand::List => value.kind() == Kind::Array,
            Operand::Number => value.kind() == Kind::Number,
            Operand::Schema => value.kind() == Kind::Object,
            Operand::Text | Operand::TypeName => value.kind() == Kind::String,
            Operand::TextList => value
                .as_array()
                .is_some_and(|elements| elements.iter().all(|element| element.kind() == Kind::String)),
        }
    }
}

/// One row of the table.
pub(crate) struct OperatorInfo {
    pub(crate) name: &'static str,
    pub(crate) operand: Operand,
    /// What values it applies to, for messages: "needs …".
    pub(crate) speaks_of: &'static str,
    /// When it holds, in one line, for the schema and the documentation.
    pub(crate) meaning: &'static str,
    /// Holds for what something is *not*: absent values slip past it in `deny_if`.
    pub(crate) negative: bool,
    compile: Compile,
}

enum Compile {
    /// Looks at whether the path is found, not at a value.
    Exists,
    Test(fn(&Value) -> Result<Box<dyn Operator>, String>),
}

/// A compiled operator.
#[derive(Debug)]
pub(crate) enum Test {
    Exists(bool),
    Value(Box<dyn Operator>),
}

const EXISTS: OperatorInfo = OperatorInfo {
    name: "exists",
    operand: Operand::Boolean,
    speaks_of: "any value",
    meaning: "the path is found (null counts), or with false: is not",
    negative: false,
    compile: Compile::Exists,
};

/// Every operator, in the order of the documentation.
pub(crate) const OPERATORS: &[OperatorInfo] = &[
    equality::EQ,
    equality::NEQ,
    equality::IN,
    equality::NOT_IN,
    ordering::LT,
    ordering::LTE,
    ordering::GT,
    ordering::GTE,
    regex::REGEX,
    regex::NOT_REGEX,
    contains::CONTAINS,
    contains::NOT_CONTAINS,
    affix::STARTS_WITH,
    affix::ENDS_WITH,
    glob::GLOB,
    EXISTS,
    type_of::TYPE,
    length::LENGTH_LTE,
    length::LENGTH_GTE,
    host::HOST_IN,
    host::HOST_NOT_IN,
    path_within::PATH_WITHIN,
    schema::SCHEMA,
];

/// The row with this name.
pub(crate) fn find(name: &str) -> Option<&'static OperatorInfo> {
    OPERATORS.iter().find(|info| info.name == name)
}

impl OperatorInfo {
    /// Whether it holds something that was compiled, and so takes memory.
    pub(crate) fn compiles_an_expression(&self) -> bool {
        matches!(self.name, "regex" | "not_regex" | "glob" | "schema")
    }

    /// The operator with this `value`; the error says what is wrong with it.
    pub(crate) fn compile(&self, value: &Value) -> Result<Test, String> {
        if !self.operand.takes(value) {
            return Err(format!(
                "`{}` takes {} as its value, not {}",
                self.name,
                self.operand.words(),
                value.kind().with_article()
            ));
        }
        let about =
            |message: String| format!("`{}` cannot take `{}`: {message}", self.name, shortened(value));
        match self.compile {
            Compile::Exists => Ok(Test::Exists(value.as_bool().unwrap_or(true))),
            Compile::Test(compile) => compile(value).map(Test::Value).map_err(about),
        }
    }
}

#[cfg(test)]
fn check(operator: &str, operand: &str, cases: &[(&str, Tested)]) {
    for stance in [Stance::Admits, Stance::Stops] {
        check_with(operator, operand, stance, cases);
    }
}

#[cfg(test)]
fn check_with(operator: &str, operand: &str, stance: Stance, cases: &[(&str, Tested)]) {
    let read =
        |json: &str| portcullis_json::parse(json.as_bytes(), &portcullis_json::Limits::document()).unwrap();
    let Test::Value(test) = find(operator).unwrap().compile(&read(operand)).unwrap() else {
        panic!("`{operator}` looks at no value");
    };
    for (value, expected) in cases {
        assert_eq!(test.test(&read(value), stance), *expected, "{value} {operator} {operand}");
    }
}
