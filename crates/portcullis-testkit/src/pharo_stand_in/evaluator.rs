//! A handful of expressions that really evaluate. Everything else is an error that says so.

use std::time::Duration;

use serde_json::{Value, json};

use super::{answers::Outcome, world::World};

/// What a real image would print for its version; here it must not pass for one.
const VERSION: &str = "stand-in of the test kit, not Pharo";

/// How long the code takes before it answers.
pub(super) fn delay(code: &str) -> Duration {
    let milliseconds = code
        .strip_prefix("(Delay forMilliseconds: ")
        .and_then(|rest| rest.split_once(") wait"))
        .and_then(|(number, _)| number.parse().ok());
    Duration::from_millis(milliseconds.unwrap_or(0))
}

pub(super) fn evaluate(world: &mut World, code: &str) -> Outcome {
    let code = code.trim().trim_end_matches('.');
    if let Some((receiver, "")) = code.rsplit_once(" printString") {
        return printed(world, receiver);
    }
    if let Some(text) = code.strip_prefix("Transcript show: ").and_then(literal_text) {
        world.transcript.push(text);
        return Outcome::NotSerialisable("ThreadSafeTranscript".to_owned());
    }
    match code {
        "" | "nil" => Outcome::value(Value::Null),
        "true" => Outcome::value(true),
        "false" => Outcome::value(false),
        "Object new" => Outcome::NotSerialisable("Object".to_owned()),
        "Float pi" => Outcome::Result("3.141592653589793".to_owned()),
        "SystemVersion current asString" => Outcome::value(VERSION),
        "[ true ] whileTrue" | "self halt" => Outcome::Hang,
        "#(1 $a 'two' #three nil)" => Outcome::value(json!([1, "a", "two", "three", null])),
        _ => other(code),
    }
}

fn other(code: &str) -> Outcome {
    if code.starts_with("(Delay forMilliseconds: ") {
        return Outcome::value("waited");
    }
    if let Some(text) = code.strip_prefix("Error signal: ").and_then(literal_text) {
        return Outcome::error_in(text, "UndefinedObject", "nil");
    }
    if let Some(text) = literal_text(code) {
        return Outcome::value(text);
    }
    if let Some(digits) = number(code) {
        return Outcome::Result(digits);
    }
    if let Some(size) = code.strip_prefix("String new: ").and_then(|size| size.parse().ok()) {
        return Outcome::value(" ".repeat(size));
    }
    arithmetic(code).unwrap_or_else(|| Outcome::error(format!("the stand-in cannot evaluate: {code}")))
}

fn printed(world: &mut World, receiver: &str) -> Outcome {
    let receiver = receiver.trim().trim_start_matches('(').trim_end_matches(')');
    match evaluate(world, receiver) {
        Outcome::Result(json) => Outcome::value(json),
        Outcome::NotSerialisable(class) => Outcome::value(format!("a {class}")),
        other => other,
    }
}

/// `'it''s'` is the text `it's`.
fn literal_text(code: &str) -> Option<String> {
    let inner = code.strip_prefix('\'')?.strip_suffix('\'')?;
    let unquoted = inner.replace("''", "\u{0}");
    (!unquoted.contains('\'')).then(|| unquoted.replace('\u{0}', "'"))
}

fn number(code: &str) -> Option<String> {
    let digits = code.strip_prefix('-').unwrap_or(code);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| code.to_owned())
}

fn arithmetic(code: &str) -> Option<Outcome> {
    let words: Vec<_> = code.split_whitespace().collect();
    let integer = |text: &str| text.parse::<i64>().ok();
    match words.as_slice() {
        [number, "factorial"] => Some(Outcome::Result(product(1..=number.parse().ok()?))),
        ["10", "raisedTo:", power] => Some(Outcome::Result(product((0..power.parse().ok()?).map(|_| 10)))),
        [left, "/", "0"] => Some(Outcome::error_in("ZeroDivide", "SmallInteger", left)),
        [left, operator, right] => binary(integer(left)?, operator, integer(right)?),
        _ => None,
    }
}

fn binary(left: i64, operator: &str, right: i64) -> Option<Outcome> {
    let result = match operator {
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "rem:" => left.checked_rem(right)?,
        "/" if left.checked_rem(right)? == 0 => left / right,
        "/" => return Some(Outcome::NotSerialisable("Fraction".to_owned())),
        _ => return None,
    };
    Some(Outcome::value(result))
}

/// The product in decimal digits, of any length.
fn product(factors: impl Iterator<Item = u32>) -> String {
    let mut digits = vec![1_u8];
    for factor in factors {
        let mut carry = 0_u64;
        for digit in &mut digits {
            let value = u64::from(*digit) * u64::from(factor) + carry;
            *digit = u8::try_from(value % 10).unwrap_or_default();
            carry = value / 10;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 10).unwrap_or_default());
            carry /= 10;
        }
    }
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pharo_stand_in::fixture;

    fn check(code: &str, json: &str) {
        match evaluate(&mut fixture::world(""), code) {
            Outcome::Result(result) => assert_eq!(result, json),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn expressions_answer_their_values() {
        check("5 rem: 3", "2");
        check("3 + 4.", "7");
        check("'it''s'", "\"it's\"");
        check("25 factorial", "15511210043330985984000000");
        check("10 raisedTo: 3", "1000");
        check("(Object new) printString", "\"a Object\"");
        check("nil", "null");
    }

    #[test]
    fn other_code_is_an_error() {
        let mut world = fixture::world("");
        assert!(matches!(evaluate(&mut world, "1 / 0"), Outcome::Error(_)));
        assert!(matches!(evaluate(&mut world, "Smalltalk quit"), Outcome::Error(_)));
        assert!(matches!(evaluate(&mut world, "1 / 3"), Outcome::NotSerialisable(_)));
        assert!(matches!(evaluate(&mut world, "self halt"), Outcome::Hang));
    }
}
