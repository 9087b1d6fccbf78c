//! A hand-off, as the table keeps it and callers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Offer, OnLoop, Receiver, Selected};
use crate::json::{Json, Shape, given};
use crate::names::{AgentId, HandoffId, KeyName, NamespaceName, TaskId, Traceparent};
use crate::numbers::Version;
use crate::rule::Finding;
use crate::time::Timestamp;
use crate::trace::kept;

/// Where a hand-off is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HandoffStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits to be approved, or for its receiver.
    Offered,
    /// Somebody has approved it; it waits for its receiver.
    Approved,
    /// Its receiver has got it, and has not answered.
    Delivered,
    /// Its receiver has taken it.
    Accepted,
    /// Its receiver, or who should have approved it, does not want it.
    Rejected,
    /// Nobody took it in time.
    Expired,
    /// Its giver has withdrawn it.
    Cancelled,
    /// What was handed over is done.
    Completed,
    /// What was handed over was not done, or it could not be handed over.
    Failed,
}

impl Status {
    /// Every status, in the order of a life.
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

    /// Whether nothing changes any more.
    pub fn is_finished(self) -> bool {
        !self.is_open() && self != Self::Accepted
    }

    /// The status as it stands on the wire, and in a sentence.
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

/// Who must approve a hand-off, and for how long that holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ApprovalWanted {
    /// Who may; anyone but the giver and the receiver if nobody is named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by: BTreeSet<AgentId>,
    /// How long an approval holds; as long as the offer if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
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

/// What is known about the approval of a hand-off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approval {
    /// Who may; anyone but the giver and the receiver if nobody is named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by: BTreeSet<AgentId>,
    /// How long one holds; as long as the offer if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// Who has approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<AgentId>,
    /// Until when that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Somebody has got a hand-off to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// Who.
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
    /// How large its value is.
    pub bytes: u64,
    /// What kind of value it is, as JSON names it.
    pub kind: Shape,
    /// Whether it moved from the giver's own namespace to the receiver's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

impl Taken {
    /// Where the key is after the receiver got it, as `namespace/key`.
    pub fn name_now(&self, receiver: &AgentId) -> String {
        if self.moved {
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
    /// Why: `missing`, or `too_large` to stand in an answer.
    pub reason: String,
}

/// What the receiver got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Receipt {
    /// Keys, with versions and sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Taken>,
    /// How many bytes the flat map had.
    pub state_bytes: u64,
    /// What was selected and left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// How a step of a hand-off went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It was done.
    Completed,
    /// It could not be done, and nothing has moved.
    Failed,
}

/// One step of a hand-off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Which: `validate`, `transfer_state`, `transfer_task`, or what became of an offer.
    pub step: String,
    /// How it went.
    pub status: StepStatus,
    /// When.
    pub at: Timestamp,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A hand-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handoff {
    /// Which.
    pub id: HandoffId,
    /// Where it is in its life.
    pub status: Status,
    /// Who gives.
    pub from: AgentId,
    /// To whom: the id of an agent, or `{"capability": name}`.
    pub to: Receiver,
    /// Who has accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<AgentId>,
    /// The task that changes hands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
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
    /// What the receiver needs to know as a flat map.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, Json>,
    /// What the work has produced under which names.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output_keys: Option<Json>,
    /// What the work has made, by reference.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Keys that go along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Selected>,
    /// The trace that this is a part of.
    #[serde(default, deserialize_with = "kept", skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Fingerprint of all that is proposed: what an approval is bound to.
    pub digest: String,
    /// Fingerprint of what the receiver is told and of how far the task is: equal ones mean that
    /// nothing has changed.
    pub content: String,
    /// How often the task has changed hands before this.
    pub hops: u64,
    /// It must be accepted by then.
    pub deadline: Timestamp,
    /// How long after it was delivered it is delivered again.
    pub redeliver_ms: u64,
    /// Who may let it pass, and who has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// How often it was delivered.
    #[serde(default)]
    pub deliveries: u64,
    /// Who has got it to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// What the receiver got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What changed in the map that was handed over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, Json>,
    /// Why it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// What rules had to say about it that did not stop it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
    /// What becomes of a task that is handed round in circles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_loop: Option<OnLoop>,
    /// What happened, and when.
    pub steps: Vec<Step>,
    /// When it was offered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Handoff {
    /// What a giver said, as a record.
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
            warnings: Vec::new(),
            on_loop: offer.on_loop,
            steps: Vec::new(),
            created_at: now,
            updated_at: now,
            ended_at: None,
        }
    }

    /// Notes what has been done.
    pub fn step(&mut self, step: &str, at: Timestamp, by: Option<&AgentId>, detail: Option<&str>) {
        self.steps.push(Step {
            step: step.to_owned(),
            status: StepStatus::Completed,
            at,
            by: by.cloned(),
            detail: detail.map(str::to_owned),
        });
    }

    /// Notes what could not be done; with that it has failed.
    pub fn fail(&mut self, step: &str, at: Timestamp, error: Json, detail: String) {
        let (status, by, detail) = (StepStatus::Failed, None, Some(detail));
        self.steps.push(Step { step: step.to_owned(), status, at, by, detail });
        self.error = Some(error);
        self.status = Status::Failed;
        self.ended_at = Some(at);
    }

    /// Nothing changes any more after this.
    pub fn end(&mut self, status: Status, at: Timestamp) {
        (self.status, self.ended_at, self.delivery) = (status, Some(at), None);
    }

    /// Whether it has what it needs to be accepted at this moment, as far as approvals go.
    pub fn is_approved(&self, now: Timestamp) -> bool {
        let Some(approval) = &self.approval else { return true };
        approval.approved_by.is_some() && approval.expires_at.is_none_or(|moment| now < moment)
    }

    /// Whether it was refused because of rules.
    pub fn is_invalid(&self) -> bool {
        self.steps
            .last()
            .is_some_and(|step| step.step == "validate" && step.status == StepStatus::Failed)
    }

    /// About how many bytes it takes, in memory and in the log.
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
            + by
            + warnings.sum::<usize>()
            + steps.sum::<usize>()
    }
}
