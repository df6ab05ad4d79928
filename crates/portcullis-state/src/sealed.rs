//! Credentials that were given on the command line, sealed with a key of the data directory.
//!
//! XChaCha20-Poly1305 with a random nonce; server, header and key version are bound as associated data,
//! so a sealed value moved to another row does not open. A new key version is used for what is sealed from
//! then on; older versions still open what they sealed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::keys::{SecretBytes, create_key_file, random, read_key_file};
use crate::{Secret, StateFault};

const DOMAIN: &[u8] = b"portcullis.sealed.v1";
const NONCE_BYTES: usize = 24;

/// A sealed value as it is stored: key version, nonce, ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed(pub(crate) Vec<u8>);

/// The keys that seal, by version.
pub struct SealingKeys {
    directory: PathBuf,
    versions: BTreeMap<u32, SecretBytes>,
}

impl SealingKeys {
    pub(crate) fn read(directory: &Path) -> Result<SealingKeys, StateFault> {
        let fault = |error| StateFault::file("read", directory, error);
        let mut versions = BTreeMap::new();
        for entry in std::fs::read_dir(directory).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            if let Some(version) = version_of(&path) {
                versions.insert(version, read_key_file(&path)?);
            }
        }
        if versions.is_empty() {
            return Err(StateFault::BadKeyFile { path: directory.join("sealing-1.key") });
        }
        Ok(SealingKeys { directory: directory.to_owned(), versions })
    }

    /// Makes a new version, which seals from now on.
    pub fn rotate(&mut self) -> Result<u32, StateFault> {
        let version = self.newest() + 1;
        let path = self.directory.join(format!("sealing-{version}.key"));
        create_key_file(&path)?;
        self.versions.insert(version, read_key_file(&path)?);
        Ok(version)
    }

    fn newest(&self) -> u32 {
        self.versions.keys().next_back().copied().unwrap_or_default()
    }

    pub(crate) fn seal(&self, server: &str, header: &str, secret: &Secret) -> Result<Sealed, StateFault> {
        let version = self.newest();
        let nonce = random::<NONCE_BYTES>()?;
        let aad = associated(server, header, version);
        let payload = Payload { msg: secret.expose().as_bytes(), aad: &aad };
        let sealed =
            self.cipher(version).and_then(|cipher| cipher.encrypt(&XNonce::from(*nonce), payload).ok());
        let sealed = sealed.ok_or_else(|| unsealable(server, header))?;
        Ok(Sealed([&version.to_be_bytes(), nonce.as_slice(), &sealed].concat()))
    }

    pub(crate) fn open(&self, server: &str, header: &str, sealed: &Sealed) -> Result<Secret, StateFault> {
        self.try_open(server, header, sealed).ok_or_else(|| unsealable(server, header))
    }

    fn try_open(&self, server: &str, header: &str, sealed: &Sealed) -> Option<Secret> {
        let (version, rest) = sealed.0.split_first_chunk::<4>()?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let version = u32::from_be_bytes(*version);
        let aad = associated(server, header, version);
        let payload = Payload { msg: ciphertext, aad: &aad };
        let opened = self.cipher(version)?.decrypt(&XNonce::from(*nonce), payload).ok()?;
        let opened = Zeroizing::new(opened);
        Some(Secret::from(std::str::from_utf8(&opened).ok()?))
    }

    fn cipher(&self, version: u32) -> Option<XChaCha20Poly1305> {
        let key = self.versions.get(&version)?;
        Some(XChaCha20Poly1305::new((&**key).into()))
    }
}

fn version_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix("sealing-")?.strip_suffix(".key")?.parse().ok()
}

/// Each part with its length in front, so that no two triples look alike.
fn associated(server: &str, header: &str, version: u32) -> Vec<u8> {
    let mut bytes = DOMAIN.to_vec();
    for part in [server, header] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes
}

fn unsealable(server: &str, header: &str) -> StateFault {
    StateFault::Unsealable { server: server.to_owned(), header: header.to_owned() }
}
