//! Questions about a space, and what must hold before it is changed.

use super::Space;
use super::handoffs::SpaceView;
use super::tables::{TablesView, TasksView};
use crate::command::Query;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::transaction::Precondition;
use crate::{
    agent, artifact, barrier, checkpoint, context, contracts, handoff, join, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, state, stream, task, topic, user_event,
    workspace,
};

/// What a primitive answered, as part of all that can be answered.
fn reply_of<R, E: Into<Rejection>>(
    reply: Result<R, E>,
    sum: fn(R) -> Reply,
) -> Result<Reply, Rejection> {
    reply.map(sum).map_err(Into::into)
}

impl Space {
    pub(super) fn check_precondition(
        &self,
        index: usize,
        precondition: Precondition,
    ) -> Result<(), Rejection> {
        let mut entry = None;
        let holds = match &precondition {
            Precondition::Entry { namespace, key, version, exists, value } => {
                entry = self.state.entry(namespace, key);
                let found = entry.as_ref();
                let present = found.map_or(0, |entry| entry.version().0);
                version.is_none_or(|version| version.0 == present)
                    && exists.is_none_or(|exists| exists == found.is_some())
                    && value.as_ref().is_none_or(|value| {
                        found.is_some_and(|entry| entry.json().same_value(value))
                    })
            }
            Precondition::Namespace { name, exists } => {
                self.namespace.get(name).is_some() == *exists
            }
            Precondition::Agent { agent, active } => self.agent.is_active(agent) == *active,
            Precondition::Token(token) => self.is_live(*token),
            Precondition::Revision(revision) => *revision == self.revision,
        };
        if holds {
            return Ok(());
        }
        Err(Rejection::PreconditionFailed {
            index,
            precondition: Box::new(precondition),
            entry: entry.map(Box::new),
            revision: self.revision,
        })
    }

    /// Answers a question about the present; none if it is about the past.
    pub fn query(&self, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(match query {
            Query::State(query) => {
                let view = TablesView { namespace: &self.namespace, agent: &self.agent };
                reply_of(state::query(&self.state, &view, query, self.revision)?, Reply::State)
            }
            Query::Namespace(query) => {
                reply_of(namespace::query(&self.namespace, query), Reply::Namespace)
            }
            Query::Agent(query) => reply_of(agent::query(&self.agent, query), Reply::Agent),
            Query::Message(query) => reply_of(message::query(&self.message, query), Reply::Message),
            Query::Topic(query) => reply_of(topic::query(&self.topic, query), Reply::Topic),
            Query::Stream(query) => reply_of(stream::query(&self.stream, query), Reply::Stream),
            Query::Contract(query) => reply_of(self.contracts(query), Reply::Contract),
            Query::Context(context::Query::Build(asked)) => {
                reply_of(context::build(self, asked).map(context::Reply::Context), Reply::Context)
            }
            Query::Rule(query) => reply_of(rule::query(&self.rule, query), Reply::Rule),
            Query::Reaction(query) => {
                reply_of(reaction::query(&self.reaction, query), Reply::Reaction)
            }
            Query::Lock(query) => reply_of(lock::query(&self.lock, query), Reply::Lock),
            Query::Semaphore(query) => {
                reply_of(semaphore::query(&self.semaphore, query), Reply::Semaphore)
            }
            Query::Task(query) => {
                let view = TablesView { namespace: &self.namespace, agent: &self.agent };
                reply_of(task::query(&self.task, &view, query)?, Reply::Task)
            }
            Query::Barrier(query) => Ok(Reply::Barrier(barrier::query(&self.barrier, query))),
            Query::Join(query) => {
                reply_of(join::query(&self.join, &TasksView(&self.task), query), Reply::Join)
            }
            Query::Pipeline(query) => {
                reply_of(pipeline::query(&self.pipeline, query), Reply::Pipeline)
            }
            Query::Checkpoint(query) => {
                reply_of(checkpoint::query(&self.checkpoint, query), Reply::Checkpoint)
            }
            Query::Artifact(query) => {
                reply_of(artifact::query(&self.artifact, query), Reply::Artifact)
            }
            Query::Secret(query) => reply_of(secret::query(&self.secret, query), Reply::Secret),
            Query::Handoff(query) => {
                reply_of(handoff::query(&self.handoff, &SpaceView(self), query), Reply::Handoff)
            }
            Query::Workspace(workspace::Query::Get) => Ok(self.workspace_reply()),
            Query::Workspace(
                workspace::Query::List { .. }
                | workspace::Query::Fork { .. }
                | workspace::Query::Diff(_)
                | workspace::Query::Search(_)
                | workspace::Query::Why { .. },
            )
            | Query::UserEvent(user_event::Query::History(_))
            | Query::At(..) => return None,
        })
    }

    fn contracts(
        &self,
        query: &contracts::Query,
    ) -> Result<contracts::Reply, contracts::Rejection> {
        match query {
            contracts::Query::Show { pattern, limit, cursor } => {
                contracts::show(self, pattern.as_ref(), *limit, cursor.as_deref())
            }
            contracts::Query::Check { namespace, schema } => {
                contracts::check(self, namespace.as_ref(), schema.as_ref())
            }
        }
    }

    pub(super) fn workspace_reply(&self) -> Reply {
        let entries = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        let counts = [entries, self.namespace.len(), self.agent.len()];
        let counts = counts.map(|count: usize| count as u64);
        Reply::Workspace(workspace::about(&self.workspace, counts))
    }
}
