//! Pages of tasks.

use super::{List, Record, Task};
use crate::limits;
use crate::names::AgentId;
use crate::refusal::within;
use crate::task::{Rejection, Reply, Table};

/// A page of the selected tasks, by id.
pub fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let usual = limits::PAGE_DEFAULT as u64;
    let limit = within("limit", query.limit, usual, (1, limits::PAGE_MAX as u64))?;
    let List { status, task_type, agent, group, parent, .. } = query;
    let is = |agent: &AgentId, record: &Record| {
        record.assigned_agent() == Some(agent)
            || record.lease.as_ref().is_some_and(|lease| lease.holder == *agent)
    };
    let wanted = |record: &Record| {
        status.is_none_or(|status| status == record.status)
            && task_type.as_ref().is_none_or(|task_type| *task_type == record.task_type)
            && agent.as_ref().is_none_or(|agent| is(agent, record))
            && group.as_ref().is_none_or(|group| record.group() == Some(group))
            && parent.as_ref().is_none_or(|parent| record.parent() == Some(parent))
    };
    let mut tasks: Vec<Task> = Vec::new();
    let mut cursor = None;
    for (examined, record) in table.after(query).enumerate() {
        if tasks.len() as u64 == limit && wanted(record) {
            cursor = tasks.last().map(|task| task.id.clone());
            break;
        }
        if wanted(record) {
            tasks.extend(table.shown(&record.id, Vec::new()));
        }
        if examined == limits::TASKS_EXAMINED_MAX {
            cursor = Some(record.id.clone());
            break;
        }
    }
    Ok(Reply::Tasks { tasks, cursor })
}
