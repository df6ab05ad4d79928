//! Exact decimals, the schoolbook way: a sign, a row of digits, and how many of them stand behind the
//! point. Slow and plain on purpose. Not a number library; called by the equality, the ordering
//! operators and the counters of the oracle.

use std::cmp::Ordering;

/// `digits` most significant first; the value is ± 0.d1d2d3… × 10^(digits.len() - scale).
#[derive(Clone, Debug)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    pub(crate) fn zero() -> Self {
        Self { negative: false, digits: vec![0], scale: 0 }
    }

    /// Reads a JSON number in any spelling.
    pub(crate) fn read(spelling: &str) -> Self {
        let (negative, rest) = match spelling.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, spelling),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap()),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        Self { negative, digits: digits.map(|b| b - b'0').collect(), scale: fraction.len() as i64 - exponent }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.iter().all(|d| *d == 0)
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// Whether nothing but zeros stands behind the point.
    pub(crate) fn is_integer(&self) -> bool {
        let behind = self.scale.max(0) as usize;
        self.digits.iter().rev().take(behind).all(|d| *d == 0)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let (a, b, scale) = aligned(self, other);
        let (negative, digits) = if self.negative == other.negative {
            (self.negative, add(&a, &b))
        } else if a >= b {
            (self.negative, subtract(&a, &b))
        } else {
            (other.negative, subtract(&b, &a))
        };
        Self { negative, digits, scale }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let (a, b, _) = aligned(self, other);
        match (self.is_negative(), other.is_negative()) {
            (false, false) => a.cmp(&b),
            (true, true) => b.cmp(&a),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    /// The value with as few digits as possible, for reports.
    pub(crate) fn plain(&self) -> String {
        let mut digits = self.digits.clone();
        let mut scale = self.scale;
        while scale > 0 && digits.len() > 1 && digits.last() == Some(&0) {
            digits.pop();
            scale -= 1;
        }
        while digits.len() > 1 && digits[0] == 0 {
            digits.remove(0);
        }
        let sign = if self.is_negative() { "-" } else { "" };
        let row: String = digits.iter().map(|d| (b'0' + d) as char).collect();
        match scale {
            0 => format!("{sign}{row}"),
            _ => format!("{sign}{row}e{}", -scale),
        }
    }
}

/// The two rows of digits padded so that the same place stands in the same column.
fn aligned(a: &Decimal, b: &Decimal) -> (Vec<u8>, Vec<u8>, i64) {
    let scale = a.scale.max(b.scale);
    let mut left = a.digits.clone();
    let mut right = b.digits.clone();
    left.resize(left.len() + (scale - a.scale) as usize, 0);
    right.resize(right.len() + (scale - b.scale) as usize, 0);
    let width = left.len().max(right.len());
    (pad_front(left, width), pad_front(right, width), scale)
}

fn pad_front(digits: Vec<u8>, width: usize) -> Vec<u8> {
    let mut padded = vec![0; width - digits.len()];
    padded.extend(digits);
    padded
}

fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut sum = Vec::new();
    for (x, y) in a.iter().rev().zip(b.iter().rev()) {
        sum.push((x + y + carry) % 10);
        carry = (x + y + carry) / 10;
    }
    sum.push(carry);
    sum.reverse();
    sum
}

/// `a - b` where `a` is not smaller.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut rest = Vec::new();
    for (x, y) in a.iter().rev().zip(b.iter().rev()) {
        let column = 10 + x - y - borrow;
        rest.push(column % 10);
        borrow = 1 - column / 10;
    }
    rest.reverse();
    rest
}

/// Whether the number is refused before any policy: over 400 digits, or an exponent beyond ±400.
pub(crate) fn is_refused(spelling: &str) -> bool {
    let (mantissa, exponent) = spelling.split_once(['e', 'E']).unwrap_or((spelling, "0"));
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX);
    digits > 400 || !(-400..=400).contains(&exponent)
}

/// The double that a server would read. What is too big is infinite.
pub(crate) fn nearest_double(spelling: &str) -> f64 {
    spelling.parse().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(a: &str, b: &str) -> Ordering {
        Decimal::read(a).compare(&Decimal::read(b))
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        for (a, b) in [("1", "1.0"), ("1", "1e0"), ("10e-1", "1E+0"), ("-0", "0.00")] {
            assert_eq!(order(a, b), Ordering::Equal, "{a} {b}");
        }
    }

    #[test]
    fn nothing_is_rounded() {
        assert_eq!(order("10000000000000000999", "1e19"), Ordering::Greater);
        assert_eq!(order("-10000000000000000999", "-1e19"), Ordering::Less);
        assert_eq!(order("0.1", "0.10000000000000000000001"), Ordering::Less);
        assert_eq!(order("1e-400", "0"), Ordering::Greater);
        assert_eq!(order("-1", "1e-400"), Ordering::Less);
    }

    #[test]
    fn sums_carry_and_borrow() {
        for (a, b, sum) in [
            ("0.1", "0.2", "0.3"),
            ("999", "1", "1000"),
            ("1e3", "-0.5", "999.5"),
            ("2", "-5", "-3"),
            ("-2", "2", "0"),
        ] {
            let found = Decimal::read(a).plus(&Decimal::read(b));
            assert_eq!(found.compare(&Decimal::read(sum)), Ordering::Equal, "{a} + {b}");
        }
    }

    #[test]
    fn integers_have_no_fraction() {
        for (spelling, expected) in [
            ("1.0", true),
            ("1e2", true),
            ("10e-1", true),
            ("1.5", false),
            ("1e-1", false),
            ("0e-5", true),
            ("1.25e2", true),
            ("1.255e2", false),
        ] {
            assert_eq!(Decimal::read(spelling).is_integer(), expected, "{spelling}");
        }
    }
}
