//! The recommended reactions of a caller to a refusal. Adding a kind needs an ADR.

use serde::{Deserialize, Serialize};

/// The category of an error, which determines HTTP status and exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request can never succeed as written. Fix it.
    Invalid,
    /// The caller is not allowed to do this. Get permission or give up.
    Denied,
    /// The named object does not exist. Create it or give up.
    NotFound,
    /// Another caller was faster. Read again, then decide.
    Conflict,
    /// The caller's lease, token or session has ended. Stop acting on it at once.
    Stale,
    /// The request or a part of it is too large. Send less, or store it elsewhere.
    TooLarge,
    /// A limit is reached. Wait, or ask for less.
    Exhausted,
    /// Baton cannot serve the request now. Retry later, or check the server.
    Unavailable,
}
