//! The certificate and key of the listener.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsFiles;

/// Reads both files; before anything is opened, since a bad one must not leave anything half-started.
pub(crate) fn load(files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|error| format!("cannot read the certificate `{cert}`: {error}"))?;
    let private = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| format!("cannot read the key `{key}`: {error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| format!("the certificate `{cert}` and the key `{key}` do not fit: {error}"))?;
    Ok(Arc::new(config))
}
