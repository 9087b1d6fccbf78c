//! The reasons to refuse commands and queries of secrets.

use serde::Serialize;
use thiserror::Error;

use crate::names::SecretId;
use crate::refusal::{OutOfRange, TooLarge, TooMany};

crate::refusals! {
    /// Why a secret command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The secret does not exist.
        #[error("there is no secret `{secret}`")]
        NotFound {
            /// The secret.
            secret: SecretId,
        } => {
            code: "secret.not_found",
            kind: NotFound,
            hint: "list the secrets with secret.list; this one may have been deleted or expired",
            cause: "The reference was never issued, or the secret was deleted or has expired.",
            remedy: "List the secrets. A deleted or expired value cannot be recovered.",
        }
        /// The server has no key to encrypt values with.
        #[error("this server has no key for secrets")]
        NoKey {} => {
            code: "secret.no_key",
            kind: Unavailable,
            hint: "start every server with the same --secrets-key-file",
            cause: "Several servers share the data (`baton serve --log URL`), where others may \
                read it. Values of secrets are stored there only encrypted, and the server was \
                started without the key. Nothing was written.",
            remedy: "Write a key with `openssl rand -hex 32`, and start every server that shares \
                the data with it: `--secrets-key-file FILE`. Listing and deleting secrets needs no \
                key.",
        }
        /// A number in a secret command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "secret.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`ttl_ms` is 0 or more than ten years, or `limit` is not a valid page size.",
            remedy: "Use a number within the range in the response.",
        }
        /// The secret is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "secret.too_large",
            kind: TooLarge,
            hint: "encrypt it and store it as an artifact, with the key as the secret",
            cause: "It exceeds 64 KiB.",
            remedy: "Encrypt it, store it as an artifact, and keep only the key as a secret.",
        }
        /// There are too many secrets.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "secret.too_many",
            kind: Exhausted,
            hint: "delete some, or create them with a time to live",
            cause: "The workspace has 10,000.",
            remedy: "Delete some, or create them with a `ttl_ms`.",
        }
    }
}
