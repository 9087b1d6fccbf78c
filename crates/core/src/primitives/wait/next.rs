//! The next work of an agent: a hand-off, a message or a task.
//!
//! A call that waits for it is in three wait queues under one number. The first of them that
//! answers it ends it, and [`policy`](crate::policy) removes it from the others in the same step.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::decide::refused;
use super::vocabulary::Reply;
use crate::event::Event;
use crate::handoff::{self, Handoff};
use crate::limits;
use crate::message::{self, Message};
use crate::names::TaskType;
use crate::primitive::Decided;
use crate::refusal::{OutOfRange, within};
use crate::rejection::Rejection as Refusal;
use crate::reply::Reply as AnyReply;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, SpaceView, TablesView};
use crate::task::{self, Task};

/// Receives the next work for the caller. If there is work of several kinds, a hand-off comes
/// before a message, and a message before a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AgentNext"))]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// The kinds of work to receive, at least two. If omitted, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<BTreeSet<WorkKind>>,
    /// Only tasks of these types. If omitted, any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<TaskType>>,
    /// The capabilities of the caller for tasks. If omitted, those of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<String>>,
    /// The lease of a task in milliseconds, unless it is renewed.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::LEASE_MS_DEFAULT),
        range(min = limits::LEASE_MS_MIN, max = limits::LEASE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long after a delivery without an acknowledgement a message is delivered again, in
    /// milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::REDELIVER_MS_DEFAULT),
        range(min = limits::REDELIVER_MS_MIN, max = limits::REDELIVER_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
    /// How long to wait for work, in milliseconds. If omitted, the call does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Hand-offs that are offered to the caller.
    Handoff,
    /// Messages to the caller.
    Message,
    /// Tasks that the caller may claim.
    Task,
}

/// The next work of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A hand-off, as `handoff.receive` returns it.
    Handoff(Arc<Handoff>),
    /// A message, as `inbox.receive` returns it.
    Message(Box<Message>),
    /// A task with the caller's lease, as `task.claim` returns it.
    Task(Box<Task>),
}

impl Next {
    pub(crate) fn wants(&self, kind: WorkKind) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }

    /// A call that waits in one queue only cannot be distinguished from a call of the operation for
    /// that kind.
    fn check_kinds(&self) -> Result<(), OutOfRange> {
        let given = self.kinds.as_ref().map(|kinds| kinds.len() as u64);
        within("kinds", given, 3, (2, 3)).map(drop)
    }

    fn claim(&self, wait_ms: Option<u64>) -> task::Command {
        task::Command::Claim(task::Claim {
            types: self.types.clone(),
            capabilities: self.capabilities.clone(),
            task: None,
            lease_ms: self.lease_ms,
            wait_ms,
            limit: None,
        })
    }

    fn receive(&self, wait_ms: Option<u64>) -> message::Command {
        let (agent, limit, redeliver_ms) = (None, Some(1), self.redeliver_ms);
        message::Command::Receive(message::Receive { agent, wait_ms, limit, redeliver_ms })
    }
}

/// The reply about what was received, as that to `agent.next`.
fn received_now<E: Into<Event>>(found: Decided<E>, happening: &mut Happening<'_>) -> ReplyPlan {
    ReplyPlan::Next(Box::new(happening.take(found)))
}

/// Takes what is there, or queues the call for all three.
pub(super) fn next(
    space: &Space,
    asked: &Next,
    stamp: &Stamp,
    happening: &mut Happening<'_>,
) -> Result<ReplyPlan, Refusal> {
    asked.check_kinds().map_err(refused)?;
    let range = (0, limits::WAIT_MS_MAX);
    let wait_ms =
        within("wait_ms", asked.wait_ms, 0, range).map_err(|it: OutOfRange| refused(it))?;
    let (handoffs, others) = (SpaceView::new(space, happening.effort()), TablesView::of(space));
    let received = |wait_ms| {
        let command = handoff::Command::Receive { wait_ms };
        handoff::decide(&space.handoff, &handoffs, command, stamp)
    };
    let mail = |wait_ms| message::decide(&space.message, &others, asked.receive(wait_ms), stamp);
    let claimed = |wait_ms| task::decide(&space.task, &others, asked.claim(wait_ms), stamp);

    let is_for = |kind| asked.wants(kind);
    if is_for(WorkKind::Handoff) {
        let found = received(None)?;
        if !found.events.is_empty() {
            return Ok(received_now(found, happening));
        }
    }
    let mut noted = Vec::new();
    if is_for(WorkKind::Message) {
        let found = mail(None)?;
        let is_delivery =
            |event: &message::Event| matches!(event, message::Event::Delivered { .. });
        if found.events.iter().any(is_delivery) {
            return Ok(received_now(found, happening));
        }
        noted = found.events;
    }
    if is_for(WorkKind::Task) {
        let found = claimed(None)?;
        if !found.events.is_empty() {
            return Ok(received_now(found, happening));
        }
    }
    if wait_ms == 0 {
        // The caller can receive requests from now on, as after `inbox.receive`.
        happening.extend(noted);
        return Ok(ReplyPlan::Reply(Reply::Next(None).into()));
    }
    if is_for(WorkKind::Handoff) {
        happening.extend(received(Some(wait_ms))?.events);
    }
    if is_for(WorkKind::Message) {
        happening.extend(mail(Some(wait_ms))?.events);
    }
    if is_for(WorkKind::Task) {
        happening.extend(claimed(Some(wait_ms))?.events);
    }
    Ok(ReplyPlan::Waits)
}

/// The reply about a hand-off, a message or a task, as the reply to `agent.next`.
pub(crate) fn as_next(reply: AnyReply) -> AnyReply {
    let work = match reply {
        AnyReply::Handoff(handoff::Reply::Received(found)) => found.map(Work::Handoff),
        AnyReply::Message(message::Reply::Received { messages }) => {
            messages.into_iter().next().map(|message| Work::Message(Box::new(message)))
        }
        AnyReply::Task(task::Reply::Claimed(task)) => task.map(Work::Task),
        reply => return reply,
    };
    Reply::Next(work).into()
}
