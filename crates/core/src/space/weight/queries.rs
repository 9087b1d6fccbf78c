//! The queries that take long.

use super::Space;
use crate::command::Query;
use crate::names::TaskId;
use crate::{
    agent, artifact, barrier, checkpoint, contract, handoff, join, limits, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, spend, state, stream, task, topic,
};

/// Metadata of a checkpoint that is parsed takes about as long as looking at this many records.
const RECORDS_PER_METADATA: usize = 4;

impl Space {
    /// Whether a query about the present takes long: it examines more than this many records, reads
    /// many values, or evaluates expressions of callers.
    pub fn is_long_query(&self, query: &Query, records_max: usize) -> bool {
        // The past is not read from here, and one record is not many, whatever the limit.
        !query.is_about_the_past()
            && self.records(query, records_max).is_none_or(|it| it > records_max.max(1))
    }

    /// The number of records that a query examines; none if it takes long whatever the workspace
    /// has. Beyond this many they need not be exact.
    fn records(&self, query: &Query, records_max: usize) -> Option<usize> {
        Some(match query {
            Query::State(query) => self.entries_read(query),
            Query::Task(query) => self.tasks_read(query),
            Query::Message(query) => self.messages_read(query, records_max),
            Query::Handoff(query) => self.handoffs_read(query, records_max),
            Query::Checkpoint(query) => self.checkpoints_read(query),
            Query::Artifact(query) => match query {
                artifact::Query::List(list) => {
                    let is_selective = list.free || list.name.is_some();
                    listed(self.artifact.len(), is_selective, list.limit)
                }
                artifact::Query::Get { .. } => 1,
            },
            Query::Contract(query) => match query {
                contract::Query::Check { .. } | contract::Query::Show { .. } => return None,
                contract::Query::List { limit, .. } => {
                    self.contract.len().min(limit.unwrap_or(limits::PAGE_DEFAULT))
                }
            },
            Query::Context(_) => return None,
            Query::Agent(agent::Query::List { limit, capability, status, .. }) => {
                let is_selective = capability.is_some() || status.is_some();
                let limit = limit.map(|limit| limit as u64);
                listed(self.agent.len(), is_selective, limit)
            }
            Query::Namespace(namespace::Query::List { limit, .. }) => {
                self.namespace.len().min(limit.unwrap_or(limits::PAGE_DEFAULT))
            }
            Query::Stream(stream::Query::List { limit, .. }) => {
                listed(self.stream.len(), false, *limit)
            }
            Query::Secret(secret::Query::List { limit, .. }) => {
                listed(self.secret.len(), false, *limit)
            }
            Query::Spend(spend::Query::List(list)) => {
                let is_selective = list.task.is_some() || list.agent.is_some();
                listed(limits::SPEND_RECORDS_MAX, is_selective, list.limit)
            }
            Query::Lock(lock::Query::List { limit, .. }) => {
                listed(self.lock.holds().len(), false, *limit)
            }
            Query::Topic(topic::Query::List { limit, .. }) => {
                listed(limits::TOPICS_MAX, false, *limit)
            }
            // The maximum number of them is small, or there is one record.
            Query::Pipeline(
                pipeline::Query::Get { .. }
                | pipeline::Query::Output { .. }
                | pipeline::Query::List(_),
            )
            | Query::Reaction(reaction::Query::Get { .. } | reaction::Query::List { .. })
            | Query::Rule(rule::Query::List { .. })
            | Query::Agent(agent::Query::Get { .. })
            | Query::Barrier(barrier::Query::Get { .. })
            | Query::Join(join::Query::Get { .. })
            | Query::Lock(lock::Query::Get { .. })
            | Query::Namespace(namespace::Query::Get { .. })
            | Query::Secret(secret::Query::Get { .. })
            | Query::Semaphore(semaphore::Query::Get { .. } | semaphore::Query::List { .. })
            | Query::Spend(spend::Query::Get { .. })
            | Query::Stream(stream::Query::Get { .. })
            | Query::Topic(topic::Query::Get { .. }) => 1,
            // About the past, or answered by the engine.
            Query::UserEvent(_) | Query::Workspace(_) | Query::At(..) => 0,
            Query::Wait(query) => match *query {},
        })
    }

    fn entries_read(&self, query: &state::Query) -> usize {
        let page = |limit: Option<usize>| limit.unwrap_or(limits::PAGE_DEFAULT);
        match query {
            state::Query::List(list) if list.at.is_none() => {
                let all = self.state.count(&list.namespace);
                if list.pattern.is_some() { all } else { all.min(page(list.limit)) }
            }
            state::Query::Snapshot(snapshot) if snapshot.at.is_none() => {
                let is_present = match snapshot.revision() {
                    Ok(pinned) => pinned.is_none_or(|pinned| pinned == self.revision),
                    Err(_) => false,
                };
                let all = match &snapshot.namespace {
                    Some(namespace) => self.state.count(namespace),
                    None => self.entries(),
                };
                if is_present { all.min(page(snapshot.limit)) } else { 0 }
            }
            state::Query::Get(_) => 1,
            state::Query::List(_)
            | state::Query::Snapshot(_)
            | state::Query::History(_)
            | state::Query::Diff(_) => 0,
        }
    }

    fn entries(&self) -> usize {
        self.state.namespaces().map(|(_, entries)| entries.len()).sum()
    }

    fn tasks_read(&self, query: &task::Query) -> usize {
        match query {
            task::Query::List(list) => listed(self.task.len(), selects(list), list.limit),
            task::Query::Get { .. }
            | task::Query::Stats { .. }
            | task::Query::Why { .. }
            | task::Query::History { .. } => 1,
        }
    }

    fn messages_read(&self, query: &message::Query, records_max: usize) -> usize {
        match query {
            message::Query::List(list) => {
                let is_selective = list.status.is_some() || list.thread.is_some();
                let (agent, cursor) = (list.agent.as_ref(), list.cursor.as_ref());
                let examined = self.message.store().after(agent, cursor);
                let examined = examined.take(records_max.saturating_add(1)).count();
                listed(examined, is_selective, list.limit)
            }
            message::Query::Get { .. } | message::Query::Handlers { .. } => 1,
        }
    }

    fn handoffs_read(&self, query: &handoff::Query, records_max: usize) -> usize {
        match query {
            handoff::Query::List(list) => {
                let is_selective = list.to.is_some() || list.from.is_some();
                let examined = self.handoff.after(list);
                let examined = examined.take(records_max.saturating_add(1)).count();
                listed(examined, is_selective || list.status.is_some(), list.limit)
            }
            handoff::Query::History { task } => self.handoff.of_task(task).count(),
            handoff::Query::Get { .. }
            | handoff::Query::Export { .. }
            | handoff::Query::Stats {} => 1,
        }
    }

    fn checkpoints_read(&self, query: &checkpoint::Query) -> usize {
        let of = |task: &TaskId| self.checkpoint.thread(task).map_or(0, |it| it.kept.len());
        let times = |metadata: bool| if metadata { RECORDS_PER_METADATA } else { 1 };
        match query {
            checkpoint::Query::List(list) => {
                let all = list.task.as_ref().map_or(self.checkpoint.len(), of);
                let is_selective = list.label.is_some() || list.metadata.is_some();
                times(list.metadata.is_some()) * listed(all, is_selective, list.limit)
            }
            checkpoint::Query::History(history) => {
                let all = of(&history.task);
                let has_metadata = history.metadata.is_some();
                times(has_metadata) * listed(all, has_metadata, history.limit)
            }
            checkpoint::Query::Latest { .. }
            | checkpoint::Query::Get { .. }
            | checkpoint::Query::Retention => 1,
        }
    }
}

/// The number of these records that a page examines. A list that filters may examine many records
/// for one that it shows.
fn listed(all: usize, is_selective: bool, limit: Option<u64>) -> usize {
    let page = limit.map_or(Ok(limits::PAGE_DEFAULT), usize::try_from);
    all.min(if is_selective { limits::TASKS_EXAMINED_MAX } else { page.unwrap_or(usize::MAX) })
}

/// Whether a list of tasks leaves out some.
fn selects(list: &task::List) -> bool {
    let task::List { status, task_type, agent, group, parent, limit: _, cursor: _ } = list;
    let named = [task_type.is_some(), agent.is_some(), group.is_some(), parent.is_some()];
    status.is_some() || named.contains(&true)
}
