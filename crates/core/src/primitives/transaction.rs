//! Preconditions of transactions.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::names::{AgentId, HandoffId, Key, LockName, NamespaceName, TaskId};
use crate::numbers::{Revision, Token, Version};
use crate::{handoff, task};

/// A precondition of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Precondition {
    /// About an entry.
    Entry {
        /// The namespace.
        namespace: NamespaceName,
        /// The key.
        key: Key,
        /// The entry must have this version; 0 means that it must not exist. If omitted, not
        /// checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Version>,
        /// Whether the entry must exist. If omitted, not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exists: Option<bool>,
        /// The entry must have this value. `null` means the value null, not that there is no entry:
        /// use `exists` for that. If omitted, not checked.
        #[serde(
            default,
            deserialize_with = "crate::json::given",
            skip_serializing_if = "Option::is_none"
        )]
        value: Option<Json>,
    },
    /// About the existence of a namespace.
    Namespace {
        /// The name of the namespace.
        name: NamespaceName,
        /// Whether it must exist.
        exists: bool,
    },
    /// About the session of an agent.
    Agent {
        /// The agent.
        agent: AgentId,
        /// Whether it must have a session.
        active: bool,
    },
    /// About a task, which must exist.
    Task {
        /// The task.
        task: TaskId,
        /// The status that it must have. If omitted, not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<task::Status>,
        /// The agent that must hold its lease. If omitted, not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<AgentId>,
    },
    /// About a lock.
    Lock {
        /// The name of the lock.
        name: LockName,
        /// Whether an agent must hold it. If omitted, not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<bool>,
        /// The agent that must hold it. If omitted, not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<AgentId>,
    },
    /// About a hand-off, which must exist.
    Handoff {
        /// The hand-off.
        handoff: HandoffId,
        /// The status that it must have.
        status: handoff::Status,
    },
    /// The lease, hold, permit or session of this token must be live.
    Token(Token),
    /// The workspace must not have changed since this revision.
    Revision(Revision),
}
