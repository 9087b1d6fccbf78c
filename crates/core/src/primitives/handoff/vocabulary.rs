//! Commands, queries, replies and events of hand-offs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::handoff::{
    Accept, Complete, ExecuteAll, Handoff, Import, List, Offer, Passing, Receipt, Statistics,
    TransferContext,
};
use crate::json::{Json, given};
use crate::names::{AgentId, HandoffId, TaskId, Traceparent};
use crate::numbers::WaitId;
use crate::primitive;
use crate::rule::Finding;
use crate::task::Task;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that change hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `handoff.offer`
    Offer(Box<Offer>),
    /// `handoff.import_context`: offers what was handed over elsewhere.
    ImportContext(Box<Import>),
    /// `handoff.execute`: checks, and moves keys and task in one commit.
    Execute(Box<Offer>),
    /// `handoff.execute_all`: hands over all tasks and keys of the caller in one commit.
    ExecuteAll(Box<ExecuteAll>),
    /// `handoff.validate`: checks an offer without making it.
    Validate(Box<Offer>),
    /// `handoff.receive`: the next hand-off for the caller.
    Receive {
        /// How long to wait for a hand-off, in milliseconds. If omitted, the call does not wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// `handoff.accept`
    Accept(Accept),
    /// `handoff.reject`
    Reject {
        /// The hand-off.
        handoff: HandoffId,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `handoff.complete`: also completes its task.
    Complete(Box<Complete>),
    /// `handoff.cancel`
    Cancel {
        /// The hand-off.
        handoff: HandoffId,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `handoff.approve`
    Approve {
        /// The hand-off.
        handoff: HandoffId,
        /// The `digest` of the hand-off that is approved. If it does not match, the approval is
        /// rejected. If omitted, it is not compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Signals to hand-offs.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when a waiting call may exist for a hand-off that can be delivered.
    Deliver {
        /// The hand-off.
        handoff: HandoffId,
    },
    /// Sent by a policy when a stage of a pipeline went from one agent to another.
    Pass(Box<Passing>),
    /// Sent by a policy when something happened to a task that was handed over or offered.
    Follow {
        /// The task.
        task: TaskId,
        /// The change.
        what: Followed,
    },
}

/// The change of the task of a hand-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// It was completed.
    Done {
        /// The result.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
    },
    /// Its holder lost it, and it was not completed.
    Lost {
        /// The reason, in words.
        reason: String,
    },
    /// It was handed on by this hand-off.
    HandedOn {
        /// The hand-off.
        handoff: HandoffId,
    },
}

/// Queries about hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `handoff.get`
    Get {
        /// The hand-off.
        handoff: HandoffId,
    },
    /// `handoff.list`: a page by id, which is by time.
    List(List),
    /// `handoff.history`: every known hand-off of a task, oldest first.
    History {
        /// The task.
        task: TaskId,
    },
    /// `handoff.export`: as a portable context.
    Export {
        /// The hand-off.
        handoff: HandoffId,
    },
    /// `handoff.stats`
    Stats {},
}

/// Replies about hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One hand-off.
    Handoff(Arc<Handoff>),
    /// The next hand-off. `null` if there was none in time.
    Received(Option<Arc<Handoff>>),
    /// The caller accepted it.
    Accepted {
        /// The hand-off with its receipt.
        handoff: Arc<Handoff>,
        /// The task with the caller's lease. Absent if the hand-off has no task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Box<Task>>,
        /// The values of the received keys, by `namespace/key` as they were selected. Absent if no
        /// keys were handed over.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, Json>,
    },
    /// A page of hand-offs, by id.
    Handoffs {
        /// The results on this page.
        handoffs: Vec<Handoff>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<HandoffId>,
    },
    /// The result of a validation.
    Verdict {
        /// Whether the offer would be made.
        valid: bool,
        /// Rules and checks that forbid it.
        errors: Vec<Finding>,
        /// Findings that do not forbid it.
        warnings: Vec<Finding>,
    },
    /// A hand-off as a portable context.
    Context(Box<TransferContext>),
    /// Counts, outcomes and durations.
    Stats(Box<Statistics>),
}

/// Events of hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A hand-off was offered.
    Offered(Arc<Handoff>),
    /// A hand-off was executed, with keys and task.
    Executed(Arc<Handoff>),
    /// The hand-off was rejected by a check; nothing was moved.
    Refused(Arc<Handoff>),
    /// The output of a stage of a pipeline went to the agent of the next stage.
    Passed(Arc<Handoff>),
    /// It was approved.
    Approved {
        /// The hand-off.
        handoff: HandoffId,
        /// The agent that approved it.
        by: AgentId,
        /// The digest of what was approved.
        digest: String,
        /// When the approval expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The content digest of what was approved, if it has changed since it was offered or last
        /// approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// It was delivered to a receiver.
    Delivered {
        /// The hand-off.
        handoff: HandoffId,
        /// The receiver.
        receiver: AgentId,
        /// When it is delivered again unless it is answered.
        until: Timestamp,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The receiver did not answer in time.
    Undelivered {
        /// The hand-off.
        handoff: HandoffId,
    },
    /// The receiver accepted it.
    Accepted {
        /// The hand-off.
        handoff: HandoffId,
        /// The receiver.
        receiver: AgentId,
        /// The task and keys that the receiver got.
        receipt: Receipt,
        /// The lease of the task in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
    /// The receiver or an approver rejected it.
    Rejected {
        /// The hand-off.
        handoff: HandoffId,
        /// The agent that rejected it.
        by: AgentId,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was not accepted in time.
    Expired {
        /// The hand-off.
        handoff: HandoffId,
        /// `deadline`, or `not_answered` after too many deliveries.
        reason: String,
    },
    /// It was cancelled.
    Cancelled {
        /// The hand-off.
        handoff: HandoffId,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The work was completed.
    Completed {
        /// The hand-off.
        handoff: HandoffId,
        /// The result.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// The changed members of `state`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        changes: BTreeMap<String, Json>,
    },
    /// The work was not completed.
    Failed {
        /// The hand-off.
        handoff: HandoffId,
        /// The error.
        error: Json,
    },
    /// A call waits for a hand-off.
    Queued {
        /// The waiting call.
        wait: WaitId,
        /// The receiver.
        receiver: AgentId,
        /// When the wait times out.
        until: Timestamp,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waited.
        receiver: AgentId,
        /// The reason.
        left: Left,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Receive { wait_ms } = self { *wait_ms } else { None }
    }

    fn has_optional_token(&self) -> Option<bool> {
        match self {
            Self::Offer(offer) | Self::Execute(offer) | Self::Validate(offer) => {
                Some(offer.token.is_some())
            }
            _ => None,
        }
    }

    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        match self {
            Self::Offer(offer) | Self::Execute(offer) => Some(&mut offer.traceparent),
            Self::ImportContext(import) => Some(&mut import.context.traceparent),
            _ => None,
        }
    }
}

impl Event {
    /// The hand-off that it is about; none if it is about a waiting call.
    pub fn handoff(&self) -> Option<&HandoffId> {
        match self {
            Self::Offered(handoff)
            | Self::Executed(handoff)
            | Self::Refused(handoff)
            | Self::Passed(handoff) => Some(&handoff.id),
            Self::Approved { handoff, .. }
            | Self::Delivered { handoff, .. }
            | Self::Undelivered { handoff }
            | Self::Accepted { handoff, .. }
            | Self::Rejected { handoff, .. }
            | Self::Expired { handoff, .. }
            | Self::Cancelled { handoff, .. }
            | Self::Completed { handoff, .. }
            | Self::Failed { handoff, .. } => Some(handoff),
            Self::Queued { .. } | Self::GaveUp { .. } => None,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Offered(_) => "handoff.offered",
            Self::Executed(_) => "handoff.executed",
            Self::Passed(_) => "handoff.passed",
            Self::Refused(_) => "handoff.refused",
            Self::Approved { .. } => "handoff.approved",
            Self::Delivered { .. } => "handoff.delivered",
            Self::Undelivered { .. } => "handoff.undelivered",
            Self::Accepted { .. } => "handoff.accepted",
            Self::Rejected { .. } => "handoff.rejected",
            Self::Expired { .. } => "handoff.expired",
            Self::Cancelled { .. } => "handoff.cancelled",
            Self::Completed { .. } => "handoff.completed",
            Self::Failed { .. } => "handoff.failed",
            Self::Queued { .. } => "handoff.queued",
            Self::GaveUp { .. } => "handoff.gave_up",
        }
    }

    /// `handoffs/` and the hand-off, or `receivers/` and the waiting agent.
    fn subject_parts(&self) -> [&str; 4] {
        match self {
            Self::Queued { receiver, .. } | Self::GaveUp { receiver, .. } => {
                ["receivers/", receiver.as_str(), "", ""]
            }
            event => {
                let handoff = event.handoff().expect("all others are about one");
                ["handoffs/", handoff.as_str(), "", ""]
            }
        }
    }

    fn load(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 24);
        match self {
            Self::Offered(handoff)
            | Self::Executed(handoff)
            | Self::Refused(handoff)
            | Self::Passed(handoff) => handoff.bytes(),
            Self::Approved { by, digest, reason, .. } => {
                by.as_str().len() + digest.len() + text(reason)
            }
            Self::Accepted { receiver, receipt, .. } => {
                let keys = receipt.keys.iter().map(|taken| taken.key.as_str().len() + 96);
                let out = receipt.left_out.iter().map(|out| out.key.as_str().len() + 48);
                64 + receiver.as_str().len() + keys.sum::<usize>() + out.sum::<usize>()
            }
            Self::Rejected { by, reason, .. } => by.as_str().len() + text(reason),
            Self::Expired { reason, .. } => reason.len(),
            Self::Cancelled { reason, .. } => text(reason),
            Self::Completed { result, changes, .. } => {
                let changes =
                    changes.iter().map(|(name, value)| name.len() + value.as_bytes().len() + 10);
                result.as_ref().map_or(0, |json| json.as_bytes().len()) + changes.sum::<usize>()
            }
            Self::Failed { error, .. } => error.as_bytes().len(),
            Self::Delivered { receiver, .. }
            | Self::Queued { receiver, .. }
            | Self::GaveUp { receiver, .. } => receiver.as_str().len(),
            Self::Undelivered { .. } => 0,
        }
    }

    fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Queued { .. } | Self::GaveUp { .. })
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Delivered { wait, .. } => wait.map(Step::Granted),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::GaveUp { left: Left::Elsewhere, .. } => None,
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            _ => None,
        }
    }
}
