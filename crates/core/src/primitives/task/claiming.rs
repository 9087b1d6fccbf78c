//! The rules of `task.claim`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::decide::{known, shown};
use crate::limits;
use crate::names::{AgentId, TaskId, TaskType};
use crate::refusal::{has_room, within};
use crate::space::ReplyPlan;
use crate::space::stamp::Stamp;
use crate::task::{
    Claim, Decided, Event, Lease, Record, Rejection, Reply, Table, View, budgets, checks,
    explanation,
};

pub(super) fn claim(
    table: &Table,
    view: &impl View,
    command: Claim,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Claim { types, capabilities, task, lease_ms, wait_ms, limit } = command;
    let lease_ms = within_lease(lease_ms)?;
    let limit = within("limit", limit, 1, (1, limits::CLAIMED_MAX as u64))?;
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    checks::check_types(types.as_ref())?;
    let agent = &stamp.agent;
    let capabilities = able(view, agent, capabilities)?;
    budgets::may_start(view, agent)?;
    let busy = table.leases().count(agent) + table.claims().of_agent(agent).count();
    has_room([("tasks that the agent holds or waits for", busy, limits::LEASES_PER_AGENT_MAX)])?;
    let found: Vec<&Record> = match &task {
        Some(task) => {
            let found = claimable(table, agent, task, types.as_ref(), &capabilities, wait_ms > 0)?;
            match found.and_then(|record| budgets::held_back(table, view, &record.id)) {
                Some(used_up) if wait_ms == 0 => return Err(Rejection::BudgetExhausted(used_up)),
                Some(_) => Vec::new(),
                None => found.into_iter().collect(),
            }
        }
        None => {
            let room = limits::LEASES_PER_AGENT_MAX - busy;
            let most = usize::try_from(limit).expect("it is small").min(room);
            budgets::firsts(table, view, agent, types.as_ref(), &capabilities, most)
        }
    };
    if !found.is_empty() || wait_ms == 0 {
        return Ok(taken(&found, limit, agent, lease_ms, stamp));
    }
    has_room([("claims that wait", table.claims().all().len(), limits::CLAIMS_WAITING_MAX)])?;
    let (wait, until) = (stamp.wait(), stamp.now.after(wait_ms));
    let claimant = agent.clone();
    let limit = Some(limit).filter(|limit| *limit > 1);
    let capabilities = capabilities.into_owned();
    let queued =
        Event::Queued { wait, claimant, until, types, capabilities, task, lease_ms, limit };
    Ok(Decided::waits(queued))
}

/// The claims of these tasks, each with a lease and a token of its own.
fn taken(found: &[&Record], limit: u64, agent: &AgentId, lease_ms: u64, stamp: &Stamp) -> Decided {
    let ids: Vec<TaskId> = found.iter().map(|record| record.id.clone()).collect();
    let claimed = ids.iter().zip(stamp.tokens()).map(|(task, token)| {
        #[cfg(feature = "planted")]
        let token =
            if crate::planted::is("task.several_share_a_token") { stamp.token() } else { token };
        let (task, holder) = (task.clone(), agent.clone());
        Event::Claimed { task, holder, token, lease_ms, wait: None }
    });
    let events = claimed.collect();
    let plan = ReplyPlan::after(move |space| {
        let mut tasks = ids.iter().map(|id| shown(&space.task, id, Vec::new()));
        if limit > 1 {
            return Reply::ClaimedTasks { tasks: tasks.map(|task| *task).collect() };
        }
        Reply::Claimed(tasks.next())
    });
    Decided::new(events, plan)
}

pub(super) fn within_lease(lease_ms: Option<u64>) -> Result<u64, Rejection> {
    let range = (limits::LEASE_MS_MIN, limits::LEASE_MS_MAX);
    Ok(within("lease_ms", lease_ms, limits::LEASE_MS_DEFAULT, range)?)
}

pub(super) fn able<'a>(
    view: &'a impl View,
    agent: &AgentId,
    given: Option<BTreeSet<String>>,
) -> Result<Cow<'a, BTreeSet<String>>, Rejection> {
    let Some(given) = given else {
        let own = view.capabilities_of(agent).map(Cow::Borrowed);
        return Ok(own.unwrap_or_default());
    };
    checks::check_capabilities(&given)?;
    Ok(Cow::Owned(given))
}

/// The requested task, if it can be claimed; none if waiting for it may help.
fn claimable<'a>(
    table: &'a Table,
    agent: &AgentId,
    task: &TaskId,
    types: Option<&BTreeSet<TaskType>>,
    capabilities: &BTreeSet<String>,
    may_wait: bool,
) -> Result<Option<&'a Record>, Rejection> {
    let record = known(table, task)?;
    let status = record.status;
    if status.is_finished() {
        return Err(Rejection::Finished { task: task.clone(), status });
    }
    let missing = record.missing(capabilities).next();
    let assigned = record.assigned_agent().filter(|assigned| *assigned != agent);
    let never = match (assigned, missing) {
        _ if types.is_some_and(|types| !types.contains(&record.task_type)) => {
            Some(format!("it is of type `{}`", record.task_type))
        }
        (Some(assigned), _) => Some(format!("it is assigned to `{assigned}`")),
        (None, Some(missing)) => Some(format!("`{agent}` cannot do `{missing}`")),
        (None, None) => None,
    };
    if never.is_none() && (record.ready || may_wait) {
        return Ok(Some(record).filter(|record| record.ready));
    }
    let not_now = || explanation::sentence(&explanation::circumstances(table, record));
    let reason = never.unwrap_or_else(not_now);
    let lease = record.lease.as_deref().map(Lease::without_token);
    Err(Rejection::NotClaimable { task: task.clone(), status, lease, reason })
}

/// Assigns a ready task to the first matching claim in the wait queue.
pub(super) fn assign(table: &Table, view: &impl View, task: &TaskId, stamp: &Stamp) -> Vec<Event> {
    let ready = table.get(task).filter(|record| record.ready);
    let first = ready.and_then(|record| budgets::waiter_for(table, view, record));
    let claimed = first.map(|waiting| Event::Claimed {
        task: task.clone(),
        holder: waiting.wait.agent.clone(),
        token: stamp.token(),
        lease_ms: waiting.lease_ms,
        wait: Some(waiting.wait.id),
    });
    claimed.into_iter().collect()
}
