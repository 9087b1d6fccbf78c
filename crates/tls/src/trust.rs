//! The certificate authorities that a client trusts.

use std::io::Error;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};

use crate::error::TlsError;
use crate::stream::Stream;
use crate::{PROTOCOL, certificates, provider};

/// The certificate authorities that a client trusts.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

impl std::fmt::Debug for Trust {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Trust")
    }
}

impl Trust {
    /// The authorities of a file if one is given, otherwise those of the system.
    pub fn of(file: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        match file {
            Some(path) => {
                for certificate in certificates(path)? {
                    let unfit = |error: rustls::Error| TlsError::Unreadable {
                        path: path.display().to_string(),
                        reason: error.to_string(),
                    };
                    roots.add(certificate).map_err(unfit)?;
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                // Some systems contain a few unreadable certificates; the others are used.
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    let said = found.errors.first().map(ToString::to_string);
                    let reason = said.unwrap_or_else(|| "the system names none".to_owned());
                    return Err(TlsError::NoRoots { reason });
                }
            }
        }
        let builder = ClientConfig::builder_with_provider(provider());
        let odd = |error: rustls::Error| TlsError::Broken { reason: error.to_string() };
        let builder = builder.with_safe_default_protocol_versions().map_err(odd)?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self(Arc::new(config)))
    }

    /// The configuration for another protocol than HTTP.
    pub fn client_config(&self, protocol: &[u8]) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols = vec![protocol.to_vec()];
        Arc::new(config)
    }

    /// Performs the handshake with a host, which must have this name: a DNS name, or an address
    /// with or without brackets.
    pub async fn connect(&self, host: &str, socket: TcpStream) -> Result<Stream, TlsError> {
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Untrusted {
            host: host.to_owned(),
            reason: "that is a name which no certificate can have".to_owned(),
        })?;
        let connector = TlsConnector::from(Arc::clone(&self.0));
        let stream = connector.connect(name, socket).await;
        let stream = stream.map_err(|error| refused(host, &error))?;
        Ok(Stream::Secure(Box::new(TlsStream::from(stream))))
    }
}

fn refused(host: &str, error: &Error) -> TlsError {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(reason)) => {
            TlsError::Untrusted { host: host.to_owned(), reason: words(reason) }
        }
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            TlsError::PlainServer {}
        }
        Some(_) | None => TlsError::Broken { reason: error.to_string() },
    }
}

/// The flaw of a certificate, in words.
fn words(flaw: &CertificateError) -> String {
    match flaw {
        CertificateError::Other(inner) if inner.to_string() == "CaUsedAsEndEntity" => {
            "its certificate is that of an authority; a server needs one with `CA:FALSE`".to_owned()
        }
        CertificateError::Other(inner) => inner.to_string(),
        other => other.to_string(),
    }
}
