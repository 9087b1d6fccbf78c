//! Calls: what a request can contain.

use serde::{Deserialize, Serialize};

use crate::command::{Command, Mutation, Query};
use crate::numbers::Revision;
use crate::pattern::Pattern;

/// The content of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A command.
    Command(Command),
    /// A query.
    Query(Query),
    /// Several commands with preconditions, or one with a token.
    Transaction(Mutation),
    /// Start a watch.
    Watch(Watch),
    /// End a watch.
    Unwatch {
        /// The number of the request that started the watch.
        watch: u64,
    },
    /// A ping.
    Ping,
}

impl Call {
    /// The name of the operation. Calls without a row in the table never come from outside.
    pub fn name(&self) -> &'static str {
        let operation = match self {
            Self::Command(command) => command.operation(),
            Self::Transaction(mutation) => match mutation.executed() {
                Mutation::Command(command) => command.operation(),
                Mutation::Fenced { command, .. } => command.operation(),
                Mutation::Transaction { .. } | Mutation::Minimal(_) => return "transaction",
            },
            Self::Query(query) => query.operation(),
            Self::Watch(_) => return "watch",
            Self::Unwatch { .. } => return "unwatch",
            Self::Ping => return "ping",
        };
        operation.map_or("internal", |operation| operation.name)
    }

    /// The same, answered with the minimal form of its reply; none if it is not a write.
    pub fn into_minimal(self) -> Option<Self> {
        match self {
            Self::Command(command) => {
                Some(Self::Transaction(Mutation::Command(command).into_minimal()))
            }
            Self::Transaction(mutation) => Some(Self::Transaction(mutation.into_minimal())),
            Self::Query(_) | Self::Watch(_) | Self::Unwatch { .. } | Self::Ping => None,
        }
    }
}

/// Starts a watch: events are delivered as they are committed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The subjects to watch, such as `state/shared/**`; `**` is everything.
    pub pattern: Pattern,
    /// Only event types that match, such as `state.set` or `task.*`. If empty, all types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Pattern>,
    /// The first revision to deliver: a past one, or the next. If omitted, the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Revision>,
    /// First deliver the entries that match `pattern` at an exact revision, then the events after
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshot: bool,
    /// Also deliver events that are only about waiting calls, such as `lock.queued`. If `false`,
    /// only those whose full type is listed in `types`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}
