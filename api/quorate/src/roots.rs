//! Whose certificates do calls of this program by HTTPS accept?

use crate::config::{Values, read_small};
use anyhow::{Result, bail};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// The usual authorities of the web, or those of `ca-file` instead.
///
/// Errors: the file cannot be read, is no PEM, or has no certificate.
pub fn tls(values: &Values) -> Result<TlsConfig> {
    let Some(file) = values.path("ca-file") else { return Ok(TlsConfig::default()) };
    let pem = read_small(&file)?;
    let certificates: Vec<Certificate<'static>> = parse_pem(pem.as_bytes())
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow::anyhow!("ca-file: {} is no PEM file: {error}", file.display()))?;
    if certificates.is_empty() {
        bail!("ca-file: there is no certificate in {}", file.display());
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build())
}
