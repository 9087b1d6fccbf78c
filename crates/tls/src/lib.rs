//! Connections: a plain socket, or an encrypted one, as one type.
//!
//! ```text
//!   server   accept ──▶ Identity ─── handshake ────┐
//!                                                  ├──▶ Stream: Plain | Secure
//!   client   connect ─▶ Trust ───── handshake ─────┘
//! ```
//!
//! Everything that connects (the client, webhooks, calls to a model's endpoint) and everything that
//! listens uses this crate, so that trust and protocol versions are decided in one place.
//!
//! Invariants:
//!
//! 1. A server without an identity has no overhead: its stream is the socket.
//! 2. A certificate that does not match its key is refused when it is read, not at the first
//!    connection.
//! 3. A reloaded identity replaces the old one completely or not at all.
//! 4. A missing authority never means trust: having no roots is an error, and so is a bad file.
//!
//! Deliberately absent: client certificates, since clients send a token; and HTTP/2, which adds
//! nothing to a WebSocket that carries many requests at a time.

mod error;
mod identity;
mod stream;
#[cfg(test)]
mod tests;
mod trust;

pub use error::TlsError;
pub use identity::{Accepted, Identity};
pub use stream::{Stream, probe_quiet_peer, try_send};
pub use trust::Trust;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};

/// The negotiated protocol: a WebSocket starts with HTTP/1.1, like everything else.
const PROTOCOL: &[u8] = b"http/1.1";

/// Given explicitly, since a program that embeds this may have installed another provider.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Every certificate of a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unreadable = |error: PemError| TlsError::unreadable(path, &error);
    let found = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(unreadable)?;
    if found.is_empty() {
        return Err(TlsError::Unreadable {
            path: path.display().to_string(),
            reason: "there is no certificate in it".to_owned(),
        });
    }
    Ok(found)
}
