//! The rules of joins, one function per command.

use std::collections::BTreeSet;

use super::refusals::Rejection;
use super::table::{Table, Waiter};
use super::vocabulary::{Command, Create, Event, Join, Need, Query, Reply, Signal, Status};
use crate::join::{Outcome, Record};
use crate::limits;
use crate::names::{AgentId, GroupName, JoinId, TaskId};
use crate::numbers::WaitId;
use crate::primitive::{self, Rules};
use crate::refusal::{TooMany, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TasksView};
use crate::task;
use crate::waiting::wait::Left;

/// The table of tasks, as far as joins read it.
pub trait View {
    /// The status of a task; none if it is unknown.
    fn status(&self, task: &TaskId) -> Option<task::Status>;
    /// How a task ended; none if it is unknown or has not finished.
    fn outcome(&self, task: &TaskId) -> Option<Outcome>;
    /// The known tasks of a group, in order of creation; at most one more than a join may have.
    fn group(&self, group: &GroupName) -> Vec<TaskId>;
}

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The join, as it is after the events, in this kind of reply.
fn join(id: JoinId, reply: impl FnOnce(Box<Join>) -> Reply + 'static) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let record = space.join.get(&id).expect("only known joins are answered with");
        reply(shown(record, &TasksView(&space.task)))
    })
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.join, &TasksView(&space.task), command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.join;
        let most = limits::EXPIRIES_PER_BATCH_MAX;
        let (mut events, mut over) = (Vec::new(), BTreeSet::new());
        // Outcomes take precedence over deadlines.
        for join in table.ripe().chain(table.overdue(stamp.now)) {
            let Some(record) = table.get(join).filter(|_| events.len() < most) else { break };
            if over.insert(join) {
                let verdict = record.verdict().unwrap_or((Status::Expired, None));
                events.extend(settled(table, join, verdict));
            }
        }
        // A call that is answered because its join settled must not time out as well.
        let waits = table.overdue_waits(stamp.now).filter(|waiter| !over.contains(&waiter.name));
        let room = most.saturating_sub(events.len());
        events.extend(waits.take(room).map(|waiter| gave_up(waiter, Left::Timeout)));
        events
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let waiter = space.join.waiter(wait);
        waiter.map(|waiter| gave_up(waiter, Left::Gone)).into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let waits = space.join.waits_of(agent);
        waits.map(|waiter| gave_up(waiter, Left::SessionEnded)).collect()
    }

    fn handle(space: &Space, signal: Signal, _stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Settle = signal;
        Ok(settle(&space.join))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.join, &TasksView(&space.task), query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.join, &TasksView(&space.task), event)
    }
}

/// Decides a command against the current table.
fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Create(command) => create(table, view, command, stamp),
        Command::Wait { join, wait_ms } => wait(table, join, wait_ms, stamp),
    }
}

fn create(
    table: &Table,
    view: &impl View,
    command: Create,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Create { id, group, tasks, need, deadline_ms } = command;
    if let Some(join) = id.as_ref().filter(|join| table.get(join).is_some()) {
        return Err(Rejection::Exists { join: join.clone() });
    }
    let (members, most) = match (&group, tasks) {
        (Some(group), None) => {
            let members = view.group(group);
            check_length(members.len(), "the group has")?;
            (members, limits::JOIN_MEMBERS_MAX)
        }
        (None, Some(tasks)) => {
            check_tasks(view, &tasks)?;
            let most = tasks.len();
            (tasks, most)
        }
        (Some(_), Some(_)) => return bad("it names both a group and tasks"),
        (None, None) => return bad("it names neither a group nor tasks"),
    };
    let need = need.unwrap_or_default();
    if let Need::Number(number) = need {
        within("need", Some(number), number, (1, most as u64))?;
    }
    let deadline_ms = deadline_ms
        .map(|given| within("deadline_ms", Some(given), given, (1, limits::TTL_MS_MAX)))
        .transpose()?;
    check_counts(table, group.as_ref(), &members)?;
    let id = id.unwrap_or_else(|| table.fresh_id(stamp.revision));
    let deadline = deadline_ms.map(|deadline_ms| stamp.now.after(deadline_ms));
    // The members of a group are found through the tasks.
    let tasks = if group.is_some() { Vec::new() } else { members };
    let event = Event::Created { join: id.clone(), need, group, tasks, deadline };
    Ok(Decided::new(vec![event], join(id, Reply::Join)))
}

fn bad<T>(reason: &str) -> Result<T, Rejection> {
    Err(Rejection::BadMembers { reason: reason.to_owned() })
}

fn check_length(count: usize, who: &str) -> Result<(), Rejection> {
    let max = limits::JOIN_MEMBERS_MAX;
    if count > max { bad(&format!("{who} more than {max} tasks")) } else { Ok(()) }
}

fn check_tasks(view: &impl View, tasks: &[TaskId]) -> Result<(), Rejection> {
    check_length(tasks.len(), "it names")?;
    if tasks.is_empty() {
        return bad("it names no task");
    }
    let mut named = BTreeSet::new();
    if let Some(twice) = tasks.iter().find(|task| !named.insert(*task)) {
        return bad(&format!("it names `{twice}` twice"));
    }
    match tasks.iter().find(|task| view.status(task).is_none()) {
        Some(task) => Err(Rejection::UnknownTask { task: task.clone() }),
        None => Ok(()),
    }
}

/// Whether another join over these tasks is allowed.
fn check_counts(
    table: &Table,
    group: Option<&GroupName>,
    members: &[TaskId],
) -> Result<(), Rejection> {
    let of_group = group.map_or(0, |group| table.of_group(group).count());
    let of_task = members.iter().map(|task| table.of_task(task).count()).max().unwrap_or_default();
    // A group can grow to the maximum size without another check.
    let fresh = if group.is_some() { limits::JOIN_MEMBERS_MAX } else { members.len() };
    let counts = [
        ("joins that wait", table.waiting(), limits::JOINS_MAX),
        ("joins of this group", of_group, limits::JOINS_PER_TASK_MAX),
        ("joins of one of these tasks", of_task, limits::JOINS_PER_TASK_MAX),
    ];
    has_room(counts)?;
    if table.members() + fresh > limits::JOINED_TASKS_MAX {
        let max = limits::JOINED_TASKS_MAX;
        return Err(TooMany { what: "tasks in joins that wait", max }.into());
    }
    Ok(())
}

fn wait(
    table: &Table,
    join: JoinId,
    wait_ms: Option<u64>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let Some(record) = table.get(&join) else {
        return Err(Rejection::NotFound { join });
    };
    if record.settled_at.is_some() {
        let settled = |join| Reply::Settled(Some(join));
        return Ok(Decided::new(Vec::new(), self::join(join, settled)));
    }
    if wait_ms == 0 {
        return Ok(Decided::reply(Vec::new(), Reply::Settled(None)));
    }
    let waiter = stamp.agent.clone();
    let counts = [
        ("calls that wait for this join", table.line(&join).count(), limits::JOIN_WAITS_MAX),
        ("calls of this agent that wait", table.waits_of(&waiter).count(), limits::JOIN_WAITS_MAX),
        ("calls that wait for a join", table.waits().len(), limits::WAITS_MAX),
    ];
    has_room(counts)?;
    let until = stamp.now.after(wait_ms);
    let event = Event::Queued { join, waiter, wait: stamp.wait(), until };
    Ok(Decided::waits(event))
}

fn settle(table: &Table) -> Vec<Event> {
    let ripe = table.ripe().take(limits::JOINS_SETTLED_AT_ONCE_MAX);
    let verdicts = ripe.filter_map(|join| Some((join, table.get(join)?.verdict()?)));
    verdicts.flat_map(|(join, verdict)| settled(table, join, verdict)).collect()
}

/// The events that settle a join and answer the waiting calls.
fn settled(table: &Table, join: &JoinId, (status, reason): (Status, Option<String>)) -> Vec<Event> {
    let settled = Event::Settled { join: join.clone(), status, reason };
    let answered = table.line(join).map(|waiter| Event::Answered {
        join: join.clone(),
        waiter: waiter.wait.agent.clone(),
        wait: waiter.wait.id,
    });
    [settled].into_iter().chain(answered).collect()
}

fn gave_up(waiter: &Waiter, left: Left) -> Event {
    let wait = &waiter.wait;
    Event::GaveUp { join: waiter.name.clone(), waiter: wait.agent.clone(), wait: wait.id, left }
}

/// A join as callers see it.
fn shown(record: &Record, view: &impl View) -> Box<Join> {
    Box::new(record.shown(|task| view.status(task)))
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, view: &impl View, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Answered { join, .. } => {
            Ok(Reply::Settled(table.get(join).map(|record| shown(record, view))))
        }
        Event::GaveUp { join, waiter, left: Left::SessionEnded, .. } => {
            Err(Rejection::SessionEnded { join: join.clone(), agent: waiter.clone() })
        }
        Event::GaveUp { .. }
        | Event::Created { .. }
        | Event::Settled { .. }
        | Event::Queued { .. } => Ok(Reply::Settled(None)),
    }
}

/// Answers a query.
pub fn query(table: &Table, view: &impl View, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { join } => match table.get(join) {
            Some(record) => Ok(Reply::Join(shown(record, view))),
            None => Err(Rejection::NotFound { join: join.clone() }),
        },
    }
}
