//! Requests to the server: snapshots, details and actions.
//!
//! A watch signals changes; the current state is then requested with ordinary queries, each with a
//! limit.

use baton_client::{Error, Workspace};
use baton_core::agent::{self, Agent, Status as AgentStatus};
use baton_core::handoff::{Handoff, List as HandoffList, Receiver, Status as HandoffStatus};
use baton_core::lock::{self, Lock};
use baton_core::names::short;
use baton_core::spend::{Total, Unit};
use baton_core::task::{List, Status, Task, Verdict};
use baton_core::{Json, Notice, Query, Reply, Token};

use super::model::{
    Action, AgentRow, EventRow, HandoffRow, Input, LockRow, Snapshot, Subject, TaskRow,
};
use crate::output::{Fields, plain};

/// Maximum rows per type and status: more than fit on any screen.
const ROWS_MAX: u64 = 100;
/// The same for agents, which are listed with any status.
const AGENTS_MAX: usize = 200;
/// Events shown in the details of a task.
const PAST_MAX: usize = 12;

/// The current state of the workspace.
pub(super) async fn snapshot(workspace: &Workspace) -> Result<Snapshot, Error> {
    let tasks = workspace.tasks();
    let (agents, locks) = tokio::try_join!(agents(workspace), locks(workspace))?;
    let mut rows = Vec::new();
    // Most important first.
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
    // Claimable tasks come before blocked ones; the sort is stable.
    rows.sort_by_key(is_blocked);
    let counts = tasks.stats(None).await?.tasks;
    let mut handoffs = Vec::new();
    for status in [HandoffStatus::Offered, HandoffStatus::Approved, HandoffStatus::Delivered] {
        let list =
            HandoffList { status: Some(status), limit: Some(ROWS_MAX), ..HandoffList::default() };
        handoffs.extend(workspace.handoffs().list(list).await?.iter().map(handoff_row));
    }
    Ok(Snapshot {
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
        reply => Err(Error::unexpected(&reply)),
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
        reply => Err(Error::unexpected(&reply)),
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
        until_ms: hold.expires_at.0,
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
        // A lease does not expire while it is offered to another agent.
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

/// The fields of an event that have no column, as text.
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
    // Fields for programs are omitted: tokens, waits, durations.
    let is_shown = |name: &str| {
        !matches!(name, "token" | "wait" | "until" | "digest" | "content") && !name.ends_with("_ms")
    };
    let pairs = own.pairs().filter(|(name, _)| is_shown(name));
    let pairs = pairs.map(|(name, value)| format!("{name} {}", value.trim_matches('"')));
    plain(&pairs.collect::<Vec<_>>().join(" · "))
}

/// Whether to show an event: heartbeats and waiting calls would crowd out the others.
pub(super) fn is_notable(notice: &Notice) -> bool {
    let verb = notice.kind().rsplit('.').next().unwrap_or_default();
    !matches!(verb, "seen" | "renewed" | "queued" | "gave_up" | "rejoined" | "delivered")
}

/// Performs an action, and returns its outcome as a message.
pub(super) async fn perform(workspace: &Workspace, action: &Action) -> Input {
    match done(workspace, action).await {
        Ok(message) => Input::Outcome { message, is_bad: false },
        Err(error) => Input::Outcome { message: plain(&error.to_string()), is_bad: true },
    }
}

async fn done(workspace: &Workspace, action: &Action) -> Result<String, Error> {
    let (tasks, why) = (workspace.tasks(), Some("manually, with `baton top`"));
    Ok(match action {
        Action::Retry { task, is_finished: false } => {
            tasks.review(task, Verdict::Retry).await?;
            format!("{} will be retried", short(task))
        }
        Action::Retry { task, is_finished: true } => {
            tasks.retry(task).reason("manually, with `baton top`").await?;
            format!("{} will be retried", short(task))
        }
        Action::CancelTask { task } => {
            tasks.cancel(task, why).await?;
            format!("{} cancelled", short(task))
        }
        Action::CancelHandoff { handoff } => {
            workspace.handoffs().cancel(handoff, why).await?;
            format!("{} withdrawn", short(handoff))
        }
        // Only the holder can use the token.
        Action::ReleaseTask { task, holder, token } => {
            let tasks = workspace.as_agent(holder)?.tasks();
            tasks.release(task, Token(*token), why).await?;
            format!("{} released", short(task))
        }
        Action::ReleaseLock { lock, holder, token } => {
            let locks = workspace.as_agent(holder)?.locks();
            let released = locks.release(lock, Token(*token)).await?;
            match released.hold {
                Some(hold) => format!("lock {lock} released, and acquired by {}", hold.holder),
                None => format!("lock {lock} released"),
            }
        }
    })
}

/// Loads the details of an object.
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
        Err(error) => Input::Outcome { message: plain(&error.to_string()), is_bad: true },
    }
}

type Details = (String, Vec<String>);

/// Name and value in two columns; none if there is no value.
fn field(name: &str, value: Option<impl ToString>) -> Option<String> {
    value.map(|value| format!("{name:<13} {}", value.to_string()))
}

async fn of_task(workspace: &Workspace, id: &str) -> Result<Details, Error> {
    let tasks = workspace.tasks();
    let (task, why) = (tasks.get(id).await?, tasks.why(id).await?);
    let past = tasks.history(id).await?;
    let spent = workspace.spending().of_task(id).await?;
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
            field("attempts", Some(task.attempts)),
            spent_field(&spent),
            field("waits for", listed(&task.waiting_for)),
            field("after", listed(&task.depends_on)),
            field("group", task.group.as_ref()),
            field("requested by", Some(&task.requested_by)),
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
        let text = |name| step.get(name).trim_matches('"');
        let clock = text("time").get(11..19).unwrap_or(text("time"));
        lines.push(format!("{clock} {:<6} {}", text("agent"), text("type")));
    }
    Ok((format!("task {}", short(id)), lines))
}

/// What was spent, with the limits of its budget; none if nothing was spent or limited.
fn spent_field(total: &Total) -> Option<String> {
    let account = &total.account;
    let amounts = Unit::ALL.into_iter().filter_map(|unit| {
        let used = account.spent.in_unit(unit);
        match account.budget.as_ref().and_then(|budget| budget.limit(unit)) {
            Some(limit) => Some(format!("{used} of {limit} {unit}")),
            None => (used > 0).then(|| format!("{used} {unit}")),
        }
    });
    let amounts: Vec<String> = amounts.collect();
    field("spent", (!amounts.is_empty()).then(|| amounts.join(", ")))
}

async fn of_agent(workspace: &Workspace, id: &str) -> Result<Details, Error> {
    let agent = workspace.agents().get(id).await?;
    let spent = workspace.spending().of_agent(id).await?;
    let capabilities = agent.capabilities.iter().cloned().collect::<Vec<_>>().join(" ");
    let lines = [
        field("status", Some(Fields::of(&agent).get("status").trim_matches('"'))),
        field("capabilities", Some(capabilities)),
        field("since", Some(agent.registered_at)),
        field("last seen", Some(agent.last_seen_at)),
        field("ended", agent.ended_at),
        spent_field(&spent),
        field("TTL", Some(format!("{} ms", agent.ttl_ms))),
        field("metadata", agent.metadata.as_ref().map(Json::as_str)),
    ];
    Ok((format!("agent {id}"), lines.into_iter().flatten().collect()))
}

async fn of_handoff(workspace: &Workspace, id: &str) -> Result<Details, Error> {
    let handoff = workspace.handoffs().get(id).await?;
    let mut lines: Vec<String> = [
        field("status", Some(handoff.status.word())),
        field("from", Some(&handoff.from)),
        field("to", Some(receiver(&handoff.to))),
        field("task", handoff.task.as_ref()),
        field("reason", handoff.reason.as_ref()),
        field("done", handoff.work_completed.as_ref().map(Json::as_str)),
        field("remaining", handoff.remaining_work.as_ref().map(Json::as_str)),
        field("deadline", Some(handoff.deadline)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let known = handoff.state.iter();
    lines.extend(known.map(|(name, value)| format!("{name:<13} {}", value.as_str())));
    Ok((format!("hand-off {}", short(id)), lines))
}

async fn of_lock(workspace: &Workspace, name: &str) -> Result<Details, Error> {
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
    lines
        .extend(places.map(|(place, wait)| {
            format!("{:<13} {}", format!("waiter {}", place + 1), wait.agent)
        }));
    Ok((format!("lock {name}"), lines))
}
