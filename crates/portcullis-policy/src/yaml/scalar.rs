//! The core schema: what a scalar without quotes is. Numbers become JSON numbers of the same exact value.

use portcullis_json::{NUMBER_DIGITS_MAX, Number, Value};

/// A number with more octal digits than this is past the bound in decimal too, where it is refused.
const RADIX_DIGITS_MAX: usize = 2 * NUMBER_DIGITS_MAX;

/// A scalar without quotes and without a tag.
pub(super) fn plain(text: &str) -> Result<Value, String> {
    if is_null(text) {
        return Ok(Value::Null);
    }
    if let Some(truth) = boolean(text) {
        return Ok(Value::Bool(truth));
    }
    if is_not_finite(text) {
        return Err(format!("`{text}` is no number that JSON has; put it in quotes if it is text"));
    }
    match spelling(text) {
        Some(spelling) => number(&spelling, text),
        None => Ok(Value::from(text)),
    }
}

/// A scalar with the core tag `name`, in whatever style.
pub(super) fn tagged(text: &str, name: &str) -> Result<Value, String> {
    let wrong = || format!("`{}` is no `!!{name}`", text.escape_debug());
    match name {
        "str" => Ok(Value::from(text)),
        "null" if is_null(text) => Ok(Value::Null),
        "bool" => boolean(text).map(Value::Bool).ok_or_else(wrong),
        "int" => match integer(text) {
            Some(spelling) => number(&spelling, text),
            None => Err(wrong()),
        },
        "float" => match spelling(text) {
            Some(spelling) => number(&spelling, text),
            None => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn is_not_finite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number(spelling: &str, written: &str) -> Result<Value, String> {
    Number::parse(spelling).map(Value::Number).ok_or_else(|| {
        let shown: String = written.chars().take(20).collect();
        format!("the number `{shown}…` has too many digits or too large an exponent")
    })
}

/// How JSON spells the number that this is, if it is one.
fn spelling(text: &str) -> Option<String> {
    integer(text).or_else(|| decimal(text))
}

fn integer(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix("0x") {
        return from_radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return from_radix(digits, 8);
    }
    let (sign, digits) = signed(text);
    is_digits(digits).then(|| format!("{sign}{}", without_zeros(digits)))
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn decimal(text: &str) -> Option<String> {
    let (sign, rest) = signed(text);
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    if exponent.is_some_and(|exponent| !is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))) {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits_or_none = |part: &str| part.is_empty() || is_digits(part);
    if (whole.is_empty() && fraction.is_empty()) || !digits_or_none(whole) || !digits_or_none(fraction) {
        return None;
    }
    let mut spelling = format!("{sign}{}", without_zeros(whole));
    if !fraction.is_empty() {
        spelling.push('.');
        spelling.push_str(fraction);
    }
    if exponent.is_some() {
        // With its own sign and case: the spelling is kept where JSON has it too.
        spelling.extend(rest.chars().skip(mantissa.chars().count()));
    }
    Some(spelling)
}

fn signed(text: &str) -> (&str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_zeros(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    }
}

/// The decimal spelling of a whole number in another base; `None` if it is not one.
fn from_radix(digits: &str, radix: u32) -> Option<String> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let digits = without_zeros(digits);
    if digits.len() > RADIX_DIGITS_MAX {
        return Some("9".repeat(NUMBER_DIGITS_MAX + 1));
    }
    // Least significant digit first.
    let mut decimal: Vec<u32> = vec![0];
    for digit in digits.chars().filter_map(|digit| digit.to_digit(radix)) {
        let mut carry = digit;
        for place in &mut decimal {
            carry += *place * radix;
            *place = carry % 10;
            carry /= 10;
        }
        while carry > 0 {
            decimal.push(carry % 10);
            carry /= 10;
        }
    }
    Some(decimal.iter().rev().filter_map(|digit| char::from_digit(*digit, 10)).collect())
}
