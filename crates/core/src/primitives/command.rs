//! Everything one may ask, as sums over the primitives.

use serde::{Deserialize, Serialize};

use crate::history::At;
use crate::names::IdempotencyKey;
use crate::numbers::Token;
use crate::transaction::Precondition;
use crate::{
    agent, artifact, barrier, checkpoint, context, contracts, handoff, join, limits, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, state, stream, task, topic, user_event,
    workspace,
};

/// A request to change something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// About shared state.
    State(state::Command),
    /// About namespaces.
    Namespace(namespace::Command),
    /// About agents.
    Agent(agent::Command),
    /// About messages.
    Message(message::Command),
    /// About topics.
    Topic(topic::Command),
    /// About streams.
    Stream(stream::Command),
    /// About rules for hand-offs.
    Rule(rule::Command),
    /// About user events.
    #[serde(rename = "event")]
    UserEvent(user_event::Command),
    /// About reactions.
    Reaction(reaction::Command),
    /// About locks.
    Lock(lock::Command),
    /// About semaphores.
    Semaphore(semaphore::Command),
    /// About barriers.
    Barrier(barrier::Command),
    /// About tasks.
    Task(task::Command),
    /// About joins.
    Join(join::Command),
    /// About pipelines.
    Pipeline(pipeline::Command),
    /// About checkpoints.
    Checkpoint(checkpoint::Command),
    /// About artifacts.
    Artifact(artifact::Command),
    /// About secrets.
    Secret(secret::Command),
    /// About hand-offs.
    Handoff(handoff::Command),
    /// About the workspace itself.
    Workspace(workspace::Command),
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// About shared state.
    State(state::Query),
    /// About namespaces.
    Namespace(namespace::Query),
    /// About agents.
    Agent(agent::Query),
    /// About messages.
    Message(message::Query),
    /// About topics.
    Topic(topic::Query),
    /// About streams.
    Stream(stream::Query),
    /// About rules for hand-offs.
    Rule(rule::Query),
    /// About what happened.
    #[serde(rename = "event")]
    UserEvent(user_event::Query),
    /// About reactions.
    Reaction(reaction::Query),
    /// About who depends on which keys.
    Contract(contracts::Query),
    /// What an agent should know.
    Context(context::Query),
    /// About locks.
    Lock(lock::Query),
    /// About semaphores.
    Semaphore(semaphore::Query),
    /// About barriers.
    Barrier(barrier::Query),
    /// About tasks.
    Task(task::Query),
    /// About joins.
    Join(join::Query),
    /// About pipelines.
    Pipeline(pipeline::Query),
    /// About checkpoints.
    Checkpoint(checkpoint::Query),
    /// About artifacts.
    Artifact(artifact::Query),
    /// About secrets.
    Secret(secret::Query),
    /// About hand-offs.
    Handoff(handoff::Query),
    /// About the workspace itself.
    Workspace(workspace::Query),
    /// Any of them about the present, asked about a moment of the past. Has no name of its own: on
    /// the wire it is the field `at` of the question.
    #[serde(skip)]
    At(At, Box<Query>),
}

/// What is decided as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutation {
    /// One command.
    Command(Command),
    /// One command, only if whoever acts still may under this token.
    Fenced {
        /// Of a lease, a hold, a permit or a session.
        token: Token,
        /// What to do.
        command: Box<Command>,
    },
    /// Several commands with preconditions, all or nothing.
    Transaction {
        /// What must hold before.
        require: Vec<Precondition>,
        /// What to do, in order.
        commands: Vec<Command>,
    },
}

/// A mutation, and the caller's idempotency key for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to execute.
    pub mutation: Mutation,
    /// Repeating the request under the same key has no second effect.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self { mutation: Mutation::Command(command), idempotency_key: None }
    }
}

impl Command {
    /// How long it would wait at most, if it asks to.
    pub fn wait_ms(&self) -> Option<u64> {
        let wait_ms = match self {
            Self::Lock(lock::Command::Acquire(acquire)) => acquire.wait_ms,
            Self::Semaphore(semaphore::Command::Acquire(acquire)) => acquire.wait_ms,
            Self::Barrier(barrier::Command::Arrive(arrive)) => arrive.wait_ms,
            Self::Task(task::Command::Claim(claim)) => claim.wait_ms,
            Self::Join(join::Command::Wait { wait_ms, .. })
            | Self::Handoff(handoff::Command::Receive { wait_ms })
            | Self::Message(message::Command::Receive(message::Receive { wait_ms, .. }))
            | Self::Stream(stream::Command::Receive(stream::Receive { wait_ms, .. })) => *wait_ms,
            Self::Message(message::Command::Request(request)) => {
                Some(request.timeout_ms.unwrap_or(limits::REQUEST_MS_DEFAULT))
            }
            Self::State(_)
            | Self::Namespace(_)
            | Self::Agent(_)
            | Self::Message(_)
            | Self::Topic(_)
            | Self::Stream(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Reaction(_)
            | Self::Lock(_)
            | Self::Semaphore(_)
            | Self::Barrier(_)
            | Self::Task(_)
            | Self::Join(_)
            | Self::Pipeline(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Handoff(_)
            | Self::Workspace(_) => None,
        };
        wait_ms.filter(|wait_ms| *wait_ms > 0)
    }

    /// Whether it has a token of its own, which is looked at anyhow.
    pub fn brings_token(&self) -> bool {
        match self {
            // These may be given without.
            Self::Checkpoint(
                checkpoint::Command::Save(checkpoint::Save { token, .. })
                | checkpoint::Command::Restore { token, .. }
                | checkpoint::Command::Fork { token, .. },
            ) => token.is_some(),
            Self::Handoff(
                handoff::Command::Offer(offer)
                | handoff::Command::Execute(offer)
                | handoff::Command::Validate(offer),
            ) => offer.token.is_some(),
            command => command.operation().is_some_and(|operation| operation.names_token),
        }
    }
}

impl Query {
    /// Whether answering needs more than the present: whoever must not wait asks elsewhere.
    pub fn is_about_the_past(&self) -> bool {
        match self {
            Self::At(..) => true,
            Self::State(query) if query.names_revision() => true,
            query => query.operation().is_some_and(|operation| operation.is_about_the_past),
        }
    }

    /// The same question about a moment of the past; none if it is about the past by itself.
    pub fn at(mut self, at: At) -> Option<Self> {
        if self.is_about_the_past() {
            return None;
        }
        if let (Self::State(query), At::Revision(revision)) = (&mut self, at) {
            // These have an index of their own, which makes them quicker.
            match query {
                state::Query::Get(get) => get.at = Some(revision),
                state::Query::List(list) => list.at = Some(revision),
                state::Query::Snapshot(snapshot) => snapshot.at = Some(revision),
                state::Query::History(_) | state::Query::Diff(_) => {}
            }
            return Some(self);
        }
        Some(Self::At(at, Box::new(self)))
    }
}

impl From<context::Query> for Query {
    fn from(query: context::Query) -> Self {
        Self::Context(query)
    }
}

impl From<contracts::Query> for Query {
    fn from(query: contracts::Query) -> Self {
        Self::Contract(query)
    }
}

macro_rules! sums {
    ($($primitive:ident => $variant:ident),*) => {$(
        impl From<$primitive::Command> for Command {
            fn from(command: $primitive::Command) -> Self {
                Self::$variant(command)
            }
        }
        impl From<$primitive::Query> for Query {
            fn from(query: $primitive::Query) -> Self {
                Self::$variant(query)
            }
        }
    )*};
}
sums!(
    state => State, namespace => Namespace, agent => Agent, message => Message, topic => Topic,
    stream => Stream, rule => Rule, lock => Lock, user_event => UserEvent, reaction => Reaction,
    semaphore => Semaphore, barrier => Barrier, task => Task, join => Join, pipeline => Pipeline,
    checkpoint => Checkpoint, artifact => Artifact, secret => Secret, handoff => Handoff,
    workspace => Workspace
);
