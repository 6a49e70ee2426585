//! Encryption of connections.

use std::error::Error;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encryption. Without a file of roots, `require` encrypts and believes whoever answers, as PostgreSQL's own clients do.
pub fn tls(
    roots: Option<&std::path::Path>,
    must_verify: bool,
) -> std::result::Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no encryption: {error}"))?;
    let config = match (roots, must_verify) {
        (Some(file), _) => {
            let mut store = rustls::RootCertStore::empty();
            let unusable = |why: String| format!("sslrootcert: `{}` cannot be used: {why}", file.display());
            let certs = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
            for cert in certs {
                let cert = cert.map_err(|error| unusable(error.to_string()))?;
                store.add(cert).map_err(|error| unusable(error.to_string()))?;
            }
            builder.with_root_certificates(store).with_no_client_auth()
        }
        (None, true) => return Err("sslmode=verify-full needs sslrootcert=FILE".to_string()),
        (None, false) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

/// Believes any certificate: encryption against those who listen, not against those who stand between.
#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &rustls::pki_types::ServerName<'_>,
        _ocsp: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> std::result::Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What was wrong with the encryption of a connection, if that is why there is none.
pub fn refused_by_tls(error: &tokio_postgres::Error) -> Option<String> {
    if !error.to_string().starts_with("error performing TLS handshake") {
        return None;
    }
    let mut cause = error.source();
    while let Some(found) = cause {
        // Whoever reads from the connection wraps it once more.
        let inner = found.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let told = found.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        if let Some(told) = told {
            return Some(in_words(told));
        }
        cause = found.source();
    }
    Some(
        "the server offers none; with sslmode=disable, where nobody can listen, it is reached without"
            .to_string(),
    )
}

fn in_words(error: &rustls::Error) -> String {
    use rustls::CertificateError::*;
    match error {
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            "the server's certificate was not signed by one of those in sslrootcert; name the file of its authority"
                .to_string()
        }
        rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            "the server's certificate is for another host name; name the host as the certificate does".to_string()
        }
        rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => {
            "the server's certificate has expired; renew it".to_string()
        }
        other => other.to_string(),
    }
}
