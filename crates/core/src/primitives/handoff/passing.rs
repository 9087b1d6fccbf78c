//! The hand-offs between the stages of a pipeline.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Handoff, Offer, Passage, Receipt, Receiver, Status, content, fingerprint};
use crate::handoff::{Event, Table};
use crate::json::{Json, given};
use crate::names::{AgentId, TaskId, Traceparent};
use crate::space::stamp::Stamp;

/// The data that one stage passes to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Passing {
    /// The agent of the completed stage.
    pub from: AgentId,
    /// The agent of the started stage.
    pub to: AgentId,
    /// The task of the started stage, if it has exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The stages.
    pub passage: Passage,
    /// The output, unless it is too large.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The trace context of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// The record of a hand-over that has happened.
pub(super) fn passed(table: &Table, passing: Passing, stamp: &Stamp) -> Event {
    let Passing { from, to, task, passage, output, traceparent } = passing;
    let Passage { pipeline, from_stage, to_stage, .. } = &passage;
    let reason = format!("stage `{to_stage}` of pipeline `{pipeline}` follows `{from_stage}`");
    let state: BTreeMap<String, Json> =
        output.into_iter().map(|output| ("output".to_owned(), output)).collect();
    let state_bytes: usize =
        state.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    let to_agent = Receiver::Agent(to.clone());
    let offer = Offer { task, state, reason: Some(reason), traceparent, ..Offer::to(to_agent) };
    let mut handoff = Handoff::new(table.fresh_id(stamp.revision), from.clone(), offer, stamp.now);
    handoff.passage = Some(passage);
    handoff.content = content(&handoff, &[], &[]);
    handoff.digest = fingerprint(&handoff);
    handoff.receipt = Some(Receipt { state_bytes: state_bytes as u64, ..Receipt::default() });
    handoff.step("stage_completed", stamp.now, Some(&from), None);
    handoff.step("stage_started", stamp.now, Some(&to), None);
    handoff.receiver = Some(to);
    handoff.end(Status::Completed, stamp.now);
    Event::Passed(Arc::new(handoff))
}
