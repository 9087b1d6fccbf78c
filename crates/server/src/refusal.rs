//! What a door itself refuses, before the engine is asked.

use baton_core::Kind;
use baton_core::wire::Problem;
use serde::Serialize;
use thiserror::Error;

use crate::quota::{Limit, Owner};

/// A door said no. Nothing was done. Serialized, it is its facts.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub(crate) enum Refusal {
    /// No such path.
    #[error("this path does not exist")]
    NotFound {},
    /// No such method.
    #[error("this path does not support this method")]
    MethodNotAllowed {},
    /// A body in a form that is not known.
    #[error("a body of type `{given}` is not supported here")]
    UnsupportedMediaType {
        /// What was sent.
        given: String,
    },
    /// Something that only an open connection can do.
    #[error("watching needs an open connection")]
    NeedsConnection {},
    /// Not the handshake of a WebSocket.
    #[error("this is not a WebSocket handshake: {reason}")]
    Handshake {
        /// What is missing.
        reason: &'static str,
    },
    /// The body took too long.
    #[error("the body took more than {deadline_ms} ms")]
    Timeout {
        /// How long it may take.
        deadline_ms: u128,
    },
    /// Too many watches.
    #[error("too many watches {whose} (limit {max})")]
    TooManyWatches {
        /// Where.
        whose: &'static str,
        /// The limit.
        max: usize,
    },
    /// Too many calls that wait.
    #[error("too many waiting calls on this connection (limit {max})")]
    TooManyWaits {
        /// The limit.
        max: usize,
    },
    /// Too many uploads.
    #[error("too many artifact uploads (limit {max})")]
    TooManyUploads {
        /// The limit.
        max: usize,
    },
    /// A part that the content does not have.
    #[error("the requested range is beyond the end of the content, which has {length} bytes")]
    BadRange {
        /// How many it has.
        length: u64,
    },
    /// Too much is being received.
    #[error("too many bytes of requests are being received (limit {bytes_max})")]
    TooMuchReceived {
        /// The limit.
        bytes_max: usize,
    },
    /// Another name than the server's.
    #[error("the server is not called `{host}`")]
    DeniedHost {
        /// What it was called.
        host: String,
    },
    /// A page from elsewhere.
    #[error("a page from another origin must not use this server")]
    DeniedOrigin {},
    /// Nobody knows who calls.
    #[error("this server requires a token, and the request has none")]
    NoToken {},
    /// A token that is worth nothing.
    #[error("the token is invalid: it is unknown, was revoked, or has expired")]
    BadToken {},
    /// A token of an issuer that is worth nothing.
    #[error("the JWT is invalid: it {reason}")]
    BadJwt {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// More whom an issuer vouches for than can be known.
    #[error("too many JWT identities (limit {max})")]
    TooManyJwtIdentities {
        /// The limit.
        max: usize,
    },
    /// A token where everyone can read it.
    #[error("a token must not be part of a URL, which logs and histories record")]
    TokenInUrl {},
    /// No TLS where it is demanded.
    #[error("this port requires TLS")]
    PlainText {},
    /// One connection too many.
    #[error("too many connections (limit {max})")]
    TooManyConnections {
        /// The limit.
        max: usize,
    },
    /// More than somebody may take.
    #[error(
        "the quota of the {} is reached: it may {} {max} {}",
        .of.name(), .limit.verb(), .limit.things()
    )]
    OverQuota {
        /// What is limited.
        limit: Limit,
        /// Whose quota it is.
        of: Owner,
        /// How much it is.
        max: u64,
        /// How long to wait, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Closing {},
}

impl Refusal {
    /// Stable across releases; documented in `docs/errors.md`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotFound {} => "request.not_found",
            Self::MethodNotAllowed {} => "request.method_not_allowed",
            Self::UnsupportedMediaType { .. } => "request.unsupported_media_type",
            Self::NeedsConnection {} | Self::Handshake { .. } => "request.malformed",
            Self::Timeout { .. } => "request.timeout",
            Self::TooManyWatches { .. }
            | Self::TooManyWaits { .. }
            | Self::TooManyUploads { .. }
            | Self::TooManyJwtIdentities { .. }
            | Self::TooMuchReceived { .. } => "request.too_many",
            Self::BadRange { .. } => "request.bad_range",
            Self::DeniedHost { .. } => "request.denied_host",
            Self::DeniedOrigin {} => "request.denied_origin",
            Self::NoToken {} => "access.no_token",
            Self::BadToken {} => "access.bad_token",
            Self::BadJwt { .. } => "access.bad_jwt",
            Self::TokenInUrl {} => "access.token_in_url",
            Self::PlainText {} => "request.plain_text",
            Self::TooManyConnections { .. } => "server.too_many_connections",
            Self::OverQuota { limit: Limit::Operations, .. } => "quota.operations",
            Self::OverQuota { limit: Limit::Bytes, .. } => "quota.bytes",
            Self::OverQuota { limit: Limit::Connections, .. } => "quota.connections",
            Self::OverQuota { limit: Limit::Watches, .. } => "quota.watches",
            Self::Closing {} => "server.closing",
        }
    }

    /// What the caller should do about it.
    fn kind(&self) -> Kind {
        match self {
            Self::NotFound {} => Kind::NotFound,
            Self::MethodNotAllowed {}
            | Self::UnsupportedMediaType { .. }
            | Self::NeedsConnection {}
            | Self::BadRange { .. }
            | Self::TokenInUrl {}
            | Self::PlainText {}
            | Self::Handshake { .. } => Kind::Invalid,
            Self::Timeout { .. } | Self::Closing {} => Kind::Unavailable,
            Self::TooManyWatches { .. }
            | Self::TooManyWaits { .. }
            | Self::TooManyUploads { .. }
            | Self::TooManyJwtIdentities { .. }
            | Self::TooMuchReceived { .. }
            | Self::TooManyConnections { .. }
            | Self::OverQuota { .. } => Kind::Exhausted,
            Self::DeniedHost { .. }
            | Self::DeniedOrigin {}
            | Self::NoToken {}
            | Self::BadToken {}
            | Self::BadJwt { .. } => Kind::Denied,
        }
    }

    /// What to do next, as a sentence.
    fn hint(&self) -> &'static str {
        match self {
            Self::NotFound {} => "see /openapi.json for the available paths",
            Self::MethodNotAllowed {} => "see /openapi.json for the supported methods",
            Self::UnsupportedMediaType { .. } => {
                "send application/json; a patch of an entry may also be \
                 application/merge-patch+json or application/json-patch+json"
            }
            Self::NeedsConnection {} => "use GET /v1/{workspace}/watch, or the WebSocket at /v1/ws",
            Self::Handshake { .. } => {
                "use a WebSocket client of version 13 that offers `baton.v1.json` or \
                 `baton.v1.msgpack`"
            }
            Self::Timeout { .. } => "send the request again",
            Self::TooManyWatches { .. } => {
                "end some, or watch one wider pattern instead of many narrow ones"
            }
            Self::TooManyWaits { .. } => "wait for fewer things, or use another connection",
            Self::TooMuchReceived { .. }
            | Self::TooManyUploads { .. }
            | Self::TooManyJwtIdentities { .. } => "try again later",
            Self::BadRange { .. } => "request a range within the content, or all of it",
            Self::DeniedHost { .. } => {
                "use the address that the server prints at start, or add the host with --host"
            }
            Self::DeniedOrigin {} => "serve the page from this server, or add its host with --host",
            Self::NoToken {} => {
                "send `Authorization: Bearer baton_…`, or set BATON_TOKEN; an admin creates one \
                 with `baton token create`"
            }
            Self::BadJwt { .. } => "get a new one from the issuer, for the audience of this server",
            Self::BadToken {} => "ask an admin for a new one",
            Self::TokenInUrl {} => {
                "send it as `Authorization: Bearer baton_…`, and revoke it: it may be exposed"
            }
            Self::PlainText {} => "use `https://`, or `wss://` for a WebSocket",
            Self::TooManyConnections { .. } => {
                "close some, share one WebSocket for many requests, or try again later"
            }
            Self::OverQuota { limit: Limit::Operations | Limit::Bytes, .. } => {
                "wait for `retry_after_ms`, send less, or ask the server's operator for a larger \
                 quota"
            }
            Self::OverQuota { limit: Limit::Connections | Limit::Watches, .. } => {
                "close some, or ask the server's operator for a larger quota"
            }
            Self::Closing {} => "use another server, or wait until this one has restarted",
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.kind(), &refusal, refusal.hint(), &refusal)
    }
}
