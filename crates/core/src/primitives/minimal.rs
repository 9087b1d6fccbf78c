//! `return: minimal`: the answer to a write contains only the fields that its caller cannot know,
//! not the whole record.
//!
//! ```text
//!   {"id":"t1","type":"review","status":"pending","definition":{…},…}   ──▶   {"id":"t1",…}
//! ```
//!
//! The stored answer for a repeated request is the complete one, so a repetition may ask for either
//! form. A reply that its caller asked for, such as a claimed task, a received message or the hold
//! of a lock, has no shorter form.

use serde::{Deserialize, Serialize};

use crate::numbers::{Token, Version};
use crate::reply::{Answer, Reply};
use crate::state::Warning;
use crate::task::Task;
use crate::{agent, checkpoint, handoff, join, lock, message, semaphore, state, task};

/// The replies that have a minimal form, by primitive and name.
pub(crate) const MINIMAL_REPLIES: [(&str, &str); 10] = [
    ("state", "entry"),
    ("agent", "agent"),
    ("message", "message"),
    ("lock", "lock"),
    ("semaphore", "semaphore"),
    ("task", "task"),
    ("task", "completed"),
    ("join", "join"),
    ("checkpoint", "checkpoint"),
    ("handoff", "handoff"),
];

/// The answer to a write with `return: minimal`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Minimal {
    /// The id of the task, message, hand-off, join or checkpoint. Absent for other records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version of the entry. Absent for other records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The status of the task, message, hand-off or session. Absent for other records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The fencing token of the caller's lease or session. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The task that was claimed in the same commit, in full. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Task>>,
    /// Warnings about the call. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Minimal {
    fn of_task(task: &Task) -> Self {
        Self {
            id: Some(task.id.to_string()),
            status: Some(task.status.word().to_owned()),
            token: task.lease.as_ref().and_then(|lease| shown(lease.token)),
            warnings: task.warnings.clone(),
            ..Self::default()
        }
    }
}

/// A token, unless it is hidden from the caller.
fn shown(token: Token) -> Option<Token> {
    (!token.is_hidden()).then_some(token)
}

impl Reply {
    /// Its minimal form; itself if it has none.
    #[must_use]
    pub fn into_minimal(self) -> Self {
        let minimal = match self {
            Self::State(state::Reply::Entry(entry)) => Minimal {
                version: Some(entry.version()),
                warnings: entry.warnings().to_vec(),
                ..Minimal::default()
            },
            Self::Agent(agent::Reply::Agent(agent)) => Minimal {
                status: Some(agent.status.word().to_owned()),
                token: shown(agent.token),
                ..Minimal::default()
            },
            Self::Message(message::Reply::Message(message)) => Minimal {
                id: Some(message.id.to_string()),
                status: Some(message.status.word().to_owned()),
                ..Minimal::default()
            },
            Self::Lock(lock::Reply::Lock(_)) | Self::Semaphore(semaphore::Reply::Semaphore(_)) => {
                Minimal::default()
            }
            Self::Task(task::Reply::Task(task)) => Minimal::of_task(&task),
            Self::Task(task::Reply::Completed { task, next }) => {
                Minimal { next, ..Minimal::of_task(&task) }
            }
            Self::Join(join::Reply::Join(join)) => {
                Minimal { id: Some(join.id.to_string()), ..Minimal::default() }
            }
            Self::Checkpoint(checkpoint::Reply::Checkpoint(checkpoint)) => {
                Minimal { id: Some(checkpoint.id.to_string()), ..Minimal::default() }
            }
            Self::Handoff(handoff::Reply::Handoff(handoff)) => Minimal {
                id: Some(handoff.id.to_string()),
                status: Some(handoff.status.word().to_owned()),
                ..Minimal::default()
            },
            Self::Transaction(replies) => {
                let replies = replies.into_iter().map(Self::into_minimal);
                return Self::Transaction(replies.collect());
            }
            other => return other,
        };
        Self::Minimal(Box::new(minimal))
    }
}

impl Answer {
    /// The same with the minimal form of its reply.
    #[must_use]
    pub fn into_minimal(self) -> Self {
        Self { reply: self.reply.into_minimal(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command::{Mutation, Request};
    use crate::names::AgentId;
    use crate::space::{CallOutcome, Space};
    use crate::time::Timestamp;
    use crate::wire::{Call, Frame, OPERATIONS, write_answer};

    /// One after the other by the same agent; each is an operation with a minimal form.
    const STORY: [&str; 13] = [
        r#"{"command":"agent.register","agent":"ada","capabilities":["a","b"]}"#,
        r#"{"command":"state.set","namespace":"shared","key":"plan","value":"VALUE"}"#,
        r#"{"command":"message.send","to":"ada","body":"VALUE"}"#,
        r#"{"command":"lock.acquire","name":"door"}"#,
        r#"{"command":"lock.release","name":"door","token":4}"#,
        r#"{"command":"semaphore.acquire","name":"desk","permits":1}"#,
        r#"{"command":"semaphore.release","name":"desk","token":6}"#,
        r#"{"command":"task.create","task":"t1","type":"write","definition":"VALUE"}"#,
        r#"{"command":"join.create","tasks":["t1"]}"#,
        r#"{"command":"task.claim"}"#,
        r#"{"command":"checkpoint.save","task":"t1","token":10,"state":"VALUE"}"#,
        r#"{"command":"task.complete","task":"t1","token":10,"result":"VALUE"}"#,
        r#"{"command":"handoff.offer","to":"bob","notes":"VALUE"}"#,
    ];

    fn mutation(text: &str) -> (Mutation, &'static str) {
        let text = text.replace("VALUE", &"x".repeat(10_000));
        let call = Frame::parse(&text).unwrap().call().unwrap_or_else(|it| panic!("{it}"));
        let name = call.name();
        match call {
            Call::Command(command) => (Mutation::Command(command), name),
            other => panic!("{other:?}"),
        }
    }

    fn answer(space: &mut Space, mutation: Mutation) -> Answer {
        let request = Request { mutation, idempotency_key: None };
        let ada = AgentId::parse("ada").unwrap();
        match space.commit(request, &ada, Timestamp(1)).unwrap().outcome {
            CallOutcome::Answered(answer) => answer,
            CallOutcome::Waits(_) => panic!("it waits"),
        }
    }

    fn bytes(answer: &Answer) -> usize {
        let mut text = Vec::new();
        write_answer(&mut text, answer);
        text.len()
    }

    #[test]
    fn every_reply_of_the_list_has_a_minimal_form_of_few_bytes_and_no_other_reply_has_one() {
        let (mut whole, mut short) = (Space::default(), Space::default());
        let mut seen = BTreeSet::new();
        for text in STORY {
            let (mutation, name) = mutation(text);
            let operation = crate::wire::operation(name).unwrap();
            let long = answer(&mut whole, mutation.clone());
            let minimal = answer(&mut short, mutation.into_minimal());
            assert_eq!(minimal, long.clone().into_minimal(), "`{name}`");
            let is_minimal = matches!(minimal.reply, Reply::Minimal(_));
            assert_eq!(is_minimal, operation.returns_minimal(), "`{name}`");
            if is_minimal {
                seen.insert((operation.parts().0, operation.reply));
                assert!(bytes(&minimal) <= 100, "`{name}`: {} bytes", bytes(&minimal));
                assert!(bytes(&minimal) < bytes(&long), "`{name}`");
            }
        }
        // `task.complete` answers with both.
        seen.insert(("task", "task"));
        assert_eq!(seen, BTreeSet::from(MINIMAL_REPLIES));
        let replies = OPERATIONS.iter().map(|it| (it.parts().0, it.reply)).collect::<Vec<_>>();
        assert!(MINIMAL_REPLIES.iter().all(|it| replies.contains(it)), "each is a reply");
    }

    #[test]
    fn a_set_is_answered_with_its_revision_and_version() {
        let (set, _) = mutation(STORY[1]);
        let answer = answer(&mut Space::default(), set.into_minimal());
        let mut text = Vec::new();
        write_answer(&mut text, &answer);
        assert_eq!(text, br#""revision":1,"result":{"version":1}"#);
    }
}
