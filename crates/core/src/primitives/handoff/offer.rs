//! The fields that a giver sends to offer work, and a receiver to accept it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::{ApprovalWanted, wanted};
use super::{Receiver, Selected, Status, TransferContext};
use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, HandoffId, TaskId, Traceparent};
use crate::numbers::Token;

/// The task and keys to hand over, the receiver, and the context for the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The task to hand over. If omitted, only context and keys are offered; `handoff.execute`
    /// requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The token of the giver's lease. Required with `task`. If omitted, there is no task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The receiver: an agent id, or `{"capability": name}` for the first agent that has the
    /// capability and accepts.
    pub to: Receiver,
    /// Completed work, as any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub work_completed: Option<Json>,
    /// Remaining work, as any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub remaining_work: Option<Json>,
    /// Further notes for the receiver, as any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub notes: Option<Json>,
    /// The reason, which is recorded. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Context for the receiver as a flat object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Json>,
    /// Names of what the work has produced, as any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output_keys: Option<Json>,
    /// References to what the work has produced: a list, usually of artifact ids. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move to the
    /// receiver's; others stay where they are. The answer to `handoff.accept` contains their
    /// values. A key with `*` is a pattern, such as `agent:ada/**`: it selects the keys of its
    /// namespace that match it at the moment of the move, possibly none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Selected>,
    /// Copy the keys in the giver's own namespace: the giver keeps them. If `false`, they move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// W3C trace context (`traceparent`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// How long the receiver has to accept, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::HANDOFF_DEADLINE_MS_DEFAULT),
        range(min = limits::HANDOFF_DEADLINE_MS_MIN, max = limits::HANDOFF_DEADLINE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How long after a delivery without an answer it is delivered again, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::REDELIVER_MS_DEFAULT),
        range(min = limits::REDELIVER_MS_MIN, max = limits::HANDOFF_DEADLINE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
    /// Require an approval: `true`, or an object that names the approvers and how long an approval
    /// is valid.
    #[cfg_attr(feature = "schema", schemars(
        with = "Option<super::record::ApprovalTerms>",
        extend("default" = false),
    ))]
    #[serde(default, deserialize_with = "wanted", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalWanted>,
    /// The action if the task is handed around in a loop.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "refuse")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loop: Option<OnLoop>,
}

impl Offer {
    /// An offer to a receiver, without content.
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
            copy: false,
            traceparent: None,
            deadline_ms: None,
            redeliver_ms: None,
            approval: None,
            on_loop: None,
        }
    }
}

/// Offers what was handed over in another system or workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The context, as `handoff.export` returns it or another system sends it.
    pub context: TransferContext,
    /// The receiver: an agent id, or `{"capability": name}` for the first agent that has the
    /// capability and accepts.
    pub to: Receiver,
    /// How long the receiver has to accept, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::HANDOFF_DEADLINE_MS_DEFAULT),
        range(min = limits::HANDOFF_DEADLINE_MS_MIN, max = limits::HANDOFF_DEADLINE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Require an approval: `true`, or an object that names the approvers and how long an approval
    /// is valid.
    #[cfg_attr(feature = "schema", schemars(
        with = "Option<super::record::ApprovalTerms>",
        extend("default" = false),
    ))]
    #[serde(default, deserialize_with = "wanted", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalWanted>,
}

impl Import {
    /// The offer that it makes.
    pub fn offer(self) -> Offer {
        let Self { context, to, deadline_ms, approval } = self;
        Offer { deadline_ms, approval, ..context.offer(to) }
    }
}

/// Hands over everything that the caller holds: its tasks, and the keys in its own namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExecuteAll {
    /// The receiver.
    pub to: AgentId,
    /// The reason, which is recorded. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further notes for the receiver, as any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub notes: Option<Json>,
    /// How long the receiver has to claim the tasks, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::HANDOFF_DEADLINE_MS_DEFAULT),
        range(min = limits::HANDOFF_DEADLINE_MS_MIN, max = limits::HANDOFF_DEADLINE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Copy the keys: the caller keeps them. If `false`, they move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Replace keys that the receiver already has. If `false`, they are a conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// The action if a task is handed around in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnLoop {
    /// The hand-off is rejected; the giver keeps the task.
    #[default]
    Refuse,
    /// The task waits for review.
    Review,
}

/// Accepts a hand-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The hand-off.
    pub handoff: HandoffId,
    /// The receiver's lease of the task in milliseconds. If omitted, the length of the giver's
    /// lease.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = limits::LEASE_MS_MIN, max = limits::LEASE_MS_MAX))
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Replace keys that exist in the receiver's namespace. If `false`, they are a conflict.
    ///
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
}

/// Completes the work of a hand-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// The hand-off.
    pub handoff: HandoffId,
    /// The result. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The changed members of the hand-off's `state`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, Json>,
}

/// Which hand-offs to list, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HandoffList"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only hand-offs that this agent may accept or has accepted. If omitted, any receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// Only hand-offs of this giver. If omitted, any giver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<AgentId>,
    /// Only hand-offs of this task. If omitted, any task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Only hand-offs with this status. If omitted, any status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<HandoffId>,
}
