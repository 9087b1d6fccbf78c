//! What one may ask of tasks, with all the fields there are.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Backoff, OnExhausted, Status};
use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, TaskId, TaskType, Traceparent};
use crate::numbers::{Revision, Token};
use crate::space::batch::Batch;
use crate::time::Timestamp;
use crate::wire::own_fields;

/// Wants something done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Which task it shall be; one is made up if not given. In a frame, where `id` is the number of
    /// the request, it is called `task`.
    #[serde(default, alias = "task", skip_serializing_if = "Option::is_none")]
    pub id: Option<TaskId>,
    /// What kind of work it is.
    #[serde(rename = "type")]
    pub task_type: TaskType,
    /// What is to be done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is to be done, as data.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// The only agent that may work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// What an agent must be able to do to work on it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Higher is sooner: -100 to 100, 0 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// It is not begun before so much time has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// It has failed if it is not finished after so much time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How often it may be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// How long to wait before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// What becomes of it after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
    /// What must be completed before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The task it is a part of: with that it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Which tasks it belongs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Which version of the definition's schema it follows: a text or a number.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// Whatever else is worth knowing: an object.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The trace that it is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Only if there is a live agent that can do it; otherwise that is but a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_capable: bool,
}

impl Create {
    /// A task of a type, and nothing else said about it.
    pub fn new(task_type: TaskType) -> Self {
        Self {
            id: None,
            task_type,
            description: None,
            definition: None,
            assigned_agent: None,
            capabilities: BTreeSet::new(),
            priority: None,
            delay_ms: None,
            deadline_ms: None,
            max_retries: None,
            backoff: None,
            on_exhausted: None,
            depends_on: Vec::new(),
            parent: None,
            group: None,
            schema_version: None,
            metadata: None,
            traceparent: None,
            if_capable: false,
        }
    }
}

/// Takes the next task, or waits for one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Only tasks of these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<TaskType>>,
    /// What the claimant can do; what it registered with if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<String>>,
    /// Only this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How long the lease lasts unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long to wait for a task at most; not at all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Takes the next task after one is done, in the same commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Only tasks of these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<TaskType>>,
    /// What the claimant can do; what it registered with if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<String>>,
    /// How long the lease lasts unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Says that the work goes on: the lease lasts longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// How long from now on; as long as before if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Says how far the work is. It counts as a heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// The part that is done: 0 to 1.
    pub fraction: f64,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Changes some fields of a task: `description`, `priority`, and by JSON Merge Patch `definition`,
/// `metadata` and `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// The fields that change: an object.
    pub fields: Json,
}

/// Lets a task go, for others to take; that counts as no try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Says that a task is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// What came of it; what there was so far if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What it made besides: a list.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Take the next task in the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_claim: Option<Next>,
}

/// Says that a try has failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// Which task.
    pub task: TaskId,
    /// The lease's token.
    pub token: Token,
    /// What went wrong.
    pub error: Json,
    /// Whether trying again may help; it may if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Decides about a task that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Which task.
    pub task: TaskId,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came of it; what there was so far if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
}

/// What a person decides about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is tried again, as often as at first.
    Retry,
    /// It is done.
    Complete,
    /// It has failed.
    Fail,
}

/// A page of tasks, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only those in this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Only those of this type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Only those that this agent holds or is assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Only those of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Only direct parts of this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<TaskId>,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transition {
    /// When in the order of things.
    pub revision: Revision,
    /// When.
    pub time: Timestamp,
    /// Who caused it.
    pub agent: AgentId,
    /// What: `task.claimed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's own fields.
    pub fields: Json,
}

impl Transition {
    /// What an event of a batch says.
    pub fn of(batch: &Batch, index: usize) -> Self {
        let event = &batch.events[index];
        let text = serde_json::to_vec(event).expect("events can be encoded");
        let fields = Json::trusted(own_fields(&text, &mut Vec::new()));
        Self {
            revision: batch.revision,
            time: batch.time,
            agent: batch.author(index).clone(),
            kind: event.kind().to_owned(),
            fields,
        }
    }
}
