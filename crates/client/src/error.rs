//! What can go wrong between here and the server, and what that says about the request.

use std::time::Duration;

use baton_core::names::NameError;
use baton_core::wire::Problem;
use baton_core::{Entry, Json, Kind, Rejection, Reply, Revision};
use baton_handle::Failure;
use baton_tls::TlsError;
use thiserror::Error;

/// Why a call did not give what was asked for.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// A name or value was not valid. Nothing was sent.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The server said no.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// The URL does not name a server.
    #[error("`{url}` is not the URL of a server: {reason}")]
    BadUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What is shown as a token cannot be one. Nothing was sent, and it is not told here: it may be
    /// a secret nevertheless.
    #[error("the token has invalid characters, such as a line break")]
    BadToken,
    /// The server cannot be trusted, or nobody knows whom to trust. Nothing was done.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// There is no connection to the server. Nothing was done.
    #[error("cannot connect to {url}: {reason}")]
    Unreachable {
        /// Where the server should be.
        url: String,
        /// What happened at the last attempt.
        reason: String,
    },
    /// The command was sent, but no answer came. Whether it was carried out is unknown.
    #[error("the outcome of the command is unknown: {reason}")]
    Unknown {
        /// What happened instead of an answer.
        reason: String,
    },
    /// The server did not answer in time. Nothing was changed.
    #[error("no response within {} ms", .after.as_millis())]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The server said something that cannot be understood. Nothing was changed.
    #[error("the server's response was not understood: {what}")]
    Protocol {
        /// What does not fit.
        what: String,
    },
    /// The client was closed. Nothing was done.
    #[error("the client is closed")]
    Closed,
    /// Too much is waiting already. Nothing was done.
    #[error("too many {what} are waiting in the client (limit {max})")]
    Crowded {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        max: usize,
    },
}

impl Error {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &str {
        match self {
            Self::Rejected(rejection) => rejection.code(),
            Self::Refused(problem) => &problem.code,
            Self::BadUrl { .. } => "client.bad_url",
            Self::BadToken => "client.bad_token",
            Self::Tls(error) => error.code(),
            Self::Unreachable { .. } => "client.unreachable",
            Self::Unknown { .. } => "client.unknown_outcome",
            Self::Timeout { .. } => "client.timeout",
            Self::Protocol { .. } => "client.protocol",
            Self::Closed => "client.closed",
            Self::Crowded { .. } => "client.crowded",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Rejected(rejection) => rejection.kind(),
            Self::Refused(problem) => problem.kind,
            Self::BadUrl { .. } | Self::BadToken => Kind::Invalid,
            Self::Tls(error) => error.kind(),
            Self::Crowded { .. } => Kind::Exhausted,
            Self::Unreachable { .. }
            | Self::Unknown { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Closed => Kind::Unavailable,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &str {
        match self {
            Self::Rejected(rejection) => rejection.hint(),
            Self::Refused(problem) => &problem.hint,
            Self::BadUrl { .. } => "use a URL such as `http://127.0.0.1:4747`",
            Self::BadToken => {
                "use the token exactly as printed by `baton token create`, on one line"
            }
            Self::Tls(error) => error.hint(),
            Self::Unreachable { .. } => "start the server with `baton serve`, or correct the URL",
            Self::Unknown { .. } => {
                "retry with the same idempotency key, or read the current state"
            }
            Self::Timeout { .. } => "retry, or check the server",
            Self::Protocol { .. } => "use a client and a server of the same release",
            Self::Closed => "connect again",
            Self::Crowded { .. } => "wait for some of them, then retry",
        }
    }

    /// What happened, as a sentence.
    pub fn detail(&self) -> String {
        self.to_string()
    }

    /// A fact that the server told along with its refusal, such as the winning `entry` of a
    /// conflict.
    pub fn fact(&self, name: &str) -> Option<&Json> {
        match self {
            Self::Refused(problem) => problem.fact(name),
            Self::Rejected(_)
            | Self::BadUrl { .. }
            | Self::BadToken
            | Self::Tls(_)
            | Self::Unreachable { .. }
            | Self::Unknown { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Closed
            | Self::Crowded { .. } => None,
        }
    }

    /// Whether the request may have been carried out although it failed. Everything else that
    /// fails was not.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown { .. } => true,
            Self::Refused(problem) => problem.code == "engine.unknown_outcome",
            Self::Rejected(_)
            | Self::BadUrl { .. }
            | Self::BadToken
            | Self::Tls(_)
            | Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Closed
            | Self::Crowded { .. } => false,
        }
    }

    /// The revision from which a watch that ended so can be resumed.
    pub fn resume_from(&self) -> Option<Revision> {
        self.fact("resume_from").and_then(|fact| fact.to().ok())
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Rejected(error.into())
    }
}

impl Failure for Error {
    fn code(&self) -> &str {
        self.code()
    }

    fn kind(&self) -> Kind {
        self.kind()
    }

    fn hint(&self) -> &str {
        self.hint()
    }

    fn is_unknown(&self) -> bool {
        self.is_unknown()
    }

    fn into_winner(self) -> Result<Option<Entry>, Self> {
        if self.code() != "state.version_conflict" {
            return Err(self);
        }
        // Whoever does not learn the winner must not write over it.
        let winner = self.fact("entry").and_then(|entry| entry.to().ok());
        winner.ok_or(self)
    }

    fn odd(reply: &Reply) -> Self {
        Self::Protocol { what: format!("it is a reply to something else: {reply:?}") }
    }
}
