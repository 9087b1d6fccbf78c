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
    #[error("there is nothing at this path")]
    NotFound {},
    /// No such method.
    #[error("this path does not take this method")]
    MethodNotAllowed {},
    /// A body in a form that is not known.
    #[error("a body of type `{given}` is not understood here")]
    UnsupportedMediaType {
        /// What was sent.
        given: String,
    },
    /// Something that only an open connection can do.
    #[error("watching needs an open connection")]
    NeedsConnection {},
    /// Not the handshake of a WebSocket.
    #[error("this is no handshake of a WebSocket: {reason}")]
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
    #[error("there are {max} watches {whose} already, that is the most")]
    TooManyWatches {
        /// Where.
        whose: &'static str,
        /// The limit.
        max: usize,
    },
    /// Too many calls that wait.
    #[error("{max} calls of this connection wait already, that is the most")]
    TooManyWaits {
        /// The limit.
        max: usize,
    },
    /// Too many uploads.
    #[error("{max} artifacts are being uploaded already, that is the most")]
    TooManyUploads {
        /// The limit.
        max: usize,
    },
    /// A part that the content does not have.
    #[error("the content has {length} bytes, the part that was asked for lies beyond them")]
    BadRange {
        /// How many it has.
        length: u64,
    },
    /// Too much is being received.
    #[error("requests of {bytes_max} bytes are being received already, that is the most")]
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
    #[error("a page from elsewhere must not use this server")]
    DeniedOrigin {},
    /// Nobody knows who calls.
    #[error("this server wants to know who calls, and no token was shown")]
    NoToken {},
    /// A token that is worth nothing.
    #[error("the token is not valid: it is unknown, was revoked, or its time is over")]
    BadToken {},
    /// A token of an issuer that is worth nothing.
    #[error("the token of an issuer is not valid: it {reason}")]
    BadJwt {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// More whom an issuer vouches for than can be known.
    #[error("issuers vouch for {max} who are here already, that is the most")]
    TooManyVouched {
        /// The limit.
        max: usize,
    },
    /// A token where everyone can read it.
    #[error("a token must not stand in an address, where logs and histories keep it")]
    TokenInUrl {},
    /// No TLS where it is demanded.
    #[error("this port speaks TLS, and what came is not")]
    PlainText {},
    /// One connection too many.
    #[error("the server has {max} connections already, that is the most")]
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
    /// The server ends.
    #[error("the server ends")]
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
            | Self::TooManyVouched { .. }
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
            | Self::TooManyVouched { .. }
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
            Self::NotFound {} => "see /openapi.json for the paths there are",
            Self::MethodNotAllowed {} => "see /openapi.json for the methods it takes",
            Self::UnsupportedMediaType { .. } => {
                "send application/json; a patch of an entry may also be \
                 application/merge-patch+json or application/json-patch+json"
            }
            Self::NeedsConnection {} => "use GET /v1/{workspace}/watch, or the WebSocket at /v1/ws",
            Self::Handshake { .. } => {
                "use a WebSocket client of version 13 that offers `baton.v1.json` or \
                 `baton.v1.msgpack`"
            }
            Self::Timeout { .. } => "send it again, at once",
            Self::TooManyWatches { .. } => {
                "end some, or watch a wider pattern instead of many narrow ones"
            }
            Self::TooManyWaits { .. } => "wait for fewer things, or use another connection",
            Self::TooMuchReceived { .. }
            | Self::TooManyUploads { .. }
            | Self::TooManyVouched { .. } => "try again later",
            Self::BadRange { .. } => "ask for a part within it, or for all of it",
            Self::DeniedHost { .. } => {
                "call it by the address it prints at start, or name the host with --host"
            }
            Self::DeniedOrigin {} => {
                "serve the page from this server, or name its host with --host"
            }
            Self::NoToken {} => {
                "send `Authorization: Bearer baton_…`, or set BATON_TOKEN; an admin makes one with \
                 `baton token create`"
            }
            Self::BadJwt { .. } => "get a new one from the issuer, for the audience of this server",
            Self::BadToken {} => "ask an admin for a new one",
            Self::TokenInUrl {} => {
                "send it as `Authorization: Bearer baton_…`, and revoke it: it may have been seen"
            }
            Self::PlainText {} => "call it by `https://`, or `wss://` for a WebSocket",
            Self::TooManyConnections { .. } => {
                "close some, share one WebSocket for many requests, or try again later"
            }
            Self::OverQuota { limit: Limit::Operations | Limit::Bytes, .. } => {
                "wait for `retry_after_ms`, ask for less at a time, or ask whoever runs the server \
                 for more"
            }
            Self::OverQuota { limit: Limit::Connections | Limit::Watches, .. } => {
                "end some that are open, or ask whoever runs the server for more"
            }
            Self::Closing {} => "ask another server, or wait for this one to begin again",
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.kind(), &refusal, refusal.hint(), &refusal)
    }
}
