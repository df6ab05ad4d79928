//! Identifiers: a prefix, the time in milliseconds, 80 random bits; they sort by time.
//!
//! The form is ULID's: 26 letters and digits of Crockford's base 32. Grants have them, and the gateway
//! takes them for requests.

use jiff::Timestamp;

use crate::StateFault;
use crate::keys::random;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS: u32 = 26;

/// A new identifier such as `g_01JCQ5…`.
pub fn new_id(prefix: &str, now: Timestamp) -> Result<String, StateFault> {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let mut bytes = [0; 16];
    for (byte, random) in bytes.iter_mut().zip(random::<16>()?.iter()) {
        *byte = *random;
    }
    let random_part = u128::from_be_bytes(bytes) >> 48;
    let number = (u128::from(milliseconds) << 80) | random_part;
    Ok(format!("{prefix}_{}", encode(number)))
}

fn encode(number: u128) -> String {
    let digit = |place: u32| ((number >> (place * 5)) & 31) as usize;
    let letters = (0..DIGITS).rev().filter_map(|place| ALPHABET.get(digit(place)));
    letters.map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_do_not_repeat() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let early = new_id("g", at(1_800_000_000_000)).unwrap();
        let late = new_id("g", at(1_800_000_000_001)).unwrap();
        assert!(early < late);
        assert_eq!(early.len(), 28);
        assert_ne!(new_id("g", at(5)).unwrap(), new_id("g", at(5)).unwrap());
        assert_eq!(encode(1_469_918_176_385 << 80).get(..10), Some("01ARYZ6S41"));
    }
}
