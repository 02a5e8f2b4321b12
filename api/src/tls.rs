//! How are the connections of clients encrypted? With the certificates of files, which are read again when they change.

mod validity;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Certificates of a node at most.
const CERTIFICATES_MAX: usize = 64;
/// Bytes of a file of certificates or of a key at most.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Between two looks whether a file has changed.
const LOOK: Duration = Duration::from_secs(5);

/// Where certificates and keys are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM files with a certificate each, and those it was issued by. A caller who names no host, or an unknown one, sees the first.
    pub certificates: Vec<PathBuf>,
    /// PEM files with their keys, in the same order.
    pub keys: Vec<PathBuf>,
    /// PEM file with the certificates of those who issue certificates to operators.
    pub client_ca: Option<PathBuf>,
}

/// The certificates of a node. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    certificates: Arc<Certificates>,
    wants_certificates: bool,
}

struct Certificates {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    newest: ArcSwap<Vec<Arc<CertifiedKey>>>,
    /// The files as they were when they were last read.
    seen: Mutex<Vec<Option<Stamp>>>,
    /// The file of those who issue certificates to operators, as it was at the start.
    client_ca: Option<Stamp>,
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    at: Option<SystemTime>,
    bytes: u64,
}

impl Tls {
    /// Reads the files. Errors, for people: which file is not what it should be.
    pub fn open(files: TlsFiles) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let seen = files.stamps();
        let newest = read(&files, &provider)?.into_iter().collect::<Result<Vec<_>, _>>()?;
        files.certificates.iter().zip(&newest).for_each(|(file, pair)| warn_of_end(file, pair));
        let client_ca = files.client_ca.as_ref().and_then(stamp);
        let roots = files.client_ca.as_deref().map(roots).transpose()?;
        let wants_certificates = roots.is_some();
        let certificates = Arc::new(Certificates {
            files,
            provider: provider.clone(),
            newest: ArcSwap::from_pointee(newest),
            seen: Mutex::new(seen),
            client_ca,
        });
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?;
        let builder = match roots {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                // calls that are not for operators need none
                let verifier = verifier.allow_unauthenticated().build().map_err(|e| e.to_string())?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_cert_resolver(certificates.clone());
        config.ticketer = ring::Ticketer::new().map_err(|e| e.to_string())?;
        Ok(Tls { config: Arc::new(config), certificates, wants_certificates })
    }
    /// What a listener is given. It stays the same when the files change.
    pub fn config(&self) -> ServerConfig {
        ServerConfig::clone(&self.config)
    }
    /// Whether operators have to show certificates.
    pub fn wants_certificates(&self) -> bool {
        self.wants_certificates
    }
    /// Reads the certificates and keys again; new connections get the new ones. Errors, for people: of which pairs the old ones stay.
    pub fn reload(&self) -> Result<(), String> {
        let Certificates { files, newest, .. } = &*self.certificates;
        let before = newest.load_full();
        let read = self.take_changed();
        for ((file, before), now) in files.certificates.iter().zip(before.iter()).zip(newest.load().iter()) {
            if before.cert == now.cert {
                warn_of_end(file, now);
            }
        }
        read
    }
    /// The same without a word about what has not changed.
    fn take_changed(&self) -> Result<(), String> {
        let Certificates { files, provider, newest, seen, .. } = &*self.certificates;
        let mut seen = seen.lock();
        let stamps = files.stamps();
        let before = newest.load();
        let mut errors = vec![];
        let pairs = read(files, provider)?.into_iter().zip(before.iter()).zip(&files.certificates);
        let pairs = pairs.map(|((pair, before), file)| match pair {
            Ok(pair) if pair.cert != before.cert => {
                tracing::info!(file = %file.display(), "another certificate is taken over");
                warn_of_end(file, &pair);
                pair
            }
            Ok(pair) => pair,
            Err(error) => {
                errors.push(error);
                before.clone()
            }
        });
        newest.store(Arc::new(pairs.collect()));
        if !errors.is_empty() {
            return Err(errors.join("; "));
        }
        *seen = stamps;
        Ok(())
    }
    /// Whether a file has changed since it was last read.
    pub fn has_changed(&self) -> bool {
        *self.certificates.seen.lock() != self.certificates.files.stamps()
    }
    /// Whether the file of those who issue certificates to operators has changed since the start: it is not read again.
    pub fn waits_for_restart(&self) -> bool {
        let Certificates { files, client_ca, .. } = &*self.certificates;
        files.client_ca.as_ref().and_then(stamp) != *client_ca
    }
    /// Reads files that change, until it is dropped. While a file and its key do not fit, as between the writing of one and the other,
    /// the old ones stay, and other pairs are taken over.
    pub async fn follow(self) {
        let (mut said, mut has_said_restart) = (None, false);
        loop {
            tokio::time::sleep(LOOK).await;
            let tls = self.clone();
            let looked =
                tokio::task::spawn_blocking(move || tls.has_changed().then(|| tls.take_changed())).await;
            if !std::mem::replace(&mut has_said_restart, self.waits_for_restart()) && has_said_restart {
                tracing::warn!("tls-client-ca has changed: the new one counts after a restart");
            }
            match looked {
                Ok(None) | Err(_) => {}
                Ok(Some(Ok(()))) => {
                    said = None;
                    tracing::info!("the certificates have changed and were read again");
                }
                Ok(Some(Err(error))) if said.as_ref() != Some(&error) => {
                    tracing::warn!(error, "some certificates are not taken over: the ones before stay");
                    said = Some(error);
                }
                Ok(Some(Err(_))) => {}
            }
        }
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tls({:?})", self.certificates.files)
    }
}
impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Certificates({:?})", self.files)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let all = self.newest.load();
        let named = hello.server_name().and_then(|name| ServerName::try_from(name).ok());
        let found = named.and_then(|name| all.iter().find(|it| is_for(it, &name)));
        found.or(all.first()).cloned()
    }
}

/// Whether a certificate is one of a host, wildcards included.
fn is_for(certificate: &CertifiedKey, name: &ServerName<'_>) -> bool {
    let Some(own) = certificate.cert.first() else { return false };
    ParsedCertificate::try_from(own).is_ok_and(|parsed| verify_server_name(&parsed, name).is_ok())
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Stamp { at: metadata.modified().ok(), bytes: metadata.len() })
}

impl TlsFiles {
    fn stamps(&self) -> Vec<Option<Stamp>> {
        self.certificates.iter().chain(&self.keys).map(stamp).collect()
    }
}

/// A certificate with its key, or what is wrong with the files.
type Pair = Result<Arc<CertifiedKey>, String>;

/// Every pair of files. Errors: there are not as many as there should be.
fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Vec<Pair>, String> {
    let TlsFiles { certificates, keys, .. } = files;
    if certificates.is_empty() || certificates.len() > CERTIFICATES_MAX {
        return Err(format!("tls-certificates: expected between 1 and {CERTIFICATES_MAX} files"));
    }
    if certificates.len() != keys.len() {
        return Err(format!(
            "tls-keys: {} files of keys for {} of certificates, expected a key for each",
            keys.len(),
            certificates.len()
        ));
    }
    let pair = |(certificates, key): (&PathBuf, &PathBuf)| {
        let wrong = |path: &Path, why: String| format!("{}: {why}", path.display());
        let chain = chain(certificates)?;
        let text = text(key)?;
        let secret = PrivateKeyDer::from_pem_slice(&text).map_err(|e| wrong(key, e.to_string()))?;
        let pair = CertifiedKey::from_der(chain, secret, provider);
        pair.map(Arc::new).map_err(|e| wrong(key, format!("not a key for {}: {e}", certificates.display())))
    };
    Ok(certificates.iter().zip(keys).map(pair).collect())
}

fn warn_of_end(file: &Path, pair: &CertifiedKey) {
    if let Some(ended) = pair.cert.first().and_then(|own| validity::ended(own, unix_ms())) {
        tracing::warn!(file = %file.display(), ended, "a certificate has ended: clients will refuse it");
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(path)? {
        roots.add(certificate).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(roots)
}

/// The certificates of a file, at least one.
fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = text(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(format!("{}: no certificate in PEM", path.display())),
        Ok(chain) => Ok(chain),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn text(path: &Path) -> Result<Vec<u8>, String> {
    let read = || {
        let bytes = std::fs::metadata(path)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(std::io::Error::other(format!("a file of {bytes} bytes, at most {FILE_BYTES_MAX}")));
        }
        std::fs::read(path)
    };
    read().map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
