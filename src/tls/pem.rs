//! Certificates and private keys in PEM files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Identity, TlsError};

/// The certificates in a file, as roots of trust.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| super::explain(path, &error))?;
    }
    Ok(store)
}

/// A certificate with those between it and the root, and its private key.
pub(super) fn identity(
    identity: Identity<'_>,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates(identity.certificate)?;
    let path = identity.private_key;
    let found = std::fs::metadata(path).map_err(|error| super::explain(path, &error))?;
    check_keeping(path, found.mode())?;
    let key = PrivateKeyDer::from_pem_file(path).map_err(|error| {
        TlsError(format!("{} holds no private key in PEM: {error}", path.display()))
    })?;
    Ok((chain, key))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong =
        |error| TlsError(format!("{} holds no certificate in PEM: {error}", path.display()));
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(wrong)?.collect();
    let found = found.map_err(wrong)?;
    if found.is_empty() {
        return Err(TlsError(format!("{} holds no certificate in PEM", path.display())));
    }
    Ok(found)
}

/// A group may read private keys, as is usual where several services share a certificate.
fn check_keeping(path: &Path, mode: u32) -> Result<(), TlsError> {
    if mode & 0o027 == 0 {
        return Ok(());
    }
    let place = path.display();
    Err(TlsError(format!(
        "the private key {place} is open to others (mode {:04o}), so that it is no secret: keep it \
         with chmod 600 {place}",
        mode & 0o7777
    )))
}
