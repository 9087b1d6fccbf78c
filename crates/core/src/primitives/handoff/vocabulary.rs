//! The words of hand-offs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::handoff::loop_guard::Loop;
use crate::handoff::{
    Accept, Complete, Handoff, List, Offer, Receipt, Receiver, Statistics, Status, TransferContext,
};
use crate::json::{Json, given};
use crate::kind::Kind;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::{Token, WaitId};
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};
use crate::rule::Finding;
use crate::state::Entry;
use crate::task::{Lease, Task};
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

/// Why a hand-off command was refused. Nothing was written.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub enum Rejection {
    /// There is no such hand-off.
    #[error("there is no hand-off `{handoff}`")]
    NotFound {
        /// Which.
        handoff: HandoffId,
    },
    /// There is no such task.
    #[error("there is no task `{task}` to hand over")]
    UnknownTask {
        /// Which.
        task: TaskId,
    },
    /// The giver does not hold the task.
    #[error("`{giver}` cannot hand over task `{task}`: {}", now_held(lease.as_ref()))]
    NotHolder {
        /// Which task.
        task: TaskId,
        /// Who wanted to give it.
        giver: AgentId,
        /// Who holds it, if anyone.
        lease: Option<Lease>,
    },
    /// The token is not that of the lease.
    #[error("token {given} of task `{task}` is stale: {}", now_held(lease.as_ref()))]
    StaleToken {
        /// Which task.
        task: TaskId,
        /// What was given.
        given: Token,
        /// Who holds it, if anyone.
        lease: Option<Lease>,
    },
    /// The task is offered to somebody already.
    #[error("task `{task}` is offered by hand-off `{open}` already")]
    AlreadyOffered {
        /// Which task.
        task: TaskId,
        /// By which.
        open: HandoffId,
    },
    /// Rules forbid it.
    #[error("the hand-off is not valid: {}", sentence(errors))]
    Invalid {
        /// What stands against it.
        errors: Vec<Finding>,
        /// What else should be known about it.
        warnings: Vec<Finding>,
    },
    /// The task is being handed round in circles.
    #[error("the task is handed round in circles: {}", .found.detail)]
    Loop {
        /// What was noticed.
        #[serde(flatten)]
        found: Loop,
    },
    /// It is not the caller's to answer.
    #[error("hand-off `{handoff}` is for {to}, not for `{caller}`")]
    NotReceiver {
        /// Which.
        handoff: HandoffId,
        /// To whom it is.
        to: Receiver,
        /// Who wanted it.
        caller: AgentId,
    },
    /// It is not the caller's to withdraw or to approve.
    #[error("`{caller}` may not {what} hand-off `{handoff}`")]
    NotAllowed {
        /// Which.
        handoff: HandoffId,
        /// Who wanted to.
        caller: AgentId,
        /// What.
        what: &'static str,
    },
    /// It is not where it would have to be in its life.
    #[error("hand-off `{handoff}` is {}: it cannot be {what}", .status.word())]
    WrongStatus {
        /// Which.
        handoff: HandoffId,
        /// Where it is in its life.
        #[serde(rename = "handoff_status")]
        status: Status,
        /// What was wanted.
        what: &'static str,
        /// Who has it, if anyone.
        receiver: Option<AgentId>,
    },
    /// Nobody has approved it, or that holds no longer.
    #[error("hand-off `{handoff}` is not approved: {reason}")]
    NotApproved {
        /// Which.
        handoff: HandoffId,
        /// What is missing.
        reason: String,
    },
    /// Somebody has approved it already.
    #[error("hand-off `{handoff}` was approved by `{by}` already")]
    AlreadyApproved {
        /// Which.
        handoff: HandoffId,
        /// Who.
        by: AgentId,
    },
    /// What would be approved, or was, is not what is proposed.
    #[error("what is proposed by hand-off `{handoff}` is not what was approved")]
    DigestMismatch {
        /// Which.
        handoff: HandoffId,
        /// The fingerprint of what is proposed now.
        digest: String,
        /// The fingerprint that was given, or approved.
        given: String,
    },
    /// A key is not as it was expected, or the receiver has one of that name.
    #[error("state conflict at `{key}`: {reason}")]
    StateConflict {
        /// Which, as `namespace/key`.
        key: String,
        /// What is the matter.
        reason: String,
        /// The entry that is there.
        entry: Option<Box<Entry>>,
    },
    /// A number makes no sense.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A field makes no sense.
    #[error(transparent)]
    BadField(#[from] BadField),
    /// A field is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There are too many.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The caller's session ended while it waited.
    #[error("the session of agent `{agent}` ended while it waited for a hand-off")]
    SessionEnded {
        /// Whose session.
        agent: AgentId,
    },
}

fn now_held(lease: Option<&Lease>) -> String {
    match lease {
        Some(Lease { holder, token, .. }) => format!("`{holder}` holds it under token {token}"),
        None => "nobody holds it".to_owned(),
    }
}

fn sentence(findings: &[Finding]) -> String {
    let details = findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.detail));
    details.collect::<Vec<_>>().join("; ")
}

impl Rejection {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "handoff.not_found",
            Self::UnknownTask { .. } => "handoff.unknown_task",
            Self::NotHolder { .. } => "handoff.not_holder",
            Self::StaleToken { .. } => "handoff.stale_token",
            Self::AlreadyOffered { .. } => "handoff.already_offered",
            Self::Invalid { .. } => "handoff.invalid",
            Self::Loop { .. } => "handoff.loop",
            Self::NotReceiver { .. } => "handoff.not_receiver",
            Self::NotAllowed { .. } => "handoff.not_allowed",
            Self::WrongStatus { .. } => "handoff.wrong_status",
            Self::NotApproved { .. } => "handoff.not_approved",
            Self::AlreadyApproved { .. } => "handoff.already_approved",
            Self::DigestMismatch { .. } => "handoff.digest_mismatch",
            Self::StateConflict { .. } => "handoff.state_conflict",
            Self::OutOfRange(_) => "handoff.out_of_range",
            Self::BadField(_) => "handoff.bad_field",
            Self::TooLarge(_) => "handoff.too_large",
            Self::TooMany(_) => "handoff.too_many",
            Self::SessionEnded { .. } => "handoff.session_ended",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } | Self::UnknownTask { .. } => Kind::NotFound,
            Self::NotReceiver { .. } | Self::NotAllowed { .. } => Kind::Denied,
            Self::AlreadyOffered { .. }
            | Self::Invalid { .. }
            | Self::Loop { .. }
            | Self::WrongStatus { .. }
            | Self::NotApproved { .. }
            | Self::AlreadyApproved { .. }
            | Self::DigestMismatch { .. }
            | Self::StateConflict { .. } => Kind::Conflict,
            Self::NotHolder { .. } | Self::StaleToken { .. } | Self::SessionEnded { .. } => {
                Kind::Stale
            }
            Self::OutOfRange(_) | Self::BadField(_) => Kind::Invalid,
            Self::TooLarge(_) => Kind::TooLarge,
            Self::TooMany(_) => Kind::Exhausted,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "list the hand-offs; ended ones are forgotten some time later",
            Self::UnknownTask { .. } => "create and claim the task first",
            Self::NotHolder { .. } => "only whoever holds a task hands it over: claim it first",
            Self::StaleToken { .. } => {
                "stop working on it at once; claim the task again before handing it over"
            }
            Self::AlreadyOffered { .. } => "wait for the answer, or cancel that offer first",
            Self::Invalid { .. } => "mend what the rules object to, then offer again",
            Self::Loop { .. } => "finish the task, or give it to a person with on_loop: review",
            Self::NotReceiver { .. } => "leave it to its receiver",
            Self::NotAllowed { .. } => "leave it to its giver, or to who may approve it",
            Self::WrongStatus { .. } => {
                "look at the hand-off: somebody has answered, or it is over"
            }
            Self::NotApproved { .. } => "wait until somebody approves it",
            Self::AlreadyApproved { .. } => "nothing is left to approve",
            Self::DigestMismatch { .. } => "look at what is proposed now, then decide again",
            Self::StateConflict { .. } => {
                "look at the entry; accept with overwrite, or move one of the two out of the way"
            }
            Self::OutOfRange(_) => "give a number within the range",
            Self::BadField(_) => "correct the field",
            Self::TooLarge(_) => "summarise it, or hand over keys or artifacts instead",
            Self::TooMany(_) => "answer or cancel some first",
            Self::SessionEnded { .. } => "register again, then receive again",
        }
    }
}
