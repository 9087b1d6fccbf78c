//! The rules of tasks, one function per command.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::endings::ending;
use super::table::{Due, Table};
use super::{
    Cause, Command, Event, Fail, Heartbeat, Lease, Outcome, Query, Rejection, Release, Reply,
    Report, Signal, Status, Task, Update, Warning, retry,
};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName, TaskId};
use crate::numbers::{Token, WaitId};
use crate::primitive::{self, Rules};
use crate::quoted::quoted;
use crate::refusal::{bad, json_fits, text_fits};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TablesView};
use crate::spending::UsedUp;
use crate::task::{
    Record, Waiting, checks, claiming, completion, creation, explanation, lists, outcome,
    reassignment, subtree,
};
use crate::waiting::lease_time::is_worth_renewing;
use crate::waiting::wait::Left;

/// The other tables, as far as tasks read them.
pub trait View {
    /// The capabilities of an agent with a session.
    fn capabilities_of(&self, agent: &AgentId) -> Option<&BTreeSet<String>>;
    /// Whether an agent with a session has all of these capabilities.
    fn has_capable(&self, capabilities: &BTreeSet<String>) -> bool;
    /// Agents without a session that have all of these capabilities.
    fn were_capable(&self, capabilities: &BTreeSet<String>) -> Vec<AgentId>;
    /// The pipeline and stage that a task belongs to.
    fn stage_of(&self, task: &Record) -> Option<(PipelineName, StageName)>;
    /// Whether the budget of any task is used up.
    fn has_used_up_tasks(&self) -> bool;
    /// How the budget of a task itself is used up, if it is.
    fn used_up_task(&self, task: &TaskId) -> Option<UsedUp>;
    /// How the budget of an agent or of the workspace is used up, if it is.
    fn used_up_agent(&self, agent: &AgentId) -> Option<UsedUp>;
}

/// The outcome of a command.
pub(crate) type Decided = primitive::Decided<Event>;

/// A task, as it is after the events, with warnings.
pub(super) fn task(id: TaskId, warnings: Vec<Warning>) -> ReplyPlan {
    ReplyPlan::after(move |space| Reply::Task(shown(&space.task, &id, warnings)))
}

/// A task that is known.
pub(super) fn shown(table: &Table, task: &TaskId, warnings: Vec<Warning>) -> Box<Task> {
    Box::new(table.shown(task, warnings).expect("only known tasks are answered with"))
}

pub(super) fn decided(task: TaskId, events: Vec<Event>) -> Decided {
    Decided::new(events, self::task(task, Vec::new()))
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
        Ok(happening.take(decide(&space.task, &TablesView::of(space), command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.task;
        let waits = table.overdue_claims(stamp.now).map(|waiting| left(waiting, Left::Timeout));
        let mut bytes = 0;
        let fitting = table.due(stamp.now).take_while(|(record, due)| {
            let fits = bytes < limits::READY_BYTES_MAX;
            bytes += if *due == Due::Ready { record.bytes() } else { 0 };
            fits
        });
        let tasks = fitting.map(|(record, due)| {
            let task = record.id.clone();
            match due {
                Due::LeaseOver => lost(record, Cause::LeaseExpired, "lease_expired"),
                Due::Doomed(root, status) => never(&task, &root, status),
                Due::Ready => Event::Ready { task },
                Due::Returns => reassignment::give_back(record, stamp.now),
                Due::Deadline => {
                    let error = Json::of(&json!({ "reason": "deadline" })).expect("a name is JSON");
                    let (cause, outcome) = (Cause::Deadline, Outcome::Failed);
                    Event::Failed { task, error, cause, outcome }
                }
            }
        });
        let events = waits.chain(tasks).take(limits::EXPIRIES_PER_BATCH_MAX).collect();
        subtree::with_released(table, events, stamp)
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let waiting = space.task.claims().get(wait);
        waiting.map(|waiting| left(waiting, Left::Gone)).into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, stamp: &Stamp) -> Vec<Event> {
        let table = &space.task;
        let held = table.held_by(agent).map(|record| {
            // An offered task is not lost with its giver: the hand-off continues without it.
            match record.lease.as_ref().and_then(|lease| lease.handoff.clone()) {
                Some(handoff) => Event::Abandoned { task: record.id.clone(), handoff },
                None => lost(record, Cause::AgentGone, "agent_gone"),
            }
        });
        let mut events = subtree::with_released(table, held.collect(), stamp);
        let waits = table.claims().of_agent(agent);
        events.extend(waits.map(|waiting| left(waiting, Left::SessionEnded)));
        events
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let table = &space.task;
        Ok(match signal {
            Signal::Assign { task } => {
                claiming::assign(table, &TablesView::of(space), &task, stamp)
            }
            Signal::CancelAll { tasks, reason } => cancel_all(table, &tasks, &reason),
            Signal::Pass(reassignment) => reassignment::pass(table, reassignment, stamp),
        })
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        self::query(&space.task, &TablesView::of(space), query)
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.task, event)
    }
}

/// Decides a command against the current table.
pub(crate) fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Create(command) => creation::create(table, view, *command, stamp),
        Command::Claim(command) => claiming::claim(table, view, command, stamp),
        Command::Heartbeat(command) => heartbeat(table, command, stamp),
        Command::Progress(command) => progress(table, command),
        Command::Update(command) => update(table, command),
        Command::Release(command) => release(table, command),
        Command::Complete(command) => completion::complete(table, view, *command, stamp),
        Command::Fail(command) => fail(table, command, stamp),
        Command::Cancel { task, reason } => cancel(table, task, reason.as_ref()),
        Command::Review(command) => completion::review(table, view, command, stamp),
        Command::Retry(command) => retry::retry(table, view, command, stamp),
    }
}

pub(super) fn known<'a>(table: &'a Table, task: &TaskId) -> Result<&'a Record, Rejection> {
    table.get(task).ok_or_else(|| Rejection::NotFound { task: task.clone() })
}

/// The task, if the caller may act on it.
pub(super) fn held<'a>(
    table: &'a Table,
    task: &TaskId,
    given: Token,
) -> Result<&'a Record, Rejection> {
    let record = known(table, task)?;
    let (lease, status) = (record.lease.as_deref(), record.status);
    if lease.is_some_and(|lease| lease.permits(given)) {
        return Ok(record);
    }
    #[cfg(feature = "planted")]
    if crate::planted::is("task.any_token_will_do") && lease.is_some() {
        return Ok(record);
    }
    let task = task.clone();
    match status {
        // The last holder has finished it already, perhaps with an earlier try of the same request.
        Status::Completed | Status::Failed if record.last_token == given => {
            Err(Rejection::Finished { task, status })
        }
        Status::Pending
        | Status::InProgress
        | Status::HandedOff
        | Status::WaitingReview
        | Status::Completed
        | Status::Failed
        | Status::Cancelled => {
            let lease = lease.map(Lease::without_token);
            Err(Rejection::StaleToken { task, given, status, lease })
        }
    }
}

fn heartbeat(table: &Table, command: Heartbeat, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Heartbeat { task, token, lease_ms } = command;
    let record = held(table, &task, token)?;
    let lease = record.lease.as_deref().expect("the holder of its token holds it");
    let lease_ms = claiming::within_lease(lease_ms.or(Some(lease.lease_ms)))?;
    let events = if is_worth_renewing(stamp.now, lease.expires_at, lease.lease_ms, lease_ms) {
        vec![Event::Renewed { task: task.clone(), lease_ms }]
    } else {
        Vec::new()
    };
    Ok(decided(task, events))
}

fn progress(table: &Table, command: Report) -> Result<Decided, Rejection> {
    let Report { task, token, fraction, note } = command;
    held(table, &task, token)?;
    checks::check_fraction("fraction", fraction)?;
    text_fits("note", note.as_ref(), limits::NOTE_BYTES_MAX)?;
    Ok(decided(task.clone(), vec![Event::Progressed { task, fraction, note }]))
}

fn update(table: &Table, command: Update) -> Result<Decided, Rejection> {
    let Update { task, token, fields } = command;
    let record = held(table, &task, token)?;
    let Value::Object(fields) = fields.to_value() else {
        return Err(bad("fields", "it must be an object").into());
    };
    let shown = table.shown(&task, Vec::new()).expect("it is known");
    let (mut description, mut definition, mut metadata) = (None, None, None);
    let (mut result, mut priority) = (None, None);
    for (name, value) in &fields {
        match name.as_str() {
            "description" => match value.as_str() {
                Some(text) => description = Some(text.to_owned()),
                None => return Err(bad("description", "it must be a text").into()),
            },
            "definition" => {
                definition = Some(checks::merged("definition", record.definition.as_ref(), value)?);
            }
            "metadata" => {
                metadata = Some(checks::merged("metadata", shown.metadata.as_ref(), value)?);
            }
            "result" => result = Some(checks::merged("result", shown.result.as_ref(), value)?),
            "priority" => match value.as_i64() {
                Some(number) => priority = Some(checks::check_priority(number)?),
                None => return Err(bad("priority", "it must be an integer").into()),
            },
            other => {
                let shown = quoted(other, 40);
                let reason = format!("`{shown}` is not a field that a worker can change");
                return Err(bad("fields", reason).into());
            }
        }
    }
    text_fits("description", description.as_ref(), limits::DESCRIPTION_BYTES_MAX)?;
    json_fits("definition", definition.as_ref(), limits::VALUE_BYTES_MAX)?;
    checks::check_metadata(metadata.as_ref())?;
    json_fits("result", result.as_ref(), limits::VALUE_BYTES_MAX)?;
    if fields.is_empty() {
        return Ok(decided(task, Vec::new()));
    }
    let updated =
        Event::Updated { task: task.clone(), description, definition, metadata, result, priority };
    Ok(decided(task, vec![updated]))
}

fn release(table: &Table, command: Release) -> Result<Decided, Rejection> {
    let Release { task, token, reason } = command;
    held(table, &task, token)?;
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    Ok(decided(task.clone(), vec![Event::Released { task, reason }]))
}

/// The tasks that become ready when a task is completed, as many as fit into one commit. The others
/// follow in later commits.
pub(super) fn freed<'a>(table: &'a Table, task: &'a TaskId, stamp: &Stamp) -> Vec<&'a Record> {
    let dependents = table.links().dependents(task).filter_map(|task| table.get(task));
    let is_free = |record: &&Record| {
        !record.status.is_finished()
            && record.not_before().is_none_or(|moment| moment <= stamp.now)
            && table.waiting_for(record).all(|open| open == task)
    };
    #[cfg(feature = "planted")]
    let is_free =
        |record: &&Record| is_free(record) || crate::planted::is("task.one_dependency_suffices");
    let mut bytes = 0;
    let fits = |record: &&Record| {
        bytes += record.bytes();
        bytes < limits::READY_BYTES_MAX
    };
    let free = dependents.filter(is_free).take_while(fits);
    free.take(limits::EXPIRIES_PER_BATCH_MAX).collect()
}

fn fail(table: &Table, command: Fail, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Fail { task, token, error, retryable } = command;
    let record = held(table, &task, token)?;
    json_fits("error", Some(&error), limits::ERROR_BYTES_MAX)?;
    let outcome = outcome(record, retryable.unwrap_or(true), Some(stamp.now));
    let after = match &outcome {
        Outcome::Failed => doomed(table, [(task.clone(), Status::Failed)].into()),
        Outcome::Retry { not_before: None } | Outcome::Reassigned { .. } => {
            vec![Event::Ready { task: task.clone() }]
        }
        Outcome::Retry { not_before: Some(_) } | Outcome::Review => Vec::new(),
    };
    let failed = Event::Failed { task: task.clone(), error, cause: Cause::Reported, outcome };
    Ok(decided(task, [vec![failed], after].concat()))
}

/// Cancels the tasks that can never run because these have ended: their dependents, and the
/// subtasks and dependents of those, as many as fit into one commit. The others follow in later
/// commits.
pub(super) fn doomed(table: &Table, mut roots: VecDeque<(TaskId, Status)>) -> Vec<Event> {
    let mut seen: BTreeSet<TaskId> = roots.iter().map(|(task, _)| task.clone()).collect();
    let mut events = Vec::new();
    while let Some((root, status)) = roots.pop_front() {
        let parts = table.links().children(&root).filter(|_| status == Status::Cancelled);
        for task in table.links().dependents(&root).chain(parts) {
            let is_open = table.get(task).is_some_and(|record| !record.status.is_finished());
            let has_room = events.len() < limits::EXPIRIES_PER_BATCH_MAX;
            if has_room && is_open && seen.insert(task.clone()) {
                events.push(never(task, &root, status));
                roots.push_back((task.clone(), Status::Cancelled));
            }
        }
    }
    events
}

fn never(task: &TaskId, root: &TaskId, status: Status) -> Event {
    let reason = Some(format!("task `{root}`, which it needs, {}", status.clause()));
    Event::Cancelled { task: task.clone(), reason, because: Some(root.clone()) }
}

fn cancel(table: &Table, task: TaskId, reason: Option<&String>) -> Result<Decided, Rejection> {
    let status = known(table, &task)?.status;
    if status.is_finished() {
        return Err(Rejection::Finished { task, status });
    }
    text_fits("reason", reason, limits::NOTE_BYTES_MAX)?;
    let mut subtree = VecDeque::from([(task.clone(), Status::Cancelled)]);
    let mut events = vec![by_hand(&task, reason)];
    let mut open = vec![task.clone()];
    while let Some(parent) = open.pop() {
        for child in table.links().children(&parent) {
            if table.get(child).is_some_and(|record| !record.status.is_finished()) {
                subtree.push_back((child.clone(), Status::Cancelled));
                events.push(by_hand(child, reason));
            }
            open.push(child.clone());
        }
        if events.len() > limits::TASK_SUBTREE_MAX {
            return Err(Rejection::SubtreeTooLarge { task, max: limits::TASK_SUBTREE_MAX });
        }
    }
    events.extend(doomed(table, subtree));
    Ok(decided(task, events))
}

fn by_hand(task: &TaskId, reason: Option<&String>) -> Event {
    Event::Cancelled { task: task.clone(), reason: reason.cloned(), because: None }
}

/// Cancels the unfinished ones of these tasks. Their subtasks follow in later commits.
fn cancel_all(table: &Table, tasks: &[TaskId], reason: &str) -> Vec<Event> {
    let is_open = |task: &&TaskId| table.get(task).is_some_and(|it| !it.status.is_finished());
    let reason = reason.to_owned();
    tasks.iter().filter(is_open).map(|task| by_hand(task, Some(&reason))).collect()
}

fn left(waiting: &Waiting, left: Left) -> Event {
    Event::GaveUp { wait: waiting.wait.id, claimant: waiting.wait.agent.clone(), left }
}

/// The failure of an abandoned attempt. It counts as a failure, because a task that kills its
/// workers must not be retried forever.
fn lost(record: &Record, cause: Cause, reason: &str) -> Event {
    let lease = record.lease.as_deref().expect("only what is held is lost");
    let error = json!({ "reason": reason, "holder": lease.holder, "token": lease.token });
    let error = Json::of(&error).expect("two names and a number are JSON");
    Event::Failed { task: record.id.clone(), error, cause, outcome: outcome(record, true, None) }
}

/// Answers a query about the present; none if it is about the past.
pub fn query(table: &Table, view: &impl View, query: &Query) -> Option<Result<Reply, Rejection>> {
    Some(match query {
        Query::Get { task } => match table.shown(task, Vec::new()) {
            Some(task) => Ok(Reply::Task(Box::new(task))),
            None => Err(Rejection::NotFound { task: task.clone() }),
        },
        Query::List(query) => lists::list(table, query),
        Query::Stats { task_type } => {
            Ok(Reply::Stats(Box::new(table.statistics(task_type.as_ref()))))
        }
        Query::Why { task } => known(table, task)
            .map(|record| Reply::Why(Box::new(explanation::why(table, view, record)))),
        Query::History { .. } => return None,
    })
}
