//! The rules of waits, one function per command.

use std::sync::Arc;

use super::next::next;
use super::table::{Table, Waiter};
use super::vocabulary::{Command, Event, Query, Reply, Signal};
use super::{Goal, Present, Rejection};
use crate::access::Viewer;
use crate::limits;
use crate::names::AgentId;
use crate::numbers::WaitId;
use crate::primitive::Rules;
use crate::refusal::{OutOfRange, TooMany, has_room, within};
use crate::rejection::Rejection as Refusal;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::waiting::wait::Left;
use crate::{handoff, task};

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    // An unknown task or hand-off is refused in the words of its own primitive.
    type Rejection = Refusal;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Refusal> {
        match command {
            Command::Task { task, statuses, wait_ms } => {
                let goal = Goal::Task { id: task, statuses: statuses.unwrap_or_default() };
                wait(space, goal, wait_ms, stamp, happening)
            }
            Command::Handoff { handoff, statuses, wait_ms } => {
                let goal = Goal::Handoff { id: handoff, statuses: statuses.unwrap_or_default() };
                wait(space, goal, wait_ms, stamp, happening)
            }
            Command::Next(asked) => next(space, &asked, stamp, happening),
        }
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        expire(&space.wait, stamp)
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        space.wait.waiter(wait).map(|waiter| gave_up(waiter, Left::Gone)).into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        space.wait.of_agent(agent).map(|waiter| gave_up(waiter, Left::SessionEnded)).collect()
    }

    fn handle(space: &Space, signal: Signal, _stamp: &Stamp) -> Result<Vec<Event>, Refusal> {
        let Signal::Answer = signal;
        let due = space.wait.due().take(limits::STATUS_WAITS_ANSWERED_MAX);
        Ok(due.map(answered).collect())
    }

    fn query(_space: &Space, query: &Query) -> Option<Result<Reply, Refusal>> {
        match *query {}
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Refusal> {
        match event {
            Event::Answered { goal, waiter, .. } => {
                let mut reply = found(space, goal)?;
                if let Reply::Task(Some(task)) = &mut reply {
                    task.hide_token(Viewer::agent(waiter));
                }
                Ok(reply)
            }
            Event::GaveUp { waiter, left: Left::SessionEnded, .. } => {
                Err(Rejection::SessionEnded { agent: waiter.clone() }.into())
            }
            Event::GaveUp { goal, .. } | Event::Queued { goal, .. } => Ok(nothing(goal)),
        }
    }
}

fn wait(
    space: &Space,
    goal: Goal,
    wait_ms: Option<u64>,
    stamp: &Stamp,
    happening: &mut Happening<'_>,
) -> Result<ReplyPlan, Refusal> {
    let range = (0, limits::WAIT_MS_MAX);
    let wait_ms = within("wait_ms", wait_ms, 0, range).map_err(|it: OutOfRange| refused(it))?;
    let there = found(space, &goal)?;
    if goal.is_reached(present(space, &goal)) {
        return Ok(ReplyPlan::Reply(there.into()));
    }
    if wait_ms == 0 {
        return Ok(ReplyPlan::Reply(nothing(&goal).into()));
    }
    let (table, waiter) = (&space.wait, stamp.agent.clone());
    let counts = [
        ("calls that wait for it", table.of(&goal.target()).count(), limits::STATUS_WAITS_MAX),
        (
            "calls of this agent that wait",
            table.of_agent(&waiter).count(),
            limits::STATUS_WAITS_MAX,
        ),
        ("calls that wait for a status", table.waits().len(), limits::WAITS_MAX),
    ];
    has_room(counts).map_err(|it: TooMany| refused(it))?;
    let until = stamp.now.after(wait_ms);
    happening.add(Event::Queued { wait: stamp.wait(), waiter, until, goal });
    Ok(ReplyPlan::Waits)
}

pub(super) fn refused(refusal: impl Into<Rejection>) -> Refusal {
    refusal.into().into()
}

/// The current status of what a call waits for.
fn present(space: &Space, goal: &Goal) -> Present {
    match goal {
        Goal::Task { id, .. } => Present::Task(space.task.get(id).map(|record| record.status)),
        Goal::Handoff { id, .. } => Present::Handoff(space.handoff.get(id).map(|it| it.status)),
    }
}

/// The task or hand-off as it is now.
fn found(space: &Space, goal: &Goal) -> Result<Reply, Refusal> {
    match goal {
        Goal::Task { id, .. } => match space.task.shown(id, Vec::new()) {
            Some(task) => Ok(Reply::Task(Some(Box::new(task)))),
            None => Err(task::Rejection::NotFound { task: id.clone() }.into()),
        },
        Goal::Handoff { id, .. } => match space.handoff.get(id) {
            Some(handoff) => Ok(Reply::Handoff(Some(Arc::clone(handoff)))),
            None => Err(handoff::Rejection::NotFound { handoff: id.clone() }.into()),
        },
    }
}

fn nothing(goal: &Goal) -> Reply {
    match goal {
        Goal::Task { .. } => Reply::Task(None),
        Goal::Handoff { .. } => Reply::Handoff(None),
    }
}

fn answered(waiter: &Waiter) -> Event {
    let Waiter { wait, goal, .. } = waiter;
    Event::Answered { wait: wait.id, waiter: wait.agent.clone(), goal: goal.clone() }
}

fn gave_up(waiter: &Waiter, left: Left) -> Event {
    let Waiter { wait, goal, .. } = waiter;
    Event::GaveUp { wait: wait.id, waiter: wait.agent.clone(), goal: goal.clone(), left }
}

/// A call whose status is reached is answered, even if it has timed out since.
fn expire(table: &Table, stamp: &Stamp) -> Vec<Event> {
    let answered = table.due().map(answered).take(limits::STATUS_WAITS_ANSWERED_MAX);
    let over = table.overdue(stamp.now).map(|waiter| gave_up(waiter, Left::Timeout));
    answered.chain(over).take(limits::EXPIRIES_PER_BATCH_MAX).collect()
}
