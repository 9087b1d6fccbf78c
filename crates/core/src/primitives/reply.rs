//! Everything that can be answered, as a sum over the primitives.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::numbers::Revision;
use crate::{
    agent, artifact, barrier, checkpoint, context, contracts, handoff, join, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, state, stream, task, topic, user_event,
    workspace,
};

/// The answer to one command or query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// About shared state.
    State(state::Reply),
    /// About namespaces.
    Namespace(namespace::Reply),
    /// About agents.
    Agent(agent::Reply),
    /// About messages.
    Message(message::Reply),
    /// About topics.
    Topic(topic::Reply),
    /// About streams.
    Stream(stream::Reply),
    /// About rules for hand-offs.
    Rule(rule::Reply),
    /// About what happened.
    #[serde(rename = "event")]
    UserEvent(user_event::Reply),
    /// About reactions.
    Reaction(reaction::Reply),
    /// About who depends on which keys.
    Contract(contracts::Reply),
    /// What an agent should know.
    Context(context::Reply),
    /// About locks.
    Lock(lock::Reply),
    /// About semaphores.
    Semaphore(semaphore::Reply),
    /// About barriers.
    Barrier(barrier::Reply),
    /// About tasks.
    Task(task::Reply),
    /// About joins.
    Join(join::Reply),
    /// About pipelines.
    Pipeline(pipeline::Reply),
    /// About checkpoints.
    Checkpoint(checkpoint::Reply),
    /// About artifacts.
    Artifact(artifact::Reply),
    /// About secrets.
    Secret(secret::Reply),
    /// About hand-offs.
    Handoff(handoff::Reply),
    /// About the workspace itself.
    Workspace(workspace::Reply),
    /// One answer for each command of a transaction, in order.
    Transaction(Vec<Reply>),
}

/// A reply, and the revision at which it is the truth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The workspace's revision.
    pub revision: Revision,
    /// What to tell.
    pub reply: Reply,
}

impl Reply {
    /// The checkpoints in it that were restored.
    pub(crate) fn restored(&mut self) -> Vec<&mut checkpoint::Checkpoint> {
        match self {
            Self::Checkpoint(checkpoint::Reply::Restored(checkpoint)) => vec![&mut **checkpoint],
            Self::Transaction(replies) => replies.iter_mut().flat_map(Self::restored).collect(),
            _ => Vec::new(),
        }
    }
}

impl Answer {
    /// The same without the states of checkpoints. They may be large, and never change: whoever
    /// keeps the answer can put them in again.
    pub(crate) fn without_states(&self) -> Cow<'_, Self> {
        match &self.reply {
            Reply::Checkpoint(_) | Reply::Transaction(_) => {
                let mut answer = self.clone();
                answer.reply.restored().into_iter().for_each(|it| it.state = None);
                Cow::Owned(answer)
            }
            _ => Cow::Borrowed(self),
        }
    }
}
