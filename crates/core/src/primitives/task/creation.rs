//! The rules of `task.create`.

use std::collections::BTreeSet;

use super::{Create, Status, budgets, checks, decide, explanation};
use crate::access::Viewer;
use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::refusal::has_room;
use crate::space::stamp::Stamp;
use crate::state::Warning;
use crate::task::{Created, Decided, Event, Rejection, Table, View};

/// Decides to create a task.
pub(super) fn create(
    table: &Table,
    view: &impl View,
    mut command: Create,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    checks::check_create(&command)?;
    if let Some(mut task) = command.id.as_ref().and_then(|id| table.shown(id, Vec::new())) {
        task.hide_token(Viewer::agent(&stamp.agent));
        return Err(Rejection::Exists { task: Box::new(task) });
    }
    has_room([("unfinished tasks", table.len() - table.finished(), limits::TASKS_MAX)])?;
    if let Some(parent) = &command.parent {
        check_parent(table, parent)?;
        budgets::may_have_subtask(table, view, parent)?;
    }
    let depends_on = dependencies(table, std::mem::take(&mut command.depends_on))?;
    let is_for_anyone = command.assigned_agent.is_none() && command.capabilities.is_empty();
    // The check scans all agents, and a task for any agent needs no warning.
    let lack = if is_for_anyone && !command.if_capable {
        None
    } else {
        lack_of_agents(view, command.assigned_agent.as_ref(), &command.capabilities)
    };
    let mut warnings = Vec::new();
    match lack {
        Some(reason) if command.if_capable => {
            let (capabilities, assigned_agent) = (command.capabilities, command.assigned_agent);
            return Err(Rejection::NoCapableAgent { capabilities, assigned_agent, reason });
        }
        Some(detail) => {
            warnings.push(Warning { code: "task.no_capable_agent".to_owned(), detail });
        }
        None => {}
    }
    let created = created(table, Create { depends_on, ..command }, stamp);
    let plan = decide::task(created.task.clone(), warnings);
    Ok(Decided::new(vec![Event::Created(Box::new(created))], plan))
}

/// The event of a command that was checked. It names every field of the command, so that a new one
/// cannot be forgotten.
fn created(table: &Table, command: Create, stamp: &Stamp) -> Created {
    let Create {
        id,
        task_type,
        description,
        definition,
        assigned_agent,
        capabilities,
        priority,
        delay_ms,
        deadline_ms,
        max_retries,
        backoff,
        on_exhausted,
        review,
        reviewers,
        depends_on,
        parent,
        group,
        budget,
        schema_version,
        metadata,
        traceparent,
        if_capable: _,
    } = command;
    let is_open =
        |task: &TaskId| table.get(task).is_some_and(|there| there.status != Status::Completed);
    let not_before = delay_ms.filter(|delay_ms| *delay_ms > 0);
    Created {
        task: id.unwrap_or_else(|| table.fresh_id(stamp.revision)),
        task_type,
        ready: not_before.is_none() && !depends_on.iter().any(is_open),
        description,
        definition,
        assigned_agent,
        capabilities,
        priority: priority.unwrap_or(0),
        group,
        parent,
        budget,
        depends_on,
        not_before: not_before.map(|delay_ms| stamp.now.after(delay_ms)),
        deadline: deadline_ms.map(|deadline_ms| stamp.now.after(deadline_ms)),
        max_retries,
        backoff,
        on_exhausted,
        review: review || reviewers.is_some(),
        reviewers: reviewers.filter(|reviewers| !reviewers.is_empty()),
        schema_version,
        metadata,
        traceparent,
    }
}

/// The tasks that must be completed first, each once.
fn dependencies(table: &Table, given: Vec<TaskId>) -> Result<Vec<TaskId>, Rejection> {
    let mut depends_on = Vec::new();
    for dependency in given {
        check_dependency(table, &dependency)?;
        if !depends_on.contains(&dependency) {
            depends_on.push(dependency);
        }
    }
    Ok(depends_on)
}

fn check_parent(table: &Table, parent: &TaskId) -> Result<(), Rejection> {
    match table.get(parent).map(|record| record.status) {
        None => Err(Rejection::UnknownParent { parent: parent.clone() }),
        Some(status) if status.is_finished() => {
            Err(Rejection::ParentFinished { parent: parent.clone(), status })
        }
        Some(_) => check_depth(table, parent),
    }
}

fn check_depth(table: &Table, parent: &TaskId) -> Result<(), Rejection> {
    let max = limits::TASK_DEPTH_MAX;
    let above = |task: &&TaskId| table.get(task).and_then(|record| record.parent());
    let levels = std::iter::successors(Some(parent), above).take(max).count();
    if levels < max { Ok(()) } else { Err(Rejection::TooDeep { parent: parent.clone(), max }) }
}

fn check_dependency(table: &Table, dependency: &TaskId) -> Result<(), Rejection> {
    let Some(record) = table.get(dependency) else {
        return Err(Rejection::UnknownDependency { dependency: dependency.clone() });
    };
    let (dependency, status) = (dependency.clone(), record.status);
    match status {
        Status::Failed | Status::Cancelled => Err(Rejection::DeadDependency { dependency, status }),
        Status::Completed => Ok(()),
        Status::Pending | Status::InProgress | Status::HandedOff | Status::WaitingReview => {
            let max = limits::TASK_DEPENDENTS_MAX;
            let count = table.links().dependents(&dependency).take(max).count();
            Ok(has_room([("tasks that depend on it", count, max)])?)
        }
    }
}

/// Why no agent can do a task now.
fn lack_of_agents(
    view: &impl View,
    assigned: Option<&AgentId>,
    capabilities: &BTreeSet<String>,
) -> Option<String> {
    let Some(agent) = assigned else {
        return (!view.has_capable(capabilities)).then(|| {
            if capabilities.is_empty() {
                return "no agent has an active session".to_owned();
            }
            format!("no active agent has {}", explanation::capabilities(capabilities))
        });
    };
    let Some(able) = view.capabilities_of(agent) else {
        return Some(format!("agent `{agent}` has no session"));
    };
    let missing = capabilities.iter().find(|name| !able.contains(*name));
    missing.map(|name| format!("agent `{agent}` lacks the capability `{name}`"))
}
