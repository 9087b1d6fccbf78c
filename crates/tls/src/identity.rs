//! The identity of a server: its certificate and its key.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsStream};

use crate::error::TlsError;
use crate::stream::Stream;
use crate::{PROTOCOL, certificates, provider};

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;

/// The identity of a server. Clones share it: a reload affects all of them.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    config: RwLock<Arc<ServerConfig>>,
}

impl std::fmt::Debug for Identity {
    /// Omits the key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Identity({})", self.0.certificate.display())
    }
}

impl Identity {
    /// Reads a chain of certificates, that of the server first, and its key; both in PEM.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let config = RwLock::new(config(certificate, key)?);
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Self(Arc::new(Inner { certificate, key, config })))
    }

    /// Reads the same files again, for later connections. If that fails, nothing changes.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let fresh = config(&self.0.certificate, &self.0.key)?;
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Performs the handshake with a peer that has connected. A peer that does not use TLS is
    /// returned as it is.
    pub async fn accept(&self, socket: TcpStream) -> Result<Accepted, Error> {
        let mut first = [0];
        if socket.peek(&mut first).await? == 0 {
            return Err(Error::from(ErrorKind::UnexpectedEof));
        }
        if first != [HANDSHAKE] {
            return Ok(Accepted::Plain(socket));
        }
        let config = Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner));
        let stream = TlsAcceptor::from(config).accept(socket).await?;
        Ok(Accepted::Secure(Stream::Secure(Box::new(TlsStream::from(stream)))))
    }
}

/// A peer that has connected.
pub enum Accepted {
    /// A peer whose handshake succeeded.
    Secure(Stream),
    /// A peer that does not use TLS, to be answered in plain text.
    Plain(TcpStream),
}

fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificates(certificate)?;
    let secret =
        PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::unreadable(key, &error))?;
    let unusable = |error: rustls::Error| {
        let reason = match error {
            rustls::Error::InconsistentKeys(_) => "the key is of another certificate".to_owned(),
            other => other.to_string(),
        };
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        TlsError::Unusable { certificate, key, reason }
    };
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(unusable)?;
    // Browsers keep to the first, which WebSockets need; clients of gRPC know only the second.
    config.alpn_protocols = vec![PROTOCOL.to_vec(), b"h2".to_vec()];
    Ok(Arc::new(config))
}
