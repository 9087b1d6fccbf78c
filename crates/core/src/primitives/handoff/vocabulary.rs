//! The words of hand-offs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::handoff::{
    Accept, Complete, Handoff, List, Offer, Receipt, Statistics, TransferContext,
};
use crate::json::{Json, given};
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::WaitId;
use crate::rule::Finding;
use crate::task::Task;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// What one may ask of hand-offs so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `handoff.offer`
    Offer(Box<Offer>),
    /// `handoff.execute`: checks, moves keys and task, in one commit.
    Execute(Box<Offer>),
    /// `handoff.validate`: what would become of an offer, without making it.
    Validate(Box<Offer>),
    /// `handoff.receive`: the next one for the caller, to be answered.
    Receive {
        /// How long to wait for one at most; not at all if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// `handoff.accept`
    Accept(Accept),
    /// `handoff.reject`
    Reject {
        /// Which hand-off.
        handoff: HandoffId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `handoff.complete`: and its task with it.
    Complete(Box<Complete>),
    /// `handoff.cancel`
    Cancel {
        /// Which hand-off.
        handoff: HandoffId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `handoff.approve`
    Approve {
        /// Which hand-off.
        handoff: HandoffId,
        /// The fingerprint of what is approved, so that nobody approves what they have not seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Sent by the policies when somebody may wait for a hand-off that can be delivered.
    Deliver {
        /// Which.
        handoff: HandoffId,
    },
    /// Sent by the policies when something has happened to a task that was handed over, or offered.
    Follow {
        /// Which task.
        task: TaskId,
        /// What.
        what: Followed,
    },
    /// Sent by the policies when an agent's session has ended.
    LetGo {
        /// Whose.
        agent: AgentId,
    },
    /// Sent by the engine when a caller is gone.
    GiveUp {
        /// Which call.
        wait: WaitId,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// What has happened to a task that a hand-off is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// It is done.
    Done {
        /// What came of it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
    },
    /// It has left the hands it was in, and is not done.
    Lost {
        /// How: what became of the task.
        reason: String,
    },
    /// It went on to another, by this hand-off.
    HandedOn {
        /// Which.
        handoff: HandoffId,
    },
}

/// What one may ask of hand-offs without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `handoff.get`
    Get {
        /// Which hand-off.
        handoff: HandoffId,
    },
    /// `handoff.list`: a page of them, by id, which is by time.
    List(List),
    /// `handoff.history`: every known hand-off of a task, the first first.
    History {
        /// Which task.
        task: TaskId,
    },
    /// `handoff.export`: as other systems write it.
    Export {
        /// Which hand-off.
        handoff: HandoffId,
    },
    /// `handoff.stats`
    Stats {},
}

/// Answers of hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One hand-off.
    Handoff(Arc<Handoff>),
    /// The next one for the caller; nothing if there was none in time.
    Received(Option<Arc<Handoff>>),
    /// The caller has it now.
    Accepted {
        /// Which, with the receipt of what the caller got.
        handoff: Arc<Handoff>,
        /// The task, with the caller's lease.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Box<Task>>,
        /// The values of the keys that went along, by `namespace/key` as they were selected.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, Json>,
    },
    /// A page of them, by id.
    Handoffs {
        /// The page.
        handoffs: Vec<Handoff>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<HandoffId>,
    },
    /// What would become of an offer.
    Verdict {
        /// Whether it would be made.
        valid: bool,
        /// What stands against it.
        errors: Vec<Finding>,
        /// What should be known about it.
        warnings: Vec<Finding>,
    },
    /// A hand-off as other systems write it.
    Context(Box<TransferContext>),
    /// How many there were, how they ended, how long they took.
    Stats(Box<Statistics>),
    /// Nothing had to be done.
    Done,
}

/// Facts about hand-offs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody wants to hand something over.
    Offered(Arc<Handoff>),
    /// Somebody has handed something over, with keys and task.
    Executed(Arc<Handoff>),
    /// It could not be handed over, and nothing has moved.
    Refused(Arc<Handoff>),
    /// Somebody has approved it.
    Approved {
        /// Which.
        handoff: HandoffId,
        /// Who.
        by: AgentId,
        /// Of what: the fingerprint of the proposal.
        digest: String,
        /// Until when that holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody has got it to look at.
    Delivered {
        /// Which.
        handoff: HandoffId,
        /// Who.
        receiver: AgentId,
        /// When it is delivered again unless it is answered.
        until: Timestamp,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// Whoever had got it has not answered.
    Undelivered {
        /// Which.
        handoff: HandoffId,
    },
    /// Its receiver has taken it.
    Accepted {
        /// Which.
        handoff: HandoffId,
        /// Who.
        receiver: AgentId,
        /// What the receiver got.
        receipt: Receipt,
        /// How long the lease of the task shall be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
    /// Somebody who was asked does not want it.
    Rejected {
        /// Which.
        handoff: HandoffId,
        /// Who.
        by: AgentId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody took it in time.
    Expired {
        /// Which.
        handoff: HandoffId,
        /// Why: `deadline`, or `not_answered` after it was delivered often enough.
        reason: String,
    },
    /// It is withdrawn.
    Cancelled {
        /// Which.
        handoff: HandoffId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// What was handed over is done.
    Completed {
        /// Which.
        handoff: HandoffId,
        /// What came of it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// What changed in the map that was handed over.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        changes: BTreeMap<String, Json>,
    },
    /// What was handed over was not done.
    Failed {
        /// Which.
        handoff: HandoffId,
        /// Why.
        error: Json,
    },
    /// Somebody waits for one.
    Queued {
        /// Which call.
        wait: WaitId,
        /// Who.
        receiver: AgentId,
        /// Until when at most.
        until: Timestamp,
    },
    /// Somebody waits no longer.
    GaveUp {
        /// Which call.
        wait: WaitId,
        /// Who waited.
        receiver: AgentId,
        /// Why.
        left: Left,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Offered(_) => "handoff.offered",
            Self::Executed(_) => "handoff.executed",
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

    /// The hand-off it is about; none if it is about somebody who waits.
    pub fn handoff(&self) -> Option<&HandoffId> {
        match self {
            Self::Offered(handoff) | Self::Executed(handoff) | Self::Refused(handoff) => {
                Some(&handoff.id)
            }
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

    /// The two parts of its subject: `handoffs/` and the hand-off, or `receivers/` and who waits.
    pub fn subject_parts(&self) -> [&str; 2] {
        match self {
            Self::Queued { receiver, .. } | Self::GaveUp { receiver, .. } => {
                ["receivers/", receiver.as_str()]
            }
            Self::Offered(_)
            | Self::Executed(_)
            | Self::Refused(_)
            | Self::Approved { .. }
            | Self::Delivered { .. }
            | Self::Undelivered { .. }
            | Self::Accepted { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Completed { .. }
            | Self::Failed { .. } => {
                ["handoffs/", self.handoff().expect("all others are about one").as_str()]
            }
        }
    }

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Delivered { wait, .. } => wait.map(Step::Granted),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Offered(_)
            | Self::Executed(_)
            | Self::Refused(_)
            | Self::Approved { .. }
            | Self::Undelivered { .. }
            | Self::Accepted { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. }
            | Self::Cancelled { .. }
            | Self::Completed { .. }
            | Self::Failed { .. } => None,
        }
    }

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    pub(crate) fn load(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 24);
        match self {
            Self::Offered(handoff) | Self::Executed(handoff) | Self::Refused(handoff) => {
                handoff.bytes()
            }
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
}
