//! Why something is in its current state.

use serde::{Deserialize, Serialize};

use super::sentence::sentence;
use crate::event::Event;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::task;
use crate::time::Timestamp;

/// One link in the chain of events that led to something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// The revision.
    pub revision: Revision,
    /// The time.
    pub time: Timestamp,
    /// The agent that did it.
    pub agent: AgentId,
    /// The event type, such as `state.set`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subject of the event.
    pub subject: String,
    /// The task that the agent worked on. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The hand-off through which it arrived. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
    /// The event as a sentence.
    pub sentence: String,
}

impl Cause {
    /// An event as a link of the chain.
    pub fn of(batch: &Batch, event: &Event) -> Self {
        let Batch { revision, time, agent, .. } = batch;
        let handoff = match event {
            Event::Task(
                task::Event::HandedOver { handoff, .. } | task::Event::HandedOff { handoff, .. },
            ) => Some(handoff.clone()),
            Event::Handoff(event) => event.handoff().cloned(),
            _ => None,
        };
        Self {
            revision: *revision,
            time: *time,
            agent: agent.clone(),
            kind: event.kind().to_owned(),
            subject: event.subject(),
            task: None,
            handoff,
            sentence: sentence(batch, event),
        }
    }

    /// Adds the tasks that the author of the event held.
    #[must_use]
    pub fn under(mut self, tasks: &[TaskId]) -> Self {
        self.task = tasks.first().cloned();
        if !tasks.is_empty() {
            let names: Vec<_> = tasks.iter().map(|task| format!("`{task}`")).collect();
            self.sentence.extend([", while holding ", &names.join(" and ")]);
        }
        self
    }
}

/// The causes of the state of something, latest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The subject that is explained.
    pub subject: String,
    /// The revision that the explanation reflects.
    pub revision: Revision,
    /// The causes, latest first.
    pub causes: Vec<Cause>,
    /// Whether the list reaches back to the first cause. If not, earlier history is no longer kept,
    /// or the chain is longer than the limit.
    pub complete: bool,
}
