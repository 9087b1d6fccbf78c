//! Why a connection could not be made safe.

use std::path::Path;

use baton_core::Kind;
use rustls::pki_types::pem::Error as PemError;
use thiserror::Error;

/// Why a connection could not be made safe.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TlsError {
    /// A file that is not what it should be.
    #[error("`{path}` cannot be used for TLS: {reason}")]
    Unreadable {
        /// Which file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate and a key that are of no use together.
    #[error("the certificate in `{certificate}` cannot be used with the key in `{key}`: {reason}")]
    Unusable {
        /// Where the certificate is.
        certificate: String,
        /// Where the key is.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// Nobody to trust.
    #[error("there is no trusted certificate authority: {reason}")]
    NoRoots {
        /// What is wrong.
        reason: String,
    },
    /// The peer is not whom it claims to be, or nobody vouches for it.
    #[error("`{host}` is not trusted: {reason}")]
    Untrusted {
        /// Who was called.
        host: String,
        /// What is wrong with its certificate.
        reason: String,
    },
    /// The peer could not be agreed with.
    #[error("the TLS handshake failed: {reason}")]
    Broken {
        /// What happened.
        reason: String,
    },
}

impl TlsError {
    pub(crate) fn unreadable(path: &Path, error: &PemError) -> Self {
        let reason = match error {
            PemError::Io(error) => error.to_string(),
            PemError::NoItemsFound => "there is nothing of that sort in it".to_owned(),
            // What the parser says would quote the file, which may be a key.
            _ => "it is not PEM".to_owned(),
        };
        Self::Unreadable { path: path.display().to_string(), reason }
    }

    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "tls.unreadable",
            Self::Unusable { .. } => "tls.unusable",
            Self::NoRoots { .. } => "tls.no_roots",
            Self::Untrusted { .. } => "tls.untrusted",
            Self::Broken { .. } => "tls.broken",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unreadable { .. } | Self::Unusable { .. } => Kind::Invalid,
            Self::Untrusted { .. } => Kind::Denied,
            Self::NoRoots { .. } | Self::Broken { .. } => Kind::Unavailable,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "name a readable PEM file",
            Self::Unusable { .. } => "use the key that belongs to the certificate",
            Self::NoRoots { .. } | Self::Untrusted { .. } => {
                "name the CA certificate of the server with --ca-file or BATON_CA_FILE"
            }
            Self::Broken { .. } => "check whether the server speaks TLS, or use `http://`",
        }
    }
}
