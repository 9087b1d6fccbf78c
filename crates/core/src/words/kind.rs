//! What a caller should do about a refusal. Adding a kind needs an ADR.

use serde::{Deserialize, Serialize};

/// The category of an error, which determines HTTP status and exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request can never succeed as written. Fix it.
    Invalid,
    /// The caller may not do this. Get permission or stop asking.
    Denied,
    /// The named thing does not exist. Create it or stop asking.
    NotFound,
    /// Someone else got there first. Read again, then decide.
    Conflict,
    /// The caller's lease, token or session is old. Stop acting on it at once.
    Stale,
    /// What was sent is larger than allowed. Send less, or store it as an artifact.
    TooLarge,
    /// A limit is reached. Wait, or ask for less.
    Exhausted,
    /// Baton cannot serve this now. Try again later, or look at the server.
    Unavailable,
}
