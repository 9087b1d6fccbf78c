//! What the server is asked, and what it is told to do.
//!
//! One watch says that something happened; what there is then is asked by the ordinary questions,
//! each with a limit, because a screen has one.

use baton_client::{Error, Workspace};
use baton_core::agent::{self, Agent, Status as AgentStatus};
use baton_core::handoff::{Handoff, List as HandoffList, Receiver, Status as HandoffStatus};
use baton_core::lock::{self, Lock};
use baton_core::task::{List, Status, Task, Verdict};
use baton_core::{Json, Notice, Query, Reply, Token};

use super::model::{
    Action, AgentRow, EventRow, HandoffRow, Input, LockRow, Picture, Subject, TaskRow,
};
use crate::output::{Fields, plain};

/// Rows of each kind and status that are asked for: more than the tallest screen has.
const ROWS_MAX: u64 = 100;
/// The same for agents, who are listed alive or not.
const AGENTS_MAX: usize = 200;
/// Steps of a task's past that are shown with its details.
const PAST_MAX: usize = 12;

/// What there is now.
pub(super) async fn picture(workspace: &Workspace) -> Result<Picture, Error> {
    let tasks = workspace.tasks();
    let (agents, locks) = tokio::try_join!(agents(workspace), locks(workspace))?;
    let mut rows = Vec::new();
    // In the order in which they are worth looking at.
    let statuses = [
        Status::WaitingReview,
        Status::InProgress,
        Status::HandedOff,
        Status::Failed,
        Status::Pending,
    ];
    for status in statuses {
        let list = List { status: Some(status), limit: Some(ROWS_MAX), ..List::default() };
        rows.extend(tasks.list(list).await?.iter().map(task_row));
    }
    let is_blocked = |row: &TaskRow| row.is_blocked;
    // What can be claimed comes before what cannot; the order is kept otherwise.
    rows.sort_by_key(is_blocked);
    let counts = tasks.stats(None).await?.tasks;
    let mut handoffs = Vec::new();
    for status in [HandoffStatus::Offered, HandoffStatus::Approved, HandoffStatus::Delivered] {
        let list =
            HandoffList { status: Some(status), limit: Some(ROWS_MAX), ..HandoffList::default() };
        handoffs.extend(workspace.handoffs().list(list).await?.iter().map(handoff_row));
    }
    Ok(Picture {
        workspace: workspace.name().to_string(),
        revision: workspace.revision().await?.0,
        agents,
        tasks: rows,
        counts,
        handoffs,
        locks,
    })
}

async fn agents(workspace: &Workspace) -> Result<Vec<AgentRow>, Error> {
    let query = agent::Query::List {
        capability: None,
        status: None,
        limit: Some(AGENTS_MAX),
        cursor: None,
    };
    match workspace.ask(Query::from(query)).await?.reply {
        Reply::Agent(agent::Reply::Agents { agents, .. }) => {
            let mut rows: Vec<AgentRow> = agents.iter().map(agent_row).collect();
            rows.sort_by_key(|row| !row.is_alive);
            Ok(rows)
        }
        reply => Err(<Error as baton_handle::Failure>::odd(&reply)),
    }
}

async fn locks(workspace: &Workspace) -> Result<Vec<LockRow>, Error> {
    let query = lock::Query::List { limit: Some(ROWS_MAX), cursor: None };
    match workspace.ask(Query::from(query)).await?.reply {
        Reply::Lock(lock::Reply::Locks { locks, deadlocks, .. }) => {
            let is_stuck =
                |lock: &Lock| deadlocks.iter().flatten().any(|link| link.waits_for == lock.name);
            Ok(locks.iter().filter_map(|lock| lock_row(lock, is_stuck(lock))).collect())
        }
        reply => Err(<Error as baton_handle::Failure>::odd(&reply)),
    }
}

fn agent_row(agent: &Agent) -> AgentRow {
    AgentRow {
        id: agent.id.to_string(),
        role: agent.capabilities.iter().cloned().collect::<Vec<_>>().join(" "),
        is_alive: agent.status == AgentStatus::Active,
        is_lost: agent.status == AgentStatus::Lost,
    }
}

fn lock_row(lock: &Lock, is_deadlocked: bool) -> Option<LockRow> {
    let hold = lock.hold.as_ref()?;
    Some(LockRow {
        name: lock.name.to_string(),
        holder: hold.holder.to_string(),
        token: hold.token.0,
        waiters: lock.waiters.iter().map(|wait| wait.agent.to_string()).collect(),
        is_deadlocked,
    })
}

fn task_row(task: &Task) -> TaskRow {
    let lease = task.lease.as_ref();
    let progress = task.progress.as_ref();
    let is_waiting = !task.waiting_for.is_empty() || task.not_before.is_some();
    TaskRow {
        id: task.id.to_string(),
        kind: task.task_type.to_string(),
        status: task.status,
        is_blocked: task.status == Status::Pending && is_waiting,
        holder: lease.map(|lease| lease.holder.to_string()),
        token: lease.map(|lease| lease.token.0),
        // While it is offered to another it does not end.
        lease_until_ms: lease
            .filter(|lease| lease.handoff.is_none())
            .map(|lease| lease.expires_at.0),
        fraction: progress.map(|progress| progress.fraction),
        note: progress.and_then(|progress| progress.note.as_deref()).map(plain).unwrap_or_default(),
        tries: task.attempts,
    }
}

fn receiver(to: &Receiver) -> String {
    match to {
        Receiver::Agent(agent) => agent.to_string(),
        Receiver::Capability(name) => format!("any {}", plain(name)),
    }
}

fn handoff_row(handoff: &Handoff) -> HandoffRow {
    HandoffRow {
        id: handoff.id.to_string(),
        from: handoff.from.to_string(),
        to: receiver(&handoff.to),
        task: handoff.task.as_ref().map_or_else(String::new, ToString::to_string),
        status: handoff.status.word().to_owned(),
    }
}

/// An event as a row.
pub(super) fn event_row(notice: &Notice) -> EventRow {
    EventRow {
        revision: notice.revision().0,
        time: notice.time().to_string(),
        agent: notice.agent().to_string(),
        kind: plain(notice.kind()),
        subject: plain(notice.subject()),
        fields: fields(notice),
    }
}

/// What an event says that is not said beside it, as people read it.
fn fields(notice: &Notice) -> String {
    let around = [
        "revision",
        "index",
        "time",
        "agent",
        "type",
        "subject",
        "namespace",
        "key",
        "name",
        "task",
        "handoff",
        "checkpoint",
        "message",
        "topic",
        "version",
        "checksum",
        "recipe",
    ];
    let own = Fields::parse(&String::from_utf8_lossy(&notice.json())).without(&around);
    // What only programs need: tokens, calls, lengths of time.
    let is_told = |name: &str| {
        !matches!(name, "token" | "wait" | "until" | "digest" | "content") && !name.ends_with("_ms")
    };
    let pairs = own.pairs().filter(|(name, _)| is_told(name));
    let pairs = pairs.map(|(name, value)| format!("{name} {}", value.trim_matches('"')));
    plain(&pairs.collect::<Vec<_>>().join(" · "))
}

/// Whether an event is worth a line: signs of life and calls that wait would hide all others.
pub(super) fn is_told(notice: &Notice) -> bool {
    let verb = notice.kind().rsplit('.').next().unwrap_or_default();
    !matches!(verb, "seen" | "renewed" | "queued" | "gave_up" | "rejoined" | "delivered")
}

/// Does it; what came of it, in words.
pub(super) async fn carry_out(workspace: &Workspace, action: &Action) -> Input {
    match done(workspace, action).await {
        Ok(words) => Input::Told { words, is_bad: false },
        Err(error) => Input::Told { words: plain(&error.to_string()), is_bad: true },
    }
}

async fn done(workspace: &Workspace, action: &Action) -> Result<String, Error> {
    let (tasks, why) = (workspace.tasks(), Some("by hand, in `baton top`"));
    Ok(match action {
        Action::Retry { task, is_finished: false } => {
            tasks.review(task, Verdict::Retry).await?;
            format!("{task} is tried again")
        }
        Action::Retry { task, is_finished: true } => {
            let again = again(workspace, &tasks.get(task).await?).await?;
            format!("{task} is wanted again, as {}", again.id)
        }
        Action::CancelTask { task } => {
            tasks.cancel(task, why).await?;
            format!("{task} is cancelled")
        }
        Action::CancelHandoff { handoff } => {
            workspace.handoffs().cancel(handoff, why).await?;
            format!("{handoff} is withdrawn")
        }
        Action::ReleaseTask { task, token } => {
            tasks.release(task, Token(*token), why).await?;
            format!("{task} is free again")
        }
        Action::ReleaseLock { lock, token } => {
            workspace.locks().release(lock, Token(*token)).await?;
            format!("the lock {lock} is free again")
        }
    })
}

/// What has failed for good stays as it is; the same is wanted once more.
async fn again(workspace: &Workspace, task: &Task) -> Result<Task, Error> {
    let mut creating = workspace.tasks().create(task.task_type.as_str()).priority(task.priority);
    creating = creating.max_retries(task.max_retries).backoff(task.backoff);
    if let Some(text) = &task.description {
        creating = creating.description(text);
    }
    if let Some(definition) = &task.definition {
        creating = creating.definition(definition);
    }
    if let Some(group) = &task.group {
        creating = creating.group(group.as_str());
    }
    for capability in &task.capabilities {
        creating = creating.capability(capability);
    }
    creating.await
}

/// Looks at something more closely.
pub(super) async fn details(workspace: &Workspace, subject: &Subject) -> Input {
    let found = match subject {
        Subject::Task(task) => of_task(workspace, task).await,
        Subject::Agent(agent) => of_agent(workspace, agent).await,
        Subject::Handoff(handoff) => of_handoff(workspace, handoff).await,
        Subject::Lock(lock) => of_lock(workspace, lock).await,
    };
    match found {
        Ok((title, lines)) => {
            let lines = lines.iter().map(|line| plain(line)).collect();
            Input::Details { title, lines }
        }
        Err(error) => Input::Told { words: plain(&error.to_string()), is_bad: true },
    }
}

type Told = (String, Vec<String>);

/// Name and value, in two columns; nothing for what is not there.
fn field(name: &str, value: Option<impl ToString>) -> Option<String> {
    value.map(|value| format!("{name:<13} {}", value.to_string()))
}

async fn of_task(workspace: &Workspace, id: &str) -> Result<Told, Error> {
    let tasks = workspace.tasks();
    let (task, why) = (tasks.get(id).await?, tasks.why(id).await?);
    let past = tasks.history(id).await?;
    let listed = |ids: &[baton_core::TaskId]| {
        let ids: Vec<&str> = ids.iter().map(baton_core::TaskId::as_str).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    };
    let lease = task.lease.as_ref();
    let mut lines = vec![why.sentence, String::new()];
    lines.extend(
        [
            field("description", task.description.as_ref()),
            field("type", Some(&task.task_type)),
            field("status", Some(task.status.phrase())),
            field("holder", lease.map(|lease| &lease.holder)),
            field("lease until", lease.map(|lease| lease.expires_at)),
            field("tries", Some(task.attempts)),
            field("waits for", listed(&task.waiting_for)),
            field("after", listed(&task.depends_on)),
            field("group", task.group.as_ref()),
            field("wanted by", Some(&task.requested_by)),
            field("definition", task.definition.as_ref().map(Json::as_str)),
            field("result", task.result.as_ref().map(Json::as_str)),
            field("error", task.error.as_ref().map(Json::as_str)),
        ]
        .into_iter()
        .flatten(),
    );
    lines.push(String::new());
    for step in past.iter().take(PAST_MAX) {
        let step = Fields::of(step);
        let time = step.get("time");
        let clock = time.get(11..19).unwrap_or(time);
        lines.push(format!("{clock} {:<6} {}", step.get("agent"), step.get("type")));
    }
    Ok((format!("task {id}"), lines))
}

async fn of_agent(workspace: &Workspace, id: &str) -> Result<Told, Error> {
    let agent = workspace.agents().get(id).await?;
    let capabilities = agent.capabilities.iter().cloned().collect::<Vec<_>>().join(" ");
    let lines = [
        field("status", Some(Fields::of(&agent).get("status"))),
        field("can", Some(capabilities)),
        field("since", Some(agent.registered_at)),
        field("last seen", Some(agent.last_seen_at)),
        field("ended", agent.ended_at),
        field("patience", Some(format!("{} ms", agent.ttl_ms))),
        field("more", agent.metadata.as_ref().map(Json::as_str)),
    ];
    Ok((format!("agent {id}"), lines.into_iter().flatten().collect()))
}

async fn of_handoff(workspace: &Workspace, id: &str) -> Result<Told, Error> {
    let handoff = workspace.handoffs().get(id).await?;
    let mut lines: Vec<String> = [
        field("status", Some(handoff.status.word())),
        field("from", Some(&handoff.from)),
        field("to", Some(receiver(&handoff.to))),
        field("task", handoff.task.as_ref()),
        field("reason", handoff.reason.as_ref()),
        field("done", handoff.work_completed.as_ref().map(Json::as_str)),
        field("left to do", handoff.remaining_work.as_ref().map(Json::as_str)),
        field("deadline", Some(handoff.deadline)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let known = handoff.state.iter();
    lines.extend(known.map(|(name, value)| format!("{name:<13} {}", value.as_str())));
    Ok((format!("hand-off {id}"), lines))
}

async fn of_lock(workspace: &Workspace, name: &str) -> Result<Told, Error> {
    let lock = workspace.locks().get(name).await?;
    let hold = lock.hold.as_ref();
    let mut lines: Vec<String> = [
        field("holder", hold.map(|hold| &hold.holder)),
        field("since", hold.map(|hold| hold.acquired_at)),
        field("until", hold.map(|hold| hold.expires_at)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let places = lock.waiters.iter().enumerate();
    lines.extend(
        places.map(|(place, wait)| {
            format!("{:<13} {}", format!("waits, {}.", place + 1), wait.agent)
        }),
    );
    Ok((format!("lock {name}"), lines))
}
