//! Requests to the server: snapshots, details and actions.
//!
//! A watch signals changes; the current state is then requested with ordinary queries, each with a
//! limit.

use baton_client::{Error, Workspace};
use baton_core::agent::{self, Agent, Status as AgentStatus};
use baton_core::handoff::{Handoff, List as HandoffList, Receiver, Status as HandoffStatus};
use baton_core::lock::{self, Lock};
use baton_core::names::short;
use baton_core::search::Search;
use baton_core::spend::{Total, Unit};
use baton_core::task::{List, Status, Task, Verdict};
use baton_core::{Json, Notice, Query, Reply};

use super::model::{
    Action, AgentRow, EventRow, FINISHED_MAX, HandoffRow, Input, LockRow, Snapshot, Subject,
    TaskRow,
};
use crate::output::{Fields, plain};

/// Maximum rows per type and status: more than fit on any screen.
const ROWS_MAX: u64 = 100;
/// The same for agents, which are listed with any status.
const AGENTS_MAX: usize = 200;
/// Events shown in the details of a task.
const PAST_MAX: usize = 12;

/// The current state of the workspace. All queries are sent at once: one after the other they take
/// as many round trips, and a slow disk or network would leave the screen behind the events.
/// The first one also has the tasks that were completed before.
pub(super) async fn snapshot(workspace: &Workspace, is_first: bool) -> Result<Snapshot, Error> {
    let finished = if is_first { completed(workspace).await } else { Vec::new() };
    let tasks = |status| tasks(workspace, status);
    let handoffs = |status| handoffs(workspace, status);
    let (agents, locks, tasks, stats, handoffs, revision) = tokio::try_join!(
        agents(workspace),
        locks(workspace),
        // Most important first.
        async {
            tokio::try_join!(
                tasks(Status::WaitingReview),
                tasks(Status::InProgress),
                tasks(Status::HandedOff),
                tasks(Status::Failed),
                tasks(Status::Pending),
            )
        },
        async { workspace.tasks().stats(None).await },
        async {
            tokio::try_join!(
                handoffs(HandoffStatus::Offered),
                handoffs(HandoffStatus::Approved),
                handoffs(HandoffStatus::Delivered),
            )
        },
        workspace.revision(),
    )?;
    let mut rows = [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4].concat();
    // Claimable tasks come before blocked ones; the sort is stable.
    rows.sort_by_key(|row| row.is_blocked);
    Ok(Snapshot {
        workspace: workspace.name().to_string(),
        revision: revision.0,
        agents,
        tasks: rows,
        finished,
        counts: stats.tasks,
        handoffs: [handoffs.0, handoffs.1, handoffs.2].concat(),
        locks,
    })
}

/// The tasks that were completed last, newest first. Without them, the rest is shown nevertheless.
async fn completed(workspace: &Workspace) -> Vec<TaskRow> {
    let query = "kind:task status:completed".to_owned();
    let search = Search { query, limit: Some(FINISHED_MAX as u64), cursor: None };
    let found = workspace.search(search).await.map(|results| results.found).unwrap_or_default();
    let mut rows = Vec::new();
    for id in found.iter().filter_map(|found| found.subject.strip_prefix("tasks/")) {
        if let Ok(task) = workspace.tasks().get(id).await {
            rows.push(task_row(&task));
        }
    }
    rows
}

async fn tasks(workspace: &Workspace, status: Status) -> Result<Vec<TaskRow>, Error> {
    let list = List { status: Some(status), limit: Some(ROWS_MAX), ..List::default() };
    Ok(workspace.tasks().list(list).await?.iter().map(task_row).collect())
}

async fn handoffs(workspace: &Workspace, status: HandoffStatus) -> Result<Vec<HandoffRow>, Error> {
    let list =
        HandoffList { status: Some(status), limit: Some(ROWS_MAX), ..HandoffList::default() };
    Ok(workspace.handoffs().list(list).await?.iter().map(handoff_row).collect())
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
        since_ms: hold.acquired_at.0,
        until_ms: hold.expires_at.0,
        waiters: lock.waiters.iter().map(|wait| wait.agent.to_string()).collect(),
        is_deadlocked,
    })
}

pub(super) fn task_row(task: &Task) -> TaskRow {
    let lease = task.lease.as_ref();
    let progress = task.progress.as_ref();
    // The last report of a task that was completed need not say so.
    let is_done = task.status == Status::Completed;
    let is_waiting = !task.waiting_for.is_empty() || task.not_before.is_some();
    TaskRow {
        id: task.id.to_string(),
        kind: task.task_type.to_string(),
        status: task.status,
        is_blocked: task.status == Status::Pending && is_waiting,
        holder: lease.map(|lease| lease.holder.to_string()),
        since_ms: lease.map(|lease| lease.claimed_at.0),
        // A lease does not expire while it is offered to another agent.
        lease_until_ms: lease
            .filter(|lease| lease.handoff.is_none())
            .map(|lease| lease.expires_at.0),
        fraction: is_done.then_some(1.0).or(progress.map(|progress| progress.fraction)),
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
    shown(&Fields::parse(&String::from_utf8_lossy(&notice.json())).without(&around))
}

/// The fields for people, as text.
fn shown(own: &Fields) -> String {
    // Fields for programs are omitted: tokens, waits, durations.
    let is_shown = |name: &str| {
        !matches!(name, "token" | "wait" | "until" | "digest" | "content") && !name.ends_with("_ms")
    };
    let pairs = own.pairs().filter(|(name, _)| is_shown(name));
    let text = |value: &str| serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    let pairs = pairs.map(|(name, value)| format!("{name} {}", text(value)));
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
        // Only the holder sees the token and can use it.
        Action::ReleaseTask { task, holder, since_ms } => {
            let tasks = workspace.as_agent(holder)?.tasks();
            let lease = tasks.get(task).await?.lease;
            let lease = lease.filter(|lease| lease.claimed_at.0 == *since_ms);
            let Some(lease) = lease else { return Ok(format!("{} has changed", short(task))) };
            tasks.release(task, lease.token, why).await?;
            format!("{} released", short(task))
        }
        Action::ReleaseLock { lock, holder, since_ms } => {
            let locks = workspace.as_agent(holder)?.locks();
            let hold = locks.get(lock).await?.hold;
            let hold = hold.filter(|hold| hold.acquired_at.0 == *since_ms);
            let Some(hold) = hold else { return Ok(format!("lock {lock} has changed")) };
            let released = locks.release(lock, hold.token).await?;
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

/// A value, or a text without quotes.
fn words(value: &Json) -> String {
    value.to::<String>().unwrap_or_else(|_| value.as_str().to_owned())
}

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
            field("definition", task.definition.as_ref().map(words)),
            field("result", task.result.as_ref().map(words)),
            field("error", task.error.as_ref().map(words)),
        ]
        .into_iter()
        .flatten(),
    );
    lines.push(String::new());
    for step in past.iter().take(PAST_MAX) {
        let step = Fields::of(step);
        let text = |name| step.get(name).trim_matches('"');
        let clock = text("time").get(11..19).unwrap_or(text("time"));
        let own = Fields::parse(step.get("fields"));
        lines.push(format!("{clock} {:<6} {}  {}", text("agent"), text("type"), shown(&own)));
    }
    Ok((format!("task {}", short(id)), lines))
}

/// The spending, with the limits of its budget; none if nothing was spent or limited.
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
        field("done", handoff.work_completed.as_ref().map(words)),
        field("remaining", handoff.remaining_work.as_ref().map(words)),
        field("notes", handoff.notes.as_ref().map(words)),
        field("deadline", Some(handoff.deadline)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let known = handoff.state.iter();
    lines.extend(known.map(|(name, value)| format!("{name:<13} {}", words(value))));
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
