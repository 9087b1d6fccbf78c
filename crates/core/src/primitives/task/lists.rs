//! Pages of tasks.

use super::{List, Record, decide};
use crate::names::AgentId;
use crate::page::{self, Selection};
use crate::task::{Rejection, Reply, Table};

/// A page of the selected tasks, by id.
pub fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let limit = page::limit(query.limit)?;
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
    let selection = Selection { candidates: table.after(query), is_wanted: wanted, limit };
    let shown = |record: &Record| (*decide::shown(table, &record.id, Vec::new()), 0);
    let (tasks, cursor) = selection.first(shown, |record| record.id.clone());
    Ok(Reply::Tasks { tasks, cursor })
}
