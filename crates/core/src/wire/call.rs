//! What can be wanted.

use serde::{Deserialize, Serialize};

use crate::command::{Command, Query, Wish};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::space::PlainSet;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A change.
    Command(Command),
    /// An answer.
    Query(Query),
    /// Changes under conditions: several, all or nothing, or one while a token is not stale.
    Transaction(Wish),
    /// Events from now on, or from a revision on.
    Watch(Watch),
    /// No more of them.
    Unwatch {
        /// Of which watch: the number of the request that began it.
        watch: u64,
    },
    /// A sign of life.
    Ping,
}

/// What is asked for most, borrowed from the frame that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain<'a> {
    /// An entry is set.
    Set(PlainSet<'a>),
    /// An entry is asked for as it is now.
    Get {
        /// In this namespace.
        namespace: &'a str,
        /// Under this key.
        key: &'a str,
    },
}

/// Which events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Which subjects, such as `state/shared/**`.
    pub pattern: Pattern,
    /// Which types of event, such as `state.set` or `task.*`; all if none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Pattern>,
    /// From this revision on, in the past or the future, instead of from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Revision>,
    /// Begins with the entries that match, at an exact revision; events after it follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshot: bool,
}
