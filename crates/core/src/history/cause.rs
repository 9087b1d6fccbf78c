//! Why something is as it is.

use serde::{Deserialize, Serialize};

use super::sentence::sentence;
use crate::event::Event;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::task;
use crate::time::Timestamp;

/// One link in the chain of what led to something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// When in the order of things.
    pub revision: Revision,
    /// When by the clock.
    pub time: Timestamp,
    /// Who did it.
    pub agent: AgentId,
    /// What happened, such as `state.set`.
    #[serde(rename = "type")]
    pub kind: String,
    /// To what.
    pub subject: String,
    /// The task that whoever did it had in hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The hand-off by which it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
    /// All of it as a sentence.
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

    /// Whoever did it had these tasks in hand.
    #[must_use]
    pub fn under(mut self, tasks: &[TaskId]) -> Self {
        self.task = tasks.first().cloned();
        if !tasks.is_empty() {
            let names: Vec<_> = tasks.iter().map(|task| format!("`{task}`")).collect();
            self.sentence.extend([", with ", &names.join(" and "), " in hand"]);
        }
        self
    }
}

/// Why something is as it is: what led to it, the latest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// What is explained.
    pub subject: String,
    /// As of which revision.
    pub revision: Revision,
    /// What led to it, the latest first.
    pub causes: Vec<Cause>,
    /// Whether the last of them is where it began. If not, what came before is no longer kept, or
    /// the chain was longer than can be told.
    pub complete: bool,
}
