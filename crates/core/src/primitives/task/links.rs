//! Links between tasks: by parent, by dependency, by group.

use std::collections::BTreeSet;

use super::Record;
use crate::names::{GroupName, TaskId};

/// All links between tasks.
#[derive(Default)]
pub struct Links {
    children: BTreeSet<(TaskId, TaskId)>,
    dependents: BTreeSet<(TaskId, TaskId)>,
    groups: BTreeSet<(GroupName, TaskId)>,
}

fn follow<'a, A: Ord + Clone + 'a>(
    links: &'a BTreeSet<(A, TaskId)>,
    from: &'a A,
    after: Option<&TaskId>,
) -> impl Iterator<Item = &'a TaskId> + use<'a, A> {
    let start = || (from.clone(), after.cloned().unwrap_or_else(TaskId::least));
    // Most workspaces have no such links.
    let links = (!links.is_empty()).then(|| links.range(start()..)).into_iter().flatten();
    let links = links.take_while(move |(there, _)| there == from);
    let after = after.cloned();
    links.map(|(_, task)| task).filter(move |task| after.as_ref() != Some(*task))
}

impl Links {
    /// Updates the links of a task that was added, changed or removed. A finished task has no
    /// dependencies, unless a retry can restore it.
    pub fn change(&mut self, before: Option<&Record>, after: Option<&Record>) {
        let linked = |record: Option<&Record>| {
            record.map(|record| record.may_run() && !record.depends_on().is_empty())
        };
        if linked(before) == linked(after) {
            return;
        }
        if let Some(record) = before {
            let id = &record.id;
            for dependency in record.depends_on() {
                self.dependents.remove(&(dependency.clone(), id.clone()));
            }
            record.parent().map(|parent| self.children.remove(&(parent.clone(), id.clone())));
            record.group().map(|group| self.groups.remove(&(group.clone(), id.clone())));
        }
        if let Some(record) = after {
            let id = &record.id;
            if record.may_run() {
                let depends_on = record.depends_on().iter();
                self.dependents.extend(depends_on.map(|task| (task.clone(), id.clone())));
            }
            record.parent().map(|parent| self.children.insert((parent.clone(), id.clone())));
            record.group().map(|group| self.groups.insert((group.clone(), id.clone())));
        }
    }

    /// Whether any task has subtasks.
    pub fn has_children(&self) -> bool {
        !self.children.is_empty()
    }

    /// The known subtasks of a task.
    pub fn children<'a>(&'a self, task: &'a TaskId) -> impl Iterator<Item = &'a TaskId> {
        follow(&self.children, task, None)
    }

    /// The subtasks of a task, after this one.
    pub fn children_after<'a>(
        &'a self,
        task: &'a TaskId,
        after: Option<&TaskId>,
    ) -> impl Iterator<Item = &'a TaskId> + use<'a> {
        follow(&self.children, task, after)
    }

    /// The tasks that depend on a task and may still run: unfinished ones, and those that a retry
    /// can restore.
    pub fn dependents<'a>(&'a self, task: &'a TaskId) -> impl Iterator<Item = &'a TaskId> {
        follow(&self.dependents, task, None)
    }

    /// The known tasks of a group, after this one.
    pub fn group<'a>(
        &'a self,
        group: &'a GroupName,
        after: Option<&TaskId>,
    ) -> impl Iterator<Item = &'a TaskId> + use<'a> {
        follow(&self.groups, group, after)
    }

    /// Whether another task still needs it, even after it has finished: as the path to the subtasks
    /// of its subtasks, or for its outcome.
    pub fn is_needed(&self, task: &TaskId) -> bool {
        self.children(task).next().is_some() || self.dependents(task).next().is_some()
    }

    /// The number of links, for checks.
    pub fn len(&self) -> usize {
        self.children.len() + self.dependents.len() + self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
