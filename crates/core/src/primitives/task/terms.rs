//! The terms of a task: those of its creation, and those that hand-offs added.
//!
//! The command, the event and the answer have the same fields, each in its own form: durations
//! become times, and a default may be left out. Serde's `flatten` would share them, but it cannot
//! reject unknown fields of a command, and it buffers all fields of an event before it reads them.
//! So each of them lists its fields, and the conversions name all of them: the compiler reports one
//! that was forgotten.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::{Backoff, Created, OnExhausted, Returns, Reviewers};
use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, HandoffId, TaskId, Traceparent};
use crate::time::Timestamp;

/// The required capabilities; none if there are none.
pub type Needs = Option<Arc<BTreeSet<String>>>;

/// Fields that most tasks do not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// Human-readable description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The only agent that may claim it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// Capabilities that an agent needs to claim it.
    #[serde(with = "needs", skip_serializing_if = "Option::is_none")]
    pub needs: Needs,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The parent task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Tasks that must be completed first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// It cannot be claimed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// It fails unless it is finished by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How often a failed attempt is retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// The delay before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// The action after the last attempt.
    pub on_exhausted: OnExhausted,
    /// Whether its result must be accepted before it is completed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its result; any agent but its author if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// Whether the agent of `on_exhausted` is trying already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    /// The version of the schema of `definition`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// Free-form metadata.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// The agent that it was assigned to before a hand-off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned_before: Option<AgentId>,
    /// The hand-off that last handed it to an agent that was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_by: Option<HandoffId>,
    /// The action if the receiver of a hand-off does not claim the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<Returns>,
}

/// Most tasks have no terms: a copy of empty ones would cost more than the rest of the task.
pub(super) static NO_TERMS: LazyLock<Terms> = LazyLock::new(Terms::default);

impl Terms {
    /// The terms of a new task: the fields of its creation that most tasks do not have. Fields of
    /// the record are left out, and so is the budget, which is kept with the spending.
    pub(super) fn of(created: &Created) -> Self {
        let Created {
            task: _,
            task_type: _,
            ready: _,
            description,
            definition: _,
            assigned_agent,
            capabilities,
            priority: _,
            group,
            parent,
            budget: _,
            review,
            reviewers,
            depends_on,
            not_before,
            deadline,
            max_retries,
            backoff,
            on_exhausted,
            schema_version,
            metadata,
            traceparent,
        } = created;
        Self {
            description: description.clone(),
            assigned_agent: assigned_agent.clone(),
            needs: (!capabilities.is_empty()).then(|| Arc::new(capabilities.clone())),
            group: group.clone(),
            parent: parent.clone(),
            depends_on: depends_on.clone(),
            not_before: *not_before,
            deadline: *deadline,
            max_retries: *max_retries,
            backoff: *backoff,
            on_exhausted: on_exhausted.clone().unwrap_or_default(),
            review: *review,
            reviewers: reviewers.clone(),
            escalated: false,
            schema_version: schema_version.clone(),
            metadata: metadata.clone(),
            traceparent: traceparent.clone(),
            assigned_before: None,
            handed_by: None,
            returns: None,
        }
    }
}

/// Serde does not support shared values by default.
mod needs {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Needs;

    pub(super) fn serialize<S: Serializer>(needs: &Needs, to: S) -> Result<S::Ok, S::Error> {
        needs.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Needs, D::Error> {
        Ok(Option::<BTreeSet<String>>::deserialize(from)?.map(Arc::new))
    }
}
