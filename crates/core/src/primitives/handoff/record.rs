//! A hand-off, as the table stores it and callers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Offer, OnLoop, Receiver, Selected};
use crate::json::{Json, Shape, given};
use crate::names::{
    AgentId, HandoffId, KeyName, NamespaceName, PipelineName, StageName, TaskId, Traceparent,
};
use crate::numbers::Version;
use crate::rule::Finding;
use crate::time::Timestamp;
use crate::trace::kept;

/// The status of a hand-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HandoffStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Offered, and waiting for approval or for its receiver.
    Offered,
    /// Approved, and waiting for its receiver.
    Approved,
    /// Delivered to its receiver, which has not answered.
    Delivered,
    /// Accepted by its receiver.
    Accepted,
    /// Rejected by its receiver or an approver.
    Rejected,
    /// Not accepted in time.
    Expired,
    /// Cancelled by its giver.
    Cancelled,
    /// The work was completed.
    Completed,
    /// The work was not completed, or the hand-off was not possible.
    Failed,
}

impl Status {
    /// Every status, in the order of the life cycle.
    pub const ALL: [Self; 9] = [
        Self::Offered,
        Self::Approved,
        Self::Delivered,
        Self::Accepted,
        Self::Rejected,
        Self::Expired,
        Self::Cancelled,
        Self::Completed,
        Self::Failed,
    ];

    /// Whether it can still be accepted.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Offered | Self::Approved | Self::Delivered)
    }

    /// Whether it never changes again.
    pub fn is_finished(self) -> bool {
        !self.is_open() && self != Self::Accepted
    }

    /// The status as on the wire and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Approved => "approved",
            Self::Delivered => "delivered",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The agents that must approve a hand-off, and how long an approval is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalWanted {
    /// The approvers. If omitted, any agent except the giver and the receiver.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by: BTreeSet<AgentId>,
    /// How long an approval is valid, in milliseconds. If omitted, as long as the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// Whether a hand-off needs an approval, or the terms of that approval.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes what `wanted` reads")]
pub(super) enum ApprovalTerms {
    /// Whether any agent except the giver and the receiver must approve.
    Wanted(bool),
    /// The agents that must approve, and how long an approval is valid.
    Terms(ApprovalWanted),
}

/// Reads `true`, `false` or the terms of an approval.
pub(super) fn wanted<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<ApprovalWanted>, D::Error> {
    from.deserialize_any(Reading)
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Option<ApprovalWanted>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("true, false, or an object with `by` and `expires_ms`")
    }

    fn visit_bool<E: Error>(self, wanted: bool) -> Result<Self::Value, E> {
        Ok(wanted.then(ApprovalWanted::default))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let reader = serde::de::value::MapAccessDeserializer::new(map);
        ApprovalWanted::deserialize(reader).map(Some)
    }
}

/// The approval of a hand-off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approval {
    /// The agents that may approve. If omitted, any agent except the giver and the receiver.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by: BTreeSet<AgentId>,
    /// How long an approval is valid, in milliseconds. Absent if as long as the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// The agent that approved it. Absent if it is not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<AgentId>,
    /// When the approval expires. Absent if it is not approved or does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A delivery to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// The receiver.
    pub receiver: AgentId,
    /// When it is delivered again unless it is answered.
    pub until: Timestamp,
}

/// A key that the receiver got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// `namespace/key` as it was selected.
    pub key: KeyName,
    /// The version that was handed over.
    pub version: Version,
    /// The size of its value in bytes.
    pub bytes: u64,
    /// The JSON type of its value.
    pub kind: Shape,
    /// Whether it moved from the giver's namespace to the receiver's. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// Whether it was copied from the giver's namespace to the receiver's. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

impl Taken {
    /// The name of the key after the receiver got it, as `namespace/key`.
    pub fn name_now(&self, receiver: &AgentId) -> String {
        if self.moved || self.copied {
            format!("{}/{}", NamespaceName::of_agent(receiver), self.key.key())
        } else {
            self.key.to_string()
        }
    }
}

/// A key that the receiver did not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// `namespace/key` as it was selected.
    pub key: KeyName,
    /// `missing`, or `too_large` to be part of the answer.
    pub reason: String,
}

/// The task and keys that the receiver got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Receipt {
    /// The keys with versions and sizes. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Taken>,
    /// The size of `state` in bytes.
    pub state_bytes: u64,
    /// Selected keys that were left out. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It succeeded.
    Completed,
    /// It failed, and nothing was moved.
    Failed,
}

/// The stages of a pipeline between which a hand-off happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Passage {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// The completed stage.
    pub from_stage: StageName,
    /// The stage that was started.
    pub to_stage: StageName,
    /// The size of the output in bytes, if it is too large for `state`. Absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u64>,
}

impl Passage {
    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let names = [self.from_stage.as_str(), self.to_stage.as_str(), self.pipeline.as_str()];
        64 + names.iter().map(|name| name.len()).sum::<usize>()
    }
}

/// One step of a hand-off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The step: `validate`, `transfer_state`, `transfer_task`, an event of the offer, or
    /// `stage_completed` and `stage_started` between the stages of a pipeline.
    pub step: String,
    /// The outcome.
    pub status: StepStatus,
    /// When it happened.
    pub at: Timestamp,
    /// The agent that did it. Absent if it was the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    /// Details in words. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A hand-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handoff {
    /// The id of the hand-off.
    pub id: HandoffId,
    /// The status.
    pub status: Status,
    /// The giver.
    pub from: AgentId,
    /// The receiver: an agent id, or `{"capability": name}`.
    pub to: Receiver,
    /// The agent that accepted it. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<AgentId>,
    /// The task that is handed over. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Completed work. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub work_completed: Option<Json>,
    /// Remaining work. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub remaining_work: Option<Json>,
    /// Further notes. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub notes: Option<Json>,
    /// The reason. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Context as a flat object. Absent if empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Json>,
    /// Names of what the work has produced. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output_keys: Option<Json>,
    /// References to what the work has produced. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Keys and patterns of keys that are handed over. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Selected>,
    /// Whether the giver keeps its own keys and the receiver gets copies. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// W3C trace context (`traceparent`). Absent if not given.
    #[serde(default, deserialize_with = "kept", skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Digest of the proposal; an approval is bound to it.
    pub digest: String,
    /// Digest of what the receiver gets and of the progress of the task; equal digests mean that
    /// nothing has changed.
    pub content: String,
    /// How often the task was handed over before.
    pub hops: u64,
    /// When the offer expires.
    pub deadline: Timestamp,
    /// How long after a delivery without an answer it is delivered again, in milliseconds.
    pub redeliver_ms: u64,
    /// The required approval. Absent if none is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The number of deliveries.
    #[serde(default)]
    pub deliveries: u64,
    /// The current delivery. Absent if it is not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The task and keys that the receiver got. Absent before acceptance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// The result. Absent if there is none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The changed members of `state`. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, Json>,
    /// The error. Absent unless it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// The stages of a pipeline between which it happened. Absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Passage>,
    /// Findings of rules that did not stop it. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
    /// The action if the task is handed around in a loop. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loop: Option<OnLoop>,
    /// The steps so far.
    pub steps: Vec<Step>,
    /// When it was offered.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it ended. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Handoff {
    /// The record of an offer.
    pub fn new(id: HandoffId, from: AgentId, offer: Offer, now: Timestamp) -> Self {
        let approval = offer.approval.map(|ApprovalWanted { by, expires_ms }| Approval {
            by,
            expires_ms,
            ..Approval::default()
        });
        Self {
            id,
            status: Status::Offered,
            from,
            to: offer.to,
            receiver: None,
            task: offer.task,
            work_completed: offer.work_completed,
            remaining_work: offer.remaining_work,
            notes: offer.notes,
            reason: offer.reason,
            state: offer.state,
            output_keys: offer.output_keys,
            artifacts: offer.artifacts,
            keys: offer.keys,
            copy: offer.copy,
            traceparent: offer.traceparent,
            digest: String::new(),
            content: String::new(),
            hops: 0,
            deadline: now,
            redeliver_ms: 0,
            approval,
            deliveries: 0,
            delivery: None,
            receipt: None,
            result: None,
            changes: BTreeMap::new(),
            error: None,
            passage: None,
            warnings: Vec::new(),
            on_loop: offer.on_loop,
            steps: Vec::new(),
            created_at: now,
            updated_at: now,
            ended_at: None,
        }
    }

    /// Adds a successful step.
    pub fn step(&mut self, step: &str, at: Timestamp, by: Option<&AgentId>, detail: Option<&str>) {
        self.steps.push(Step {
            step: step.to_owned(),
            status: StepStatus::Completed,
            at,
            by: by.cloned(),
            detail: detail.map(str::to_owned),
        });
    }

    /// Adds a failed step; the hand-off has failed.
    pub fn fail(&mut self, step: &str, at: Timestamp, error: Json, detail: String) {
        let (status, by, detail) = (StepStatus::Failed, None, Some(detail));
        self.steps.push(Step { step: step.to_owned(), status, at, by, detail });
        self.error = Some(error);
        self.status = Status::Failed;
        self.ended_at = Some(at);
    }

    /// Ends it; it never changes again.
    pub fn end(&mut self, status: Status, at: Timestamp) {
        (self.status, self.ended_at, self.delivery) = (status, Some(at), None);
    }

    /// Whether it has the approval that it needs at this time.
    pub fn is_approved(&self, now: Timestamp) -> bool {
        let Some(approval) = &self.approval else { return true };
        approval.approved_by.is_some() && approval.expires_at.is_none_or(|moment| now < moment)
    }

    /// Whether a rule rejected it.
    pub fn is_invalid(&self) -> bool {
        self.steps
            .last()
            .is_some_and(|step| step.step == "validate" && step.status == StepStatus::Failed)
    }

    /// Approximate size in memory and in the log, in bytes.
    pub fn bytes(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len() + 24);
        let map = |map: &BTreeMap<String, Json>| -> usize {
            map.iter().map(|(name, value)| name.len() + value.as_bytes().len() + 10).sum()
        };
        let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 16);
        let receipt = self.receipt.as_ref().map_or(0, |receipt| {
            let keys: usize = receipt.keys.iter().map(|taken| taken.key.as_str().len() + 64).sum();
            keys + receipt.left_out.iter().map(|out| out.key.as_str().len() + 48).sum::<usize>()
        });
        let warnings = self.warnings.iter().map(|finding| finding.detail.len() + 160);
        let steps = self.steps.iter().map(|step| text(&step.detail) + 160);
        let by = self.approval.iter().flat_map(|approval| &approval.by);
        let by: usize = by.map(|agent| agent.as_str().len() + 5).sum();
        640 + self.from.as_str().len()
            + self.to.bytes()
            + self.task.as_ref().map_or(0, |task| task.as_str().len())
            + [&self.work_completed, &self.remaining_work, &self.notes]
                .map(json)
                .iter()
                .sum::<usize>()
            + [&self.output_keys, &self.artifacts, &self.result, &self.error]
                .map(json)
                .iter()
                .sum::<usize>()
            + map(&self.state)
            + map(&self.changes)
            + text(&self.reason)
            + self.traceparent.as_ref().map_or(0, Traceparent::bytes)
            + self.keys.iter().map(Selected::bytes).sum::<usize>()
            + receipt
            + self.passage.as_ref().map_or(0, Passage::bytes)
            + by
            + warnings.sum::<usize>()
            + steps.sum::<usize>()
    }
}
