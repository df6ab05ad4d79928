//! The hash chain: what a record's hash covers, and how a line carries it.
//!
//! A line is `{"seq":N,"prev":"…",…,"hash":"…"}`. The hash is SHA-256 over a domain tag and the bytes of
//! the line in front of `,"hash"`, exactly as they are stored; those bytes contain the hash of the record
//! before. So it covers all content at stored precision, and anybody can check it with `sha256sum`.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a record.
pub type Hash = [u8; 32];

/// The `prev` of the very first record.
pub const GENESIS: Hash = [0; 32];

const DOMAIN: &[u8] = b"portcullis.decision-log.v1\n";
const HASH_KEY: &[u8] = b",\"hash\":\"";
const HASH_END: &[u8] = b"\"}";
/// Bytes of `,"hash":"<64 digits>"}`.
pub(crate) const SEAL_BYTES: usize = HASH_KEY.len() + 64 + HASH_END.len();

/// A place in the chain: a record's number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The record's number, from 1; 0 stands before the first.
    pub sequence: u64,
    /// The record's hash.
    pub hash: Hash,
}

impl Position {
    /// Before the first record.
    pub const START: Position = Position { sequence: 0, hash: GENESIS };
}

/// Closes an open line: hashes it and appends the hash.
pub(crate) fn seal(line: &mut Vec<u8>) -> Hash {
    let hash = hash_of(line);
    line.extend_from_slice(HASH_KEY);
    push_hex(line, &hash);
    line.extend_from_slice(HASH_END);
    hash
}

/// The hash that a line without its line break carries, if it is the right one.
pub(crate) fn check_seal(line: &[u8]) -> Result<Hash, SealFault> {
    let open_bytes = line.len().checked_sub(SEAL_BYTES).ok_or(SealFault::Missing)?;
    let (open, seal) = line.split_at(open_bytes);
    let digits =
        seal.strip_prefix(HASH_KEY).and_then(|rest| rest.strip_suffix(HASH_END)).ok_or(SealFault::Missing)?;
    let stored = parse_hex(digits).ok_or(SealFault::Missing)?;
    if stored == hash_of(open) { Ok(stored) } else { Err(SealFault::Wrong) }
}

/// Whether a whole line with its line break ends with this hash.
pub(crate) fn ends_with(line: &[u8], hash: &Hash) -> bool {
    let mut digits = [0; 64];
    HEXLOWER.encode_mut(hash, &mut digits);
    let end = line.strip_suffix(b"\n").and_then(|line| line.strip_suffix(HASH_END));
    let key = end.and_then(|line| line.strip_suffix(&digits));
    key.is_some_and(|line| line.ends_with(HASH_KEY))
}

/// Why a line's hash does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealFault {
    /// The line does not end with a hash.
    Missing,
    /// It ends with another hash than its content has.
    Wrong,
}

fn hash_of(open: &[u8]) -> Hash {
    Sha256::new().chain_update(DOMAIN).chain_update(open).finalize().into()
}

/// Appends lower-case hexadecimal digits.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &Hash) {
    let mut digits = [0; 64];
    HEXLOWER.encode_mut(bytes, &mut digits);
    out.extend_from_slice(&digits);
}

/// Hexadecimal digits of a hash.
pub fn hex(hash: &Hash) -> String {
    HEXLOWER.encode(hash)
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn parse_hex(digits: &[u8]) -> Option<Hash> {
    HEXLOWER.decode(digits).ok()?.try_into().ok()
}
