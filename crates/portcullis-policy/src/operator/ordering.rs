//! `lt`, `lte`, `gt`, `gte`: exact decimal comparison, for numbers.

use std::cmp::Ordering;

use portcullis_json::{Decimal, Value};

use super::{Compile, Operand, Operator, OperatorInfo, Stance, Tested};

const fn info(
    name: &'static str,
    meaning: &'static str,
    compile: fn(&Value) -> Result<Box<dyn Operator>, String>,
) -> OperatorInfo {
    let compile = Compile::Test(compile);
    OperatorInfo { name, operand: Operand::Number, speaks_of: "a number", meaning, negative: false, compile }
}

pub(super) const LT: OperatorInfo = info("lt", "less than, exactly", |bound| compare(bound, Ordering::is_lt));
pub(super) const LTE: OperatorInfo =
    info("lte", "less than or equal, exactly", |bound| compare(bound, Ordering::is_le));
pub(super) const GT: OperatorInfo =
    info("gt", "greater than, exactly", |bound| compare(bound, Ordering::is_gt));
pub(super) const GTE: OperatorInfo =
    info("gte", "greater than or equal, exactly", |bound| compare(bound, Ordering::is_ge));

#[derive(Debug)]
struct Compare {
    bound: Decimal,
    accepts: fn(Ordering) -> bool,
}

fn compare(bound: &Value, accepts: fn(Ordering) -> bool) -> Result<Box<dyn Operator>, String> {
    let bound = bound.as_number().ok_or("the bound is no number")?.decimal();
    Ok(Box::new(Compare { bound, accepts }))
}

impl Operator for Compare {
    fn test(&self, value: &Value, _: Stance) -> Tested {
        match value.as_number() {
            Some(number) => Tested::from_truth((self.accepts)(number.decimal().cmp(&self.bound))),
            None => Tested::Inapplicable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tested::*, check};

    #[test]
    fn no_rounding() {
        check(
            "lt",
            "1e19",
            &[
                ("9999999999999999999", Holds),
                ("10000000000000000000", Fails),
                ("10000000000000000999", Fails),
            ],
        );
        check("lte", "1", &[("1.0", Holds), ("1.000000000000000005", Fails), ("-1e300", Holds)]);
        check("gt", "0.1", &[("0.1", Fails), ("0.10000000000000000001", Holds)]);
        check("gte", "-5", &[("-5.0", Holds), ("-5.1", Fails), ("1e-400", Holds)]);
    }

    #[test]
    fn only_numbers_have_an_order() {
        check(
            "lt",
            "5",
            &[("\"3\"", Inapplicable), ("null", Inapplicable), ("true", Inapplicable), ("[3]", Inapplicable)],
        );
    }
}
