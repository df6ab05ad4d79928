//! Exact decimal arithmetic: what comparing and summing need, and nothing more.
//!
//! Nearly every number is a whole one that fits into 64 bits, so that is the quick form; the rest goes
//! to `bigdecimal`. The reader's bounds on digits and exponents bound the work.

use std::cmp::Ordering;
use std::ops::{Add, Sub};
use std::str::FromStr;

use bigdecimal::{BigDecimal, ToPrimitive, Zero};

/// An exact decimal number.
#[derive(Clone, Debug)]
pub struct Decimal(Form);

#[derive(Clone, Debug)]
enum Form {
    Whole(i64),
    // Boxed: rare, and three times as large as the whole form.
    Wide(Box<BigDecimal>),
}

impl Decimal {
    /// Nothing.
    pub const ZERO: Decimal = Decimal(Form::Whole(0));
    /// One.
    pub const ONE: Decimal = Decimal(Form::Whole(1));

    /// The value of a spelling that the reader took.
    pub(crate) fn from_spelling(spelling: &str) -> Decimal {
        match spelling.parse::<i64>() {
            Ok(whole) => Decimal(Form::Whole(whole)),
            Err(_) => Decimal::wide(BigDecimal::from_str(spelling).unwrap_or_default()),
        }
    }

    fn wide(value: BigDecimal) -> Decimal {
        Decimal(Form::Wide(Box::new(value)))
    }

    fn narrowed(self) -> Decimal {
        self.as_i64().map_or(self, Decimal::from)
    }

    fn widened(&self) -> BigDecimal {
        match &self.0 {
            Form::Whole(whole) => BigDecimal::from(*whole),
            Form::Wide(wide) => (**wide).clone(),
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        *self < Decimal::ZERO
    }

    /// Whether it is zero, however it was spelled.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Form::Whole(whole) => *whole == 0,
            Form::Wide(wide) => wide.is_zero(),
        }
    }

    /// Whether it has no fraction.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Form::Whole(_) => true,
            Form::Wide(wide) => wide.is_integer(),
        }
    }

    /// The value, if it is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Form::Whole(whole) => Some(*whole),
            Form::Wide(wide) if wide.is_integer() => wide.to_i64(),
            Form::Wide(_) => None,
        }
    }

    /// The one spelling that this value has: digits without trailing zeros and, unless it is nought, an
    /// exponent. Equal values have equal spellings.
    pub fn canonical(&self) -> String {
        if let Form::Whole(whole) = &self.0
            && (whole % 10 != 0 || *whole == 0)
        {
            return whole.to_string();
        }
        let (digits, scale) = self.widened().normalized().into_bigint_and_exponent();
        if digits.is_zero() || scale == 0 { digits.to_string() } else { format!("{digits}e{}", -scale) }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal(Form::Whole(value))
    }
}

/// Sums have more digits than any number that is read; this bounds what [`Decimal::from_str`] takes.
const TEXT_BYTES_MAX: usize = 4096;

impl FromStr for Decimal {
    type Err = ();

    /// Takes decimal notation, with or without an exponent.
    fn from_str(text: &str) -> Result<Decimal, ()> {
        let decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        if text.len() > TEXT_BYTES_MAX || !text.bytes().all(decimal) {
            return Err(());
        }
        text.parse().map(Decimal::wide).map_err(drop).map(Decimal::narrowed)
    }
}

/// Plain notation: `0.3`, `1500`.
impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Form::Whole(whole) => whole.fmt(f),
            Form::Wide(wide) => f.write_str(&wide.normalized().to_plain_string()),
        }
    }
}

impl Add<&Decimal> for &Decimal {
    type Output = Decimal;

    fn add(self, other: &Decimal) -> Decimal {
        if let (Form::Whole(a), Form::Whole(b)) = (&self.0, &other.0)
            && let Some(sum) = a.checked_add(*b)
        {
            return Decimal::from(sum);
        }
        Decimal::wide(self.widened() + other.widened())
    }
}

impl Sub<&Decimal> for &Decimal {
    type Output = Decimal;

    fn sub(self, other: &Decimal) -> Decimal {
        if let (Form::Whole(a), Form::Whole(b)) = (&self.0, &other.0)
            && let Some(difference) = a.checked_sub(*b)
        {
            return Decimal::from(difference);
        }
        Decimal::wide(self.widened() - other.widened())
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Whole(a), Form::Whole(b)) => a.cmp(b),
            (Form::Wide(a), Form::Wide(b)) => a.cmp(b),
            _ => self.widened().cmp(&other.widened()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn tenths_sum_exactly() {
        let mut sum = Decimal::ZERO;
        for _ in 0..10 {
            sum = &sum + &decimal("0.1");
        }
        assert_eq!(sum, Decimal::ONE);
        assert_eq!(sum.canonical(), "1");
    }

    #[test]
    fn values_that_doubles_confuse_stay_apart() {
        assert!(decimal("10000000000000000999") > decimal("1e19"));
        assert!(decimal("9007199254740993") > decimal("9007199254740992"));
        assert!(decimal("1.000000000000000005") > decimal("1"));
    }

    #[test]
    fn leaving_64_bits_and_coming_back_loses_nothing() {
        let edge = Decimal::from(i64::MAX);
        let above = &edge + &Decimal::ONE;
        assert!(above > edge);
        assert_eq!(&above - &Decimal::ONE, edge);
        assert_eq!((&above - &Decimal::ONE).as_i64(), Some(i64::MAX));
    }

    #[test]
    fn canonical_spelling_depends_on_the_value_alone() {
        for spelling in ["70", "7e1", "70.0", "0.7e2", "7000e-2"] {
            assert_eq!(decimal(spelling).canonical(), "7e1", "{spelling}");
        }
        for spelling in ["0", "-0", "0.0", "0e5", "-0.00e-3"] {
            assert_eq!(decimal(spelling).canonical(), "0", "{spelling}");
        }
        assert_eq!(decimal("-1.50").canonical(), "-15e-1");
    }
}
