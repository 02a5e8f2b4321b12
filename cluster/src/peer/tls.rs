//! How a node proves that it belongs to the installation: certificates under an authority made from the shared secret.
//!
//! Every node derives the same authority from the secret and signs a certificate for itself at its start; nothing is
//! stored or handed out. The certificate names the node. Whoever has the secret can name itself as it likes: the secret
//! decides who belongs, the name only keeps honest nodes from being taken for each other.

use super::secret::ClusterSecret;
use super::types::StartError;
use hkdf::Hkdf;
use quorate_model::NodeId;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, date_time_ymd,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, PeerIncompatible, RootCertStore, ServerConfig, SignatureScheme,
};
use sha2::Sha256;
use std::sync::Arc;

/// Keeps keys made from the secret for different purposes apart; a change locks old nodes out.
const AUTHORITY_PURPOSE: &[u8] = b"quorate peer authority ed25519 1";
/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7).
const PKCS8_ED25519: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// What a node needs to dial and to be dialled.
#[derive(Clone)]
pub struct Identity {
    /// For connections it dials.
    pub client: Arc<ClientConfig>,
    /// For connections it accepts.
    pub server: Arc<ServerConfig>,
}

impl Identity {
    /// Makes the certificate of `node` under `secret`, for those who believe it; those under `also` are believed as well.
    /// Errors: `Certificate` when a library refuses what is built here.
    pub fn new(
        secret: &ClusterSecret,
        also: Option<&ClusterSecret>,
        node: NodeId,
    ) -> Result<Self, StartError> {
        let authority_key = authority_key(secret).map_err(certificate_error)?;
        let authority_params = authority_params();
        let authority = authority_params.self_signed(&authority_key).map_err(certificate_error)?;
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(certificate_error)?;
        let issuer = Issuer::new(authority_params, authority_key);
        let own = node_params(node)
            .and_then(|params| params.signed_by(&key, &issuer))
            .map_err(certificate_error)?;

        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).map_err(certificate_error)?;
        if let Some(also) = also.filter(|also| *also != secret) {
            let key = self::authority_key(also).map_err(certificate_error)?;
            let authority = self::authority_params().self_signed(&key).map_err(certificate_error)?;
            roots.add(authority.der().clone()).map_err(certificate_error)?;
        }
        let roots = Arc::new(roots);
        let chain = vec![own.der().clone()];
        let private = || PrivatePkcs8KeyDer::from(key.serialize_der()).into();

        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(certificate_error)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(UnderAuthority::new(roots.clone(), &provider)))
            .with_client_auth_cert(chain.clone(), private())
            .map_err(certificate_error)?;
        // every connection proves itself anew
        client.resumption = Resumption::disabled();
        client.enable_sni = false;

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(certificate_error)?;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(certificate_error)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, private())
            .map_err(certificate_error)?;
        server.send_tls13_tickets = 0;
        Ok(Identity { client: Arc::new(client), server: Arc::new(server) })
    }
}

fn certificate_error(error: impl std::fmt::Display) -> StartError {
    StartError::Certificate(error.to_string())
}

fn authority_key(secret: &ClusterSecret) -> Result<KeyPair, rcgen::Error> {
    let mut seed = [0; 32];
    Hkdf::<Sha256>::new(None, secret.bytes())
        .expand(AUTHORITY_PURPOSE, &mut seed)
        .expect("32 bytes are one block of the hash");
    let der = [&PKCS8_ED25519[..], &seed].concat();
    KeyPair::try_from(&PrivatePkcs8KeyDer::from(der))
}

fn authority_params() -> CertificateParams {
    let mut params = unending(CertificateParams::default());
    params.distinguished_name = named("Quorate nodes");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn node_params(node: NodeId) -> Result<CertificateParams, rcgen::Error> {
    let mut params = unending(CertificateParams::new(vec![dns_name(node)])?);
    params.distinguished_name = named(&format!("Quorate node {node}"));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// A wrong clock must not part nodes, and certificates live as long as a process: valid at all times (RFC 5280 §4.1.2.5).
fn unending(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(9999, 12, 31);
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut all = DistinguishedName::new();
    all.push(DnType::CommonName, name);
    all
}

fn dns_name(node: NodeId) -> String {
    format!("node-{:016x}.quorate", node.0)
}

/// The name that stands in a connection before it is known who answers; the certificate is compared with the greeting.
pub fn any_name() -> ServerName<'static> {
    ServerName::try_from("any.quorate").expect("a valid name")
}

/// Whether a certificate, already verified, is the one of `node`.
pub fn is_of(chain: Option<&[CertificateDer<'_>]>, node: NodeId) -> bool {
    let Some(first) = chain.and_then(<[_]>::first) else { return false };
    let Ok(name) = ServerName::try_from(dns_name(node)) else { return false };
    ParsedCertificate::try_from(first).is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
}

/// Whether a failed handshake means that the two nodes do not have the same secret.
pub fn is_wrong_secret(error: &std::io::Error) -> bool {
    use rustls::AlertDescription as Alert;
    let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return false;
    };
    matches!(
        error,
        rustls::Error::InvalidCertificate(_)
            | rustls::Error::NoCertificatesPresented
            | rustls::Error::PeerIncompatible(PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon)
            | rustls::Error::AlertReceived(
                Alert::UnknownCA
                    | Alert::BadCertificate
                    | Alert::CertificateUnknown
                    | Alert::DecryptError
                    | Alert::CertificateRequired
                    | Alert::AccessDenied
            )
    )
}

/// Accepts servers whose certificate is under the authority; who exactly it is, is asked later ([`is_of`]).
#[derive(Debug)]
struct UnderAuthority {
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl UnderAuthority {
    fn new(roots: Arc<RootCertStore>, provider: &CryptoProvider) -> Self {
        UnderAuthority { roots, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for UnderAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let parsed = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &self.roots,
            intermediates,
            now,
            self.algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_follows_from_the_secret_alone() {
        let of = |byte: u8| {
            authority_key(&ClusterSecret::from_bytes([byte; 32])).unwrap().public_key_raw().to_vec()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let hex: String = of(1).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex, "777eb33fbbee45656ac49ecf0eb957864de231797ff4c1c5ea7d4c7cef052c0e",
            "nodes of other versions derive the same key"
        );
    }

    #[test]
    fn a_certificate_is_of_its_node_only() {
        let secret = ClusterSecret::random();
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let issuer = Issuer::new(authority_params(), authority_key(&secret).unwrap());
        let made = node_params(NodeId(77)).unwrap().signed_by(&key, &issuer).unwrap();
        let chain = [made.der().clone()];
        for (chain, node, expected) in [
            (Some(&chain[..]), 77, true),
            (Some(&chain[..]), 78, false),
            (Some(&[][..]), 77, false),
            (None, 77, false),
        ] {
            assert_eq!(is_of(chain, NodeId(node)), expected, "{node}");
        }
        assert!(!is_of(Some(&[CertificateDer::from(vec![1, 2, 3])]), NodeId(77)), "not a certificate");
    }

    #[test]
    fn clocks_that_are_wrong_do_not_part_nodes() {
        let secret = ClusterSecret::random();
        let authority = authority_params().self_signed(&authority_key(&secret).unwrap()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let verifier = UnderAuthority::new(Arc::new(roots), &ring::default_provider());
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let verify = |secret: &ClusterSecret, unix_s: u64| {
            let issuer = Issuer::new(authority_params(), authority_key(secret).unwrap());
            let made = node_params(NodeId(1)).unwrap().signed_by(&key, &issuer).unwrap();
            let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(unix_s));
            verifier.verify_server_cert(made.der(), &[], &any_name(), &[], now)
        };
        for unix_s in [0, 1, 1_000_000_000, 4_000_000_000, 250_000_000_000] {
            assert!(verify(&secret, unix_s).is_ok(), "at {unix_s}");
        }
        let error = verify(&ClusterSecret::random(), 1_000_000_000).unwrap_err();
        assert!(is_wrong_secret(&std::io::Error::other(error.clone())), "{error:?}");
    }
}
