//! TLS as `sslmode` requires it.

use std::path::Path;
use std::sync::Arc;

use longhaul_runtime::bounded_read;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{PostgresAddress, TlsMode, chain};

/// Returns what makes TLS connections for an address. The error names what cannot be used.
pub(super) fn connector(address: &PostgresAddress) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let config = config.map_err(|error| chain(&error))?;
    let is_checked = match address.tls {
        TlsMode::VerifyCa | TlsMode::VerifyFull => true,
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => address.root_certificates.is_some(),
    };
    let certificates = match (is_checked, address.tls) {
        (true, TlsMode::VerifyFull) => Certificates::OfTheHost(webpki(address, &provider)?),
        (true, _) => Certificates::OfAnAuthority(webpki(address, &provider)?),
        (false, _) => Certificates::Any,
    };
    let verifier = Arc::new(Verifier { certificates, provider });
    let config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn webpki(address: &PostgresAddress, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let roots = match &address.root_certificates {
        Some(path) => roots_in(path)?,
        None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
    };
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    builder.build().map_err(|error| chain(&error))
}

fn roots_in(path: &Path) -> Result<RootCertStore, String> {
    let failed = |problem: String| format!("cannot use the certificates in {}: {problem}", path.display());
    let pem = bounded_read::bytes(path, bounded_read::LARGE).map_err(|error| failed(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| failed(chain(&error)))?;
        roots.add(certificate).map_err(|error| failed(chain(&error)))?;
    }
    if roots.is_empty() { Err(failed("there are none".to_owned())) } else { Ok(roots) }
}

#[derive(Debug)]
enum Certificates {
    /// Any: the connection is encrypted, and the server may be another one.
    Any,
    /// One of a trusted authority, for any host.
    OfAnAuthority(Arc<WebPkiServerVerifier>),
    /// One of a trusted authority, for this host.
    OfTheHost(Arc<WebPkiServerVerifier>),
}

#[derive(Debug)]
struct Verifier {
    certificates: Certificates,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let check = |webpki: &WebPkiServerVerifier| {
            webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        match &self.certificates {
            Certificates::Any => Ok(ServerCertVerified::assertion()),
            Certificates::OfTheHost(webpki) => check(webpki),
            Certificates::OfAnAuthority(webpki) => match check(webpki) {
                // The name is checked last: the rest is right.
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                )) => Ok(ServerCertVerified::assertion()),
                checked => checked,
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
