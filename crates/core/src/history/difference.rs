//! Changes of one subject between two points in history.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::json::{Json, given};
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::task;
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

/// Events that end their subject, in addition to those in [`Turn::of`].
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

/// The effect of an event on the existence of its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It creates it, if it is the first about it.
    Begins,
    /// It continues after its end.
    Resumes,
    /// It ends it.
    Ends,
}

impl Turn {
    /// The meaning of an event; none if it leaves this as it is.
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            // A failed attempt may be followed by another one.
            Event::Task(task::Event::Failed { outcome, .. }) => {
                (*outcome == task::Outcome::Failed).then_some(Self::Ends)
            }
            Event::Task(task::Event::Reviewed { verdict, accepts, .. }) => {
                let ends = *verdict != task::Verdict::Retry && !accepts;
                ends.then_some(Self::Ends)
            }
            Event::Task(task::Event::Retried { .. }) => Some(Self::Resumes),
            other if BEGIN.contains(&other.kind()) => Some(Self::Begins),
            other => END.contains(&other.kind()).then_some(Self::Ends),
        }
    }
}

/// The types of events that create or end their subject.
pub fn deciding() -> impl Iterator<Item = &'static str> {
    BEGIN.iter().chain(END).copied()
}

/// How a subject changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChangeOfSubject"))]
#[serde(rename_all = "snake_case")]
pub enum SubjectChange {
    /// It was created, and exists.
    Created,
    /// It existed before, and changed.
    Changed,
    /// It existed before, and ended.
    Ended,
    /// It was created, and has ended already.
    Passed,
}

impl SubjectChange {
    /// The change of something that existed before or not, and exists after or not.
    pub fn between(before: bool, after: bool) -> Self {
        match (before, after) {
            (false, true) => Self::Created,
            (true, true) => Self::Changed,
            (true, false) => Self::Ended,
            (false, false) => Self::Passed,
        }
    }

    /// The change that results from events with these meanings, in order.
    pub fn of(turns: impl IntoIterator<Item = Option<Turn>>) -> Self {
        let mut turns = turns.into_iter().peekable();
        let before = turns.peek() != Some(&Some(Turn::Begins));
        Self::between(before, turns.flatten().last() != Some(Turn::Ends))
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
    pub change: SubjectChange,
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
    use crate::agent;
    use crate::lock;
    use crate::names::{LockName, TaskId};
    use crate::numbers::Token;
    use crate::task::{Cause, Outcome, Verdict};

    fn turn(word: &str) -> Option<Turn> {
        let task = TaskId::parse("t").unwrap();
        let reviewed = |verdict, accepts| {
            let (task, note, result) = (task.clone(), None, None);
            task::Event::Reviewed { task, verdict, accepts, note, result }
        };
        let failed = |outcome| {
            let (task, error, cause) = (task.clone(), Json::null(), Cause::Reported);
            task::Event::Failed { task, error, cause, outcome }
        };
        let name = || LockName::parse("door").unwrap();
        let agent = AgentId::parse("ada").unwrap();
        let event: Event = match word {
            "ready" => task::Event::Ready { task }.into(),
            "completed" => task::Event::Completed { task, result: None, artifacts: None }.into(),
            "cancelled" => task::Event::Cancelled { task, reason: None, because: None }.into(),
            "failed" => failed(Outcome::Failed).into(),
            "failed once" => failed(Outcome::Retry { not_before: None }).into(),
            "in review" => failed(Outcome::Review).into(),
            "retried" => {
                let (because, deadline, reason) = (None, None, None);
                task::Event::Retried { task, because, deadline, reason }.into()
            }
            "returned" => reviewed(Verdict::Retry, false).into(),
            "accepted" => reviewed(Verdict::Complete, true).into(),
            "done by hand, of old" => reviewed(Verdict::Complete, false).into(),
            "rejected" => reviewed(Verdict::Fail, false).into(),
            "seen" => agent::Event::Seen { agent }.into(),
            "acquired" => {
                let (token, ttl_ms, wait) = (Token(1), 1, None);
                lock::Event::Acquired { name: name(), holder: agent, token, ttl_ms, wait }.into()
            }
            "released" => lock::Event::Released { name: name(), token: Token(1) }.into(),
            _ => panic!("`{word}` is not in the table"),
        };
        Turn::of(&event)
    }

    #[test]
    fn the_first_event_has_the_state_before_and_the_last_decisive_one_the_state_after() {
        for (words, change) in [
            (&["ready", "failed once"][..], SubjectChange::Changed),
            (&["ready", "failed once", "ready", "failed"], SubjectChange::Ended),
            (&["failed", "retried"], SubjectChange::Changed),
            (&["retried", "ready", "completed"], SubjectChange::Ended),
            (&["cancelled", "retried", "ready"], SubjectChange::Changed),
            (&["ready", "completed"], SubjectChange::Ended),
            (&["in review"], SubjectChange::Changed),
            (&["in review", "returned"], SubjectChange::Changed),
            (&["in review", "rejected"], SubjectChange::Ended),
            (&["in review", "accepted", "completed"], SubjectChange::Ended),
            (&["in review", "done by hand, of old"], SubjectChange::Ended),
            (&["released", "acquired"], SubjectChange::Changed),
            (&["acquired"], SubjectChange::Created),
            (&["acquired", "released", "acquired"], SubjectChange::Created),
            (&["acquired", "released"], SubjectChange::Passed),
            (&["seen"], SubjectChange::Changed),
        ] {
            assert_eq!(SubjectChange::of(words.iter().copied().map(turn)), change, "{words:?}");
        }
    }
}
