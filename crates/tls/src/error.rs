//! The reasons why a connection could not be secured.

use std::path::Path;

use rustls::pki_types::pem::Error as PemError;
use thiserror::Error;

baton_core::refusals! {
    /// Why a connection could not be secured.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum TlsError {
        /// A TLS file cannot be used.
        #[error("`{path}` cannot be used for TLS: {reason}")]
        Unreadable {
            /// The file.
            path: String,
            /// The reason.
            reason: String,
        } => {
            code: "tls.unreadable",
            kind: Invalid,
            hint: "name a readable PEM file",
            cause: "It does not exist, cannot be read, is not PEM, or contains no certificate or \
                no key.",
            remedy: "Name an existing PEM file. Its content is never shown, since it may be a key.",
        }
        /// The certificate and the key do not match.
        #[error(
            "the certificate in `{certificate}` cannot be used with the key in `{key}`: {reason}"
        )]
        Unusable {
            /// The certificate file.
            certificate: String,
            /// The key file.
            key: String,
            /// The reason.
            reason: String,
        } => {
            code: "tls.unusable",
            kind: Invalid,
            hint: "use the key that belongs to the certificate",
            cause: "The key belongs to another certificate, or is of an unsupported type.",
            remedy: "Use the key that belongs to the certificate; RSA, ECDSA and Ed25519 are \
                supported.",
        }
        /// There are no trusted certificate authorities.
        #[error("there is no trusted certificate authority: {reason}")]
        NoRoots {
            /// The reason.
            reason: String,
        } => {
            code: "tls.no_roots",
            kind: Unavailable,
            hint: "name the CA certificate of the server with --ca-file or BATON_CA_FILE",
            cause: "The URL begins with `https://`, and the system trust store is empty. A webhook \
                call fails with this code in its detail.",
            remedy: "Name a file of CA certificates with `--ca-file` or `BATON_CA_FILE`.",
        }
        /// The URL begins with `https://`, and the server does not use TLS. Nothing was sent.
        #[error("the server does not use TLS")]
        PlainServer {} => {
            code: "tls.plain_server",
            kind: Unavailable,
            hint: "use a URL that begins with `http://`",
            cause: "The server was started without `--tls-cert`, or another program listens at \
                this address.",
            remedy: "Use a URL that begins with `http://`, or start the server with `--tls-cert` \
                and `--tls-key`.",
        }
        /// The server's certificate could not be verified. Nothing was sent.
        #[error("`{host}` is not trusted: {reason}")]
        Untrusted {
            /// The host.
            host: String,
            /// The error of its certificate.
            reason: String,
        } => {
            code: "tls.untrusted",
            kind: Denied,
            hint: "name the CA certificate of the server with --ca-file or BATON_CA_FILE",
            cause: "Its certificate is for another name, has expired, or was issued by an \
                untrusted authority. A webhook call fails with this code in its detail, and is \
                retried: the certificate may be renewed.",
            remedy: "Use a name from the certificate; add its authority with `--ca-file` or \
                `BATON_CA_FILE`.",
        }
        /// The TLS handshake failed.
        #[error("the TLS handshake failed: {reason}")]
        Broken {
            /// The error, in words.
            reason: String,
        } => {
            code: "tls.broken",
            kind: Unavailable,
            hint: "check whether the server speaks TLS, or use `http://`",
            cause: "The server does not speak TLS, or closed the connection. A client reports it \
                as `client.unreachable`; a webhook call fails with this code in its detail.",
        }
    }
}

impl TlsError {
    pub(crate) fn unreadable(path: &Path, error: &PemError) -> Self {
        let reason = match error {
            PemError::Io(error) => error.to_string(),
            // Only of a key: a file without certificates is an empty list.
            PemError::NoItemsFound => "there is no private key in it".to_owned(),
            // The parser's own message would quote the file, which may be a key.
            _ => "it is not PEM".to_owned(),
        };
        Self::Unreadable { path: path.display().to_string(), reason }
    }
}
