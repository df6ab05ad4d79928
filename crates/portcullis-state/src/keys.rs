//! The data directory's keys: one signs checkpoints, one digests arguments, one seals credentials.
//!
//! Each is 32 random bytes in a file of its own, as hexadecimal digits, readable by its owner only. They
//! are made once, when the directory is made; one that is missing later is an error, never replaced. None
//! can be printed.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use data_encoding::HEXLOWER;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use portcullis_json::Value;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::StateFault;

/// 32 secret bytes.
pub(crate) type SecretBytes = Zeroizing<[u8; 32]>;

const ARGUMENTS_DOMAIN: &[u8] = b"portcullis.arguments.v1\n";
const PUBLIC_PREFIX: &str = "ed25519:";

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, StateFault> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| StateFault::NoRandomness)?;
    Ok(bytes)
}

/// Makes a key file that must not exist yet.
pub(crate) fn create_key_file(path: &Path) -> Result<(), StateFault> {
    let digits = Zeroizing::new(format!("{}\n", HEXLOWER.encode(random::<32>()?.as_slice())));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(digits.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| StateFault::file("write", path, error))
}

/// Reads a key file; one that others could read is refused.
pub(crate) fn read_key_file(path: &Path) -> Result<SecretBytes, StateFault> {
    let metadata = path.metadata().map_err(|error| StateFault::file("read", path, error))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(StateFault::TooOpen { path: path.to_owned(), wanted: "600" });
    }
    let text = std::fs::read(path).map_err(|error| StateFault::file("read", path, error))?;
    let text = Zeroizing::new(text);
    let digits = text.trim_ascii();
    let mut key = Zeroizing::new([0; 32]);
    // The decoder takes nothing but the right length.
    match (digits.len() == 64).then(|| HEXLOWER.decode_mut(digits, key.as_mut_slice())) {
        Some(Ok(32)) => Ok(key),
        _ => Err(StateFault::BadKeyFile { path: path.to_owned() }),
    }
}

/// Signs checkpoints of the log.
pub struct CheckpointKey(SigningKey);

impl CheckpointKey {
    pub(crate) fn read(path: &Path) -> Result<CheckpointKey, StateFault> {
        Ok(CheckpointKey(SigningKey::from_bytes(&*read_key_file(path)?)))
    }

    /// A key from bytes that are at hand already.
    pub fn from_bytes(bytes: &[u8; 32]) -> CheckpointKey {
        CheckpointKey(SigningKey::from_bytes(bytes))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// What others need to check the signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }
}

/// Checks signatures under checkpoints. No secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads `ed25519:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<PublicKey> {
        let digits = text.trim().strip_prefix(PUBLIC_PREFIX)?;
        let bytes: [u8; 32] = HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok()?;
        VerifyingKey::from_bytes(&bytes).ok().map(PublicKey)
    }

    /// A short name: the first bytes of its digest.
    pub fn id(&self) -> String {
        let digest: [u8; 32] = Sha256::digest(self.0.as_bytes()).into();
        HEXLOWER.encode(digest.first_chunk::<8>().unwrap_or(&[0; 8]))
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(message, &signature).is_ok()
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", HEXLOWER.encode(self.0.as_bytes()))
    }
}

/// Digests arguments, so that the log can tell equal calls without telling what was in them.
#[derive(Clone)]
pub struct DigestKey(Hmac<Sha256>);

impl DigestKey {
    pub(crate) fn read(path: &Path) -> Result<DigestKey, StateFault> {
        Ok(DigestKey::from_bytes(&*read_key_file(path)?))
    }

    /// A key from bytes that are at hand already.
    pub fn from_bytes(bytes: &[u8; 32]) -> DigestKey {
        // HMAC pads a short key with zeros to the size of a block; doing so here leaves no error case.
        let mut block = Zeroizing::new([0; 64]);
        for (padded, byte) in block.iter_mut().zip(bytes) {
            *padded = *byte;
        }
        let mut keyed = Hmac::<Sha256>::new((&*block).into());
        keyed.update(ARGUMENTS_DOMAIN);
        DigestKey(keyed)
    }

    /// Equal arguments, equal digest: `7` and `7.0`, and keys in another order, are equal.
    pub fn digest(&self, arguments: &Value) -> [u8; 32] {
        let canonical = Zeroizing::new(portcullis_json::canonical(arguments));
        self.0.clone().chain_update(canonical.as_bytes()).finalize().into_bytes().into()
    }
}
