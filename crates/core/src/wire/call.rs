//! What can be wanted.

use serde::{Deserialize, Serialize};

use crate::command::{Command, Mutation, Query};
use crate::numbers::Revision;
use crate::pattern::Pattern;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A change.
    Command(Command),
    /// An answer.
    Query(Query),
    /// Changes under conditions: several, all or nothing, or one while a token is not stale.
    Transaction(Mutation),
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

impl Call {
    /// What it is called. What has no row in the table came from nobody outside.
    pub fn name(&self) -> &'static str {
        let operation = match self {
            Self::Command(command) | Self::Transaction(Mutation::Command(command)) => {
                command.operation()
            }
            Self::Transaction(Mutation::Fenced { command, .. }) => command.operation(),
            Self::Query(query) => query.operation(),
            Self::Transaction(Mutation::Transaction { .. }) => return "transaction",
            Self::Watch(_) => return "watch",
            Self::Unwatch { .. } => return "unwatch",
            Self::Ping => return "ping",
        };
        operation.map_or("internal", |operation| operation.name)
    }
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
