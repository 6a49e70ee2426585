//! Encrypted connections.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::error::CliError;

/// A certificate and its key, ready to be used.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl Tls {
    /// Reads both from PEM files.
    pub(crate) fn read(cert: &Path, key: &Path) -> Result<Tls, CliError> {
        let unusable = |flag: &str, path: &Path, why: String| {
            CliError::failed(format!("{flag}: `{}` cannot be used: {why}", path.display()))
        };
        let certs: Result<Vec<CertificateDer<'_>>, _> =
            CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
        let certs = match certs {
            Ok(certs) if certs.is_empty() => {
                return Err(unusable("--tls-cert", cert, "it holds no certificate".into())
                    .hint("it must be a PEM file: the server's certificate, then those that vouch for it"));
            }
            Ok(certs) => certs,
            Err(error) => return Err(unusable("--tls-cert", cert, error.to_string())),
        };
        let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| {
            unusable("--tls-key", key, error.to_string()).hint("it must be a PEM file with one private key")
        })?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certs, key_der));
        let mut config = config.map_err(|error| unusable("--tls-key", key, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.0.accept(stream).await
    }
}
