//! What one says to hand something over, and to take it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::{ApprovalWanted, wanted};
use super::{Receiver, Selected, Status};
use crate::json::{Json, given};
use crate::names::{AgentId, HandoffId, TaskId, Traceparent};
use crate::numbers::Token;

/// What a giver says: to whom, of what, and what the receiver must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The task that changes hands, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The token of the giver's lease of that task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// To whom: the id of an agent, or `{"capability": name}`.
    pub to: Receiver,
    /// What has been done.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub work_completed: Option<Json>,
    /// What is left to do.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub remaining_work: Option<Json>,
    /// Whatever else the receiver should know.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub notes: Option<Json>,
    /// Why it is handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the receiver needs to know as a flat map, instead of a transcript.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Json>,
    /// What the work has produced under which names.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output_keys: Option<Json>,
    /// What the work has made, by reference: a list.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Keys that go along. Those of the giver's own namespace move to the receiver's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Selected>,
    /// The trace that this is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// How long the receiver has to accept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How long after it was delivered it is delivered again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
    /// Whether somebody must approve it first: `true`, or who may and how long that holds.
    #[serde(default, deserialize_with = "wanted", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalWanted>,
    /// What becomes of a task that is handed round in circles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loop: Option<OnLoop>,
}

impl Offer {
    /// An offer to somebody, of nothing yet.
    pub fn to(to: Receiver) -> Self {
        Self {
            task: None,
            token: None,
            to,
            work_completed: None,
            remaining_work: None,
            notes: None,
            reason: None,
            state: BTreeMap::new(),
            output_keys: None,
            artifacts: None,
            keys: Vec::new(),
            traceparent: None,
            deadline_ms: None,
            redeliver_ms: None,
            approval: None,
            on_loop: None,
        }
    }
}

/// What becomes of a task that is handed round in circles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnLoop {
    /// The hand-off is refused; the giver keeps the task.
    #[default]
    Refuse,
    /// The task waits for a person to decide.
    Review,
}

/// Takes what is offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Which hand-off.
    pub handoff: HandoffId,
    /// How long the receiver's lease of the task is; as long as the giver's if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Whether keys that the receiver has already are replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// The work that was handed over is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// Which hand-off.
    pub handoff: HandoffId,
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What changed in the map that was handed over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, Json>,
}

/// Which hand-offs a list shows, newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HandoffList"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only those that this agent may accept, or has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// Only those of this giver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AgentId>,
    /// Only those of this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Only those of this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<HandoffId>,
}
