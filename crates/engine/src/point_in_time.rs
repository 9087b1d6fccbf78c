//! Queries that cannot be answered from the current state of a workspace in memory: about the past
//! and about other workspaces, and forks. They are answered from files, without holding the
//! machine's lock.

use baton_core::state::{self, Query as StateQuery};
use baton_core::{
    AgentId, Answer, Query, Reply, Revision, WorkspaceName, task, user_event, workspace,
};
use baton_log::Log;

use crate::error::Error;
use crate::history::past::Past;
use crate::shard::Shard;

impl<L: Log> Shard<L> {
    /// Answers such a query as of a durable revision. The workspace must be in memory.
    pub fn query_past(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        query: &Query,
        present: Revision,
    ) -> Result<Answer, Error> {
        if let Query::Workspace(workspace::Query::Delete { revision }) = query {
            let reply = Reply::Workspace(self.delete_workspace(workspace, *revision)?);
            return Ok(Answer { revision: present, reply });
        }
        let past = self.past(workspace, present)?;
        match query {
            Query::State(query) => query_past_state(&past, query, present),
            Query::Task(task::Query::History { task, limit, cursor }) => {
                let (events, cursor) = past.transitions(task, *limit, cursor.as_deref())?;
                let oldest = past.floor();
                if events.is_empty() && oldest == Revision(0) {
                    let task = task.clone();
                    return Err(Error::Rejected(task::Rejection::NotFound { task }.into()));
                }
                let reply = Reply::Task(task::Reply::History { events, oldest, cursor });
                Ok(Answer { revision: present, reply })
            }
            Query::UserEvent(user_event::Query::History(history)) => {
                let reply = Reply::UserEvent(user_event::Reply::Events(past.events(history)?));
                Ok(Answer { revision: present, reply })
            }
            Query::Workspace(workspace::Query::Search(search)) => {
                let (revision, results) = past.search(search)?;
                let reply = Reply::Workspace(workspace::Reply::Found(results));
                Ok(Answer { revision, reply })
            }
            Query::Workspace(query) => {
                let reply = self.query_past_workspace(&past, agent, query)?;
                Ok(Answer { revision: present, reply: Reply::Workspace(reply) })
            }
            Query::At(at, query) => {
                let revision = past.revision_of(*at)?;
                if let Query::State(_) = &**query
                    && let Some(query) = (**query).clone().at(revision.into())
                {
                    return self.query_past(workspace, agent, &query, present);
                }
                let answer = past.ask(revision, |space| space.query(query))?;
                let reply = answer.expect("only questions about the present are asked so")?;
                Ok(Answer { revision, reply })
            }
            query => unreachable!("{query:?} is about the present"),
        }
    }

    fn query_past_workspace(
        &self,
        past: &Past<'_, L>,
        agent: &AgentId,
        query: &workspace::Query,
    ) -> Result<workspace::Reply, Error> {
        match query {
            workspace::Query::Get
            | workspace::Query::Search(_)
            | workspace::Query::Delete { .. } => {
                unreachable!("the first is about the present, the others are answered before")
            }
            workspace::Query::List { limit, cursor } => {
                self.list_workspaces(*limit, cursor.as_ref())
            }
            workspace::Query::Fork { to, at } => past.fork(to, *at, agent),
            workspace::Query::Diff(diff) => {
                Ok(workspace::Reply::Differences(past.differences(diff)?))
            }
            workspace::Query::Changes(query) => {
                Ok(workspace::Reply::Changes(Box::new(past.copy_changes(query)?)))
            }
            workspace::Query::Why { subject, at } => {
                Ok(workspace::Reply::Why(past.why(subject, *at)?))
            }
        }
    }
}

fn query_past_state<L: Log>(
    past: &Past<'_, L>,
    query: &StateQuery,
    present: Revision,
) -> Result<Answer, Error> {
    let (revision, reply) = match query {
        StateQuery::Get(get) => {
            let at = get.at.unwrap_or(present);
            (at, state::Reply::Entry(past.get(get, at)?))
        }
        StateQuery::List(list) => {
            let at = list.at.unwrap_or(present);
            (at, state::Reply::Entries(past.list(list, at)?))
        }
        StateQuery::Snapshot(snapshot) => {
            let pinned = snapshot.revision().map_err(|it| Error::Rejected(it.into()))?;
            let at = pinned.unwrap_or(present);
            (at, state::Reply::Entries(past.snapshot(snapshot, at)?))
        }
        StateQuery::History(history) => {
            let (changes, cursor) = past.history(history)?;
            (present, state::Reply::Changes { changes, oldest: past.floor(), cursor })
        }
        StateQuery::Diff(diff) => {
            let changes = past.diff(diff)?;
            (present, state::Reply::Changes { changes, oldest: past.floor(), cursor: None })
        }
    };
    Ok(Answer { revision, reply: Reply::State(reply) })
}
