//! The error of a failed call, with any carrier.

use std::time::Duration;

use baton_core::names::NameError;
use baton_core::wire::Problem;
use baton_core::{Entry, Json, Rejection, Reply, Revision, state};
use serde_json::json;
use thiserror::Error;

baton_core::refusals! {
    /// Why a call failed. The codes are the same for an embedded engine and a server.
    #[derive(Clone, Debug, PartialEq, Error)]
    pub enum Error {
        /// The URL does not name a server.
        #[error("`{url}` is not the URL of a server: {reason}")]
        BadUrl {
            /// The given value.
            url: String,
            /// The reason.
            reason: String,
        } => {
            code: "client.bad_url",
            kind: Invalid,
            hint: "use a URL such as `http://127.0.0.1:4747`",
            cause: "It does not begin with `http://`, `https://`, `ws://` or `wss://`, or contains \
                more than a host and a port.",
            remedy: "Use a URL such as `http://127.0.0.1:4747` or `https://baton.example:4747`.",
        }
        /// The token is malformed. Nothing was sent.
        #[error("the token has invalid characters, such as a line break")]
        BadToken => {
            code: "client.bad_token",
            kind: Invalid,
            hint: "use the token exactly as printed by `baton token create`, on one line",
            cause: "It contains a line break or another invalid character, often because it was \
                read from a file that ends in a newline.",
        }
        /// The server cannot be reached. Nothing was done.
        #[error("cannot connect to {url}: {reason}")]
        Unreachable {
            /// The address of the server.
            url: String,
            /// The error of the last attempt.
            reason: String,
        } => {
            code: "client.unreachable",
            kind: Unavailable,
            hint: "start the server with `baton serve`, or correct the URL",
            cause: "The first connection failed, or the connection was lost and could not be \
                restored within the request timeout. The detail contains the last error.",
        }
        /// A command was sent, but no readable response arrived. It is unknown whether it was
        /// executed.
        #[error("the outcome of the command is unknown: {reason}")]
        Unknown {
            /// The error, in words.
            reason: String,
        } => {
            code: "client.unknown_outcome",
            kind: Unavailable,
            hint: "retry with the same idempotency key, or read the current state",
            cause: "The connection broke and the command had no idempotency key for a retry; or no \
                response arrived in time; or the response was not understood.",
            remedy: "Retry with the same idempotency key, or read the current state. Keys are \
                added automatically unless that is disabled.",
        }
        /// The server did not respond in time. Nothing was changed.
        #[error("no response within {} ms", .after.as_millis())]
        Timeout {
            /// The timeout.
            after: Duration,
        } => {
            code: "client.timeout",
            kind: Unavailable,
            hint: "retry, or check the server",
            cause: "The call was a query, or had not been sent yet. A command that was sent fails \
                with `client.unknown_outcome` instead.",
            remedy: "Retry, or check the server; `request_timeout` limits a call, and `stall_max` \
                limits how long a transfer of artifacts, exports or backups may make no progress.",
        }
        /// The server's response was not understood. Nothing was changed.
        #[error("the server's response was not understood: {what}")]
        Protocol {
            /// The mismatch.
            what: String,
        } => {
            code: "client.protocol",
            kind: Unavailable,
            hint: "use a client and a server of the same release",
            cause: "It is not a Baton server, or a different release; or a watch would have to \
                continue with a gap.",
            remedy: "Use the same release for client and server.",
        }
        /// The client was closed. Nothing was done.
        #[error("the client is closed")]
        Closed => {
            code: "client.closed",
            kind: Unavailable,
            hint: "connect again",
            cause: "`close` was called.",
        }
        /// Too many calls are waiting in the client. Nothing was done.
        #[error("too many {what} are waiting in the client (limit {max})")]
        Crowded {
            /// The name of the limited quantity.
            what: &'static str,
            /// How much there may be.
            max: usize,
        } => {
            code: "client.crowded",
            kind: Exhausted,
            hint: "wait for some of them, then retry",
            cause: "There are more calls, bytes of calls or watches than the client's options \
                allow, usually because the server cannot be reached or is overloaded.",
        }
    }
    transparent {
        /// A name or a value is invalid, or the rules of an embedded engine refused the command.
        /// Nothing was done.
        Rejected(Rejection),
    }
    &borrowed {
        /// The server refused the call, or the engine failed to execute it.
        #[error("{}", .0.detail)]
        Refused(Box<Problem>),
        /// The connection could not be secured. Nothing was done.
        #[error("{}", .0.detail)]
        Tls(Box<Problem>),
    }
}

impl Error {
    /// The error of a reply that does not belong to the command or query.
    pub fn unexpected(reply: &Reply) -> Self {
        Self::Protocol { what: format!("it is a reply to something else: {reply:?}") }
    }

    /// A description of the error, as a sentence.
    pub fn detail(&self) -> String {
        self.to_string()
    }

    /// A fact about the refusal, such as the current `entry` of a version conflict.
    pub fn fact(&self, name: &str) -> Option<Json> {
        match self {
            Self::Refused(problem) => problem.fact(name).cloned(),
            Self::Rejected(rejection) => Problem::from(rejection).fact(name).cloned(),
            _ => None,
        }
    }

    /// Whether the command may have been executed. After every other error it was not.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown { .. } => true,
            Self::Refused(problem) => problem.code == "engine.unknown_outcome",
            _ => false,
        }
    }

    /// The revision from which to resume a watch that ended with this error.
    pub fn resume_from(&self) -> Option<Revision> {
        self.fact("resume_from").and_then(|fact| fact.to().ok())
    }

    /// The current entry of a version conflict, or none if it was deleted; every other error is
    /// returned as it is.
    pub fn into_winner(self) -> Result<Option<Entry>, Self> {
        match self {
            Self::Rejected(Rejection::State(state::Rejection::VersionConflict {
                entry, ..
            })) => Ok(entry.map(|entry| *entry)),
            // A client that does not know the current entry must not overwrite it.
            error if error.code() == "state.version_conflict" => {
                error.fact("entry").and_then(|entry| entry.to().ok()).ok_or(error)
            }
            error => Err(error),
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Rejected(error.into())
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        match error {
            Error::Rejected(rejection) => Self::from(rejection),
            Error::Refused(problem) | Error::Tls(problem) => (**problem).clone(),
            other => Self::new(other.code(), other.kind(), other, other.hint(), &json!({})),
        }
    }
}
