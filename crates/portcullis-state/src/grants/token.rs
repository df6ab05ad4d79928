//! Tokens: `pcl_`, 43 random letters and digits (256 bits), 6 for a checksum.
//!
//! The prefix and the checksum let secret scanners find a leaked one without asking anybody. Only the
//! SHA-256 is ever stored; the token itself is shown once and cannot be printed by accident.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::StateFault;
use crate::keys::random;

/// What every token starts with.
pub const TOKEN_PREFIX: &str = "pcl_";
/// 62^43 is just above 2^256.
const RANDOM_LETTERS: usize = 43;
const CHECKSUM_LETTERS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token. No `Debug`, no `Display`: only `expose` gives it out.
pub struct Token(Zeroizing<String>);

/// Why a text is no token of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a portcullis token: {0}")]
pub struct TokenFault(&'static str);

impl Token {
    /// A new one.
    pub fn generate() -> Result<Token, StateFault> {
        let mut text = Zeroizing::new(String::with_capacity(64));
        text.push_str(TOKEN_PREFIX);
        while text.len() < TOKEN_PREFIX.len() + RANDOM_LETTERS {
            for byte in random::<64>()?.iter() {
                // 248 is four times 62: taking more would favour the first letters.
                let letter = ALPHABET.get(usize::from(*byte % 62)).filter(|_| *byte < 248);
                if text.len() < TOKEN_PREFIX.len() + RANDOM_LETTERS {
                    text.extend(letter.map(|letter| char::from(*letter)));
                }
            }
        }
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Ok(Token(text))
    }

    /// A token of the right form; whether anybody holds it is another question.
    pub fn parse(text: &str) -> Result<Token, TokenFault> {
        let rest = text.strip_prefix(TOKEN_PREFIX).ok_or(TokenFault("it does not start with `pcl_`"))?;
        let length = RANDOM_LETTERS + CHECKSUM_LETTERS;
        if rest.len() != length || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(TokenFault("it has the wrong length or letters; copy it again"));
        }
        let (body, found) = text.split_at(TOKEN_PREFIX.len() + RANDOM_LETTERS);
        if checksum(body) != found {
            return Err(TokenFault("its checksum does not hold; copy it again"));
        }
        Ok(Token(Zeroizing::new(text.to_owned())))
    }

    /// The token itself. For showing it once to who asked for it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose())
    }
}

/// CRC-32 in base 62.
fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut letters = [b'0'; CHECKSUM_LETTERS];
    for letter in letters.iter_mut().rev() {
        *letter = ALPHABET.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    String::from_utf8_lossy(&letters).into_owned()
}

/// SHA-256 of a token. Compared in constant time.
#[derive(Clone, Copy, Debug, Eq, Hash)]
#[expect(clippy::derived_hash_with_manual_eq, reason = "equal in constant time, but still equal")]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Of whatever was presented; tokens of the configuration file need not have our form.
    pub fn of(presented: &str) -> TokenHash {
        TokenHash(Sha256::digest(presented.as_bytes()).into())
    }

    /// 64 hexadecimal digits.
    pub fn parse(digits: &str) -> Option<TokenHash> {
        crate::log::parse_hex(digits.to_ascii_lowercase().as_bytes()).map(TokenHash)
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> TokenHash {
        TokenHash(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &TokenHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}
