//! Identifiers: a prefix, the time in milliseconds, 80 random bits; they sort by time.
//!
//! The form is ULID's: 26 letters and digits of Crockford's base 32. Grants have them, and the gateway
//! takes them for requests.

use std::cell::RefCell;

use jiff::Timestamp;

use crate::StateFault;
use crate::keys::random;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS: usize = 26;
/// Random bytes that are fetched at once.
const STOCK_BYTES: usize = 1024;

/// A new identifier such as `g_01JCQ5…`.
pub fn new_id(prefix: &str, now: Timestamp) -> Result<String, StateFault> {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let number = (u128::from(milliseconds) << 80) | (random_number()? >> 48);
    let mut id = String::with_capacity(prefix.len() + 1 + DIGITS);
    id.push_str(prefix);
    id.push('_');
    encode(number, &mut id);
    Ok(id)
}

/// Random numbers that no identifier has yet.
type Stock = Vec<[u8; 16]>;

thread_local! {
    static STOCK: RefCell<Stock> = const { RefCell::new(Stock::new()) };
}

/// Taken from a stock: asking the system costs more than all the rest of an identifier. Nothing secret is made
/// of these.
fn random_number() -> Result<u128, StateFault> {
    STOCK.with_borrow_mut(|stock| {
        if stock.is_empty() {
            stock.extend_from_slice(random::<STOCK_BYTES>()?.as_chunks().0);
        }
        stock.pop().map(u128::from_be_bytes).ok_or(StateFault::NoRandomness)
    })
}

fn encode(number: u128, out: &mut String) {
    let mut left = number;
    let mut letters = [b'0'; DIGITS];
    for letter in letters.iter_mut().rev() {
        *letter = ALPHABET.get((left & 31) as usize).copied().unwrap_or_default();
        left >>= 5;
    }
    out.extend(letters.map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_sort_by_time_and_do_not_repeat() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let early = new_id("g", at(1_800_000_000_000)).unwrap();
        let late = new_id("g", at(1_800_000_000_001)).unwrap();
        assert!(early < late);
        assert_eq!(early.len(), 28);
        let many: HashSet<String> = (0..500).map(|_| new_id("g", at(5)).unwrap()).collect();
        assert_eq!(many.len(), 500, "also beyond one stock");
        let mut known = String::new();
        encode(1_469_918_176_385 << 80, &mut known);
        assert_eq!(known, "01ARYZ6S410000000000000000");
    }
}
