//! Budgets: nothing starts under one that is used up.
//!
//! A task whose budget is used up, or that is below such a task, stays ready and in its queue, but
//! claims skip it. An agent whose budget is used up, or that of its workspace, gets no task.

use std::collections::BTreeSet;

use super::{Record, Rejection, Table, View, Waiting};
use crate::limits;
use crate::names::{AgentId, TaskId, TaskType};
use crate::spending::UsedUp;

/// The budget that keeps a task from being started: its own, or that of a task above it.
pub fn held_back(table: &Table, view: &impl View, task: &TaskId) -> Option<UsedUp> {
    if !view.has_used_up_tasks() {
        return None;
    }
    #[cfg(feature = "planted")]
    if crate::planted::is("task.starts_without_budget") {
        return None;
    }
    table.lineage(task).find_map(|task| view.used_up_task(task))
}

/// Refuses a claim of an agent that may not start anything.
pub(super) fn may_start(view: &impl View, agent: &AgentId) -> Result<(), Rejection> {
    view.used_up_agent(agent).map_or(Ok(()), |used_up| Err(Rejection::BudgetExhausted(used_up)))
}

/// Refuses a subtask of a task that may not have any more.
pub(super) fn may_have_subtask(
    table: &Table,
    view: &impl View,
    parent: &TaskId,
) -> Result<(), Rejection> {
    let held_back = held_back(table, view, parent);
    held_back.map_or(Ok(()), |used_up| Err(Rejection::BudgetExhausted(used_up)))
}

/// The task that an agent claims next.
pub fn first<'a>(
    table: &'a Table,
    view: &impl View,
    agent: &AgentId,
    types: Option<&BTreeSet<TaskType>>,
    capabilities: &BTreeSet<String>,
) -> Option<&'a Record> {
    if view.used_up_agent(agent).is_some() {
        return None;
    }
    let may_start = |task: &TaskId| held_back(table, view, task).is_none();
    table.first(agent, types, capabilities, &may_start)
}

/// The tasks that an agent claims next, in the order of single claims: as many as one answer may
/// have, and at least one if there is any.
pub fn firsts<'a>(
    table: &'a Table,
    view: &impl View,
    agent: &AgentId,
    types: Option<&BTreeSet<TaskType>>,
    capabilities: &BTreeSet<String>,
    most: usize,
) -> Vec<&'a Record> {
    if view.used_up_agent(agent).is_some() {
        return Vec::new();
    }
    let (mut found, mut bytes): (Vec<&Record>, usize) = (Vec::new(), 0);
    let mut taken: BTreeSet<&TaskId> = BTreeSet::new();
    while found.len() < most {
        let may_start =
            |task: &TaskId| !taken.contains(task) && held_back(table, view, task).is_none();
        let Some(next) = table.first(agent, types, capabilities, &may_start) else { break };
        bytes += next.bytes();
        if !found.is_empty() && bytes > limits::PAGE_BYTES_MAX {
            break;
        }
        found.push(next);
        // Most claims are of one task.
        if found.len() < most {
            taken.insert(&next.id);
        }
    }
    found
}

/// The first waiting claim that gets a task.
pub fn waiter_for<'a>(table: &'a Table, view: &impl View, record: &Record) -> Option<&'a Waiting> {
    if table.claims().is_empty() || held_back(table, view, &record.id).is_some() {
        return None;
    }
    table.claims().first_for(record, &|agent| view.used_up_agent(agent).is_none())
}

/// Ready tasks that waiting claims can get now, one for each claim at most, in the order of the
/// claims: each task goes to the first claim that wants it, which must be the one it is for.
pub fn startable(table: &Table, view: &impl View) -> Vec<TaskId> {
    let (mut found, mut taken) = (Vec::new(), BTreeSet::<&TaskId>::new());
    for waiting in table.claims().all() {
        let Waiting { wait, types, capabilities, task, .. } = waiting;
        if view.used_up_agent(&wait.agent).is_some() {
            continue;
        }
        let may_start =
            |task: &TaskId| !taken.contains(task) && held_back(table, view, task).is_none();
        let wanted = match task {
            Some(task) => table.get(task).filter(|record| record.ready && may_start(&record.id)),
            None => table.first(&wait.agent, types.as_ref(), capabilities, &may_start),
        };
        if let Some(record) = wanted.filter(|record| waiting.wants(record)) {
            taken.insert(&record.id);
            found.push(record.id.clone());
        }
    }
    found
}
