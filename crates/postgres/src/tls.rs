//! Encrypted connections to a database, with the certificate authorities of `baton-tls`.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton_tls::Trust;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;

/// What `PostgreSQL` 17 and later expect to be negotiated.
const PROTOCOL: &[u8] = b"postgresql";

/// Makes encrypted connections.
#[derive(Clone)]
pub(crate) struct MakeEncrypted(Arc<ClientConfig>);

impl MakeEncrypted {
    pub(crate) fn new(trust: &Trust) -> Self {
        Self(trust.client_config(PROTOCOL))
    }
}

impl MakeTlsConnect<Socket> for MakeEncrypted {
    type Stream = Encrypted;
    type TlsConnect = Encrypt;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Encrypt> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Encrypt { config: Arc::clone(&self.0), name })
    }
}

/// The handshake with one host.
pub(crate) struct Encrypt {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Encrypt {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self { config, name } = self;
        Box::pin(async move {
            let stream = TlsConnector::from(config).connect(name, socket).await?;
            Ok(Encrypted(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
pub(crate) struct Encrypted(Box<RustlsStream<Socket>>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
