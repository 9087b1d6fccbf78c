//! Changes of one subject between two points in history.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::json::{Json, given};
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::time::Timestamp;

/// Events that create their subject, if they are the first about it.
const BEGIN: &[&str] = &[
    "agent.joined",
    "artifact.put",
    "checkpoint.copied",
    "checkpoint.forked",
    "checkpoint.saved",
    "contract.declared",
    "handoff.offered",
    "join.created",
    "lock.acquired",
    "message.sent",
    "namespace.created",
    "pipeline.created",
    "reaction.added",
    "rule.added",
    "secret.put",
    "semaphore.created",
    "stream.created",
    "task.created",
];

/// Events that end their subject.
const END: &[&str] = &[
    "agent.forgotten",
    "agent.left",
    "agent.lost",
    "artifact.deleted",
    "artifact.expired",
    "barrier.forgotten",
    "checkpoint.pruned",
    "contract.deleted",
    "handoff.cancelled",
    "handoff.completed",
    "handoff.expired",
    "handoff.failed",
    "handoff.rejected",
    "join.settled",
    "lock.dropped",
    "lock.expired",
    "lock.released",
    "message.acked",
    "message.expired",
    "message.lost",
    "message.replied",
    "message.timed_out",
    "namespace.deleted",
    "pipeline.aborted",
    "pipeline.completed",
    "pipeline.deleted",
    "pipeline.failed",
    "reaction.removed",
    "rule.removed",
    "secret.deleted",
    "secret.expired",
    "semaphore.forgotten",
    "stream.closed",
    "stream.deleted",
    "task.cancelled",
    "task.completed",
];

/// The types of events that create or end their subject.
pub fn deciding() -> impl Iterator<Item = &'static str> {
    BEGIN.iter().chain(END).copied()
}

/// How a subject changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChangeOfSubject"))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was created, and exists.
    Created,
    /// It existed before, and changed.
    Changed,
    /// It existed before, and ended.
    Ended,
    /// It was created, and has ended already.
    Passed,
}

impl Change {
    /// The change of something that existed before or not, and exists after or not.
    pub fn between(before: bool, after: bool) -> Self {
        match (before, after) {
            (false, true) => Self::Created,
            (true, true) => Self::Changed,
            (true, false) => Self::Ended,
            (false, false) => Self::Passed,
        }
    }

    /// The change that results from events of these types, in order.
    pub fn of<'a>(kinds: impl IntoIterator<Item = &'a str>) -> Self {
        let mut kinds = kinds.into_iter().peekable();
        let before = !kinds.peek().is_some_and(|first| BEGIN.contains(first));
        let decisive = kinds.filter(|kind| BEGIN.contains(kind) || END.contains(kind)).last();
        Self::between(before, !decisive.is_some_and(|kind| END.contains(&kind)))
    }
}

/// One event in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Happened {
    /// The revision.
    pub revision: Revision,
    /// The time.
    pub time: Timestamp,
    /// The agent that did it.
    pub agent: AgentId,
    /// The event type, such as `task.claimed`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl Happened {
    /// An event of a batch.
    pub fn of(batch: &Batch, event: &Event) -> Self {
        let Batch { revision, time, agent, .. } = batch;
        let (revision, time, agent) = (*revision, *time, agent.clone());
        Self { revision, time, agent, kind: event.kind().to_owned() }
    }
}

/// The changes of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The subject, such as `tasks/t-7` or `state/shared/plan`.
    pub subject: String,
    /// How it changed.
    pub change: Change,
    /// The number of events.
    pub count: u64,
    /// The last events, oldest first.
    pub events: Vec<Happened>,
    /// For an entry, the previous value. Absent if there was no entry.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Json>,
    /// For an entry, the new value. Absent if the entry was deleted.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_tells_what_was_before_and_the_last_decisive_one_what_is_after() {
        for (kinds, change) in [
            (&["task.created"][..], Change::Created),
            (&["task.created", "task.claimed"], Change::Created),
            (&["task.claimed", "task.progressed"], Change::Changed),
            (&["task.claimed", "task.completed"], Change::Ended),
            (&["task.created", "task.claimed", "task.completed"], Change::Passed),
            (&["lock.released", "lock.acquired"], Change::Changed),
            (&["lock.acquired", "lock.released", "lock.acquired"], Change::Created),
            (&["agent.seen"], Change::Changed),
        ] {
            assert_eq!(Change::of(kinds.iter().copied()), change, "{kinds:?}");
        }
    }
}
