//! All requests, as sums over the primitives.

use serde::{Deserialize, Serialize};

use super::list::primitives;
use crate::history::At;
use crate::names::{AgentId, IdempotencyKey, Traceparent};
use crate::numbers::Token;
use crate::transaction::Precondition;
use crate::wire::{Operation, Wanted};
use crate::{agent, context, message, primitive, spend, state, task};

macro_rules! sums {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// A command: a request that may change something.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Command {
            $(
                $(#[$doc])*
                #[serde(rename = $wire)]
                $variant(crate::$module::Command),
            )*
        }

        /// A query: a request that changes nothing.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum Query {
            $(
                $(#[$doc])*
                #[serde(rename = $wire)]
                $variant(crate::$module::Query),
            )*
            /// About context.
            Context(context::Query),
            /// Any query about the present, asked about the past. It has no name: on the wire it is
            /// the field `at` of the query.
            #[serde(skip)]
            At(At, Box<Query>),
        }

        impl Command {
            /// Its row; none if the engine or the server sends it.
            pub fn operation(&self) -> Option<&'static Operation> {
                match self {
                    $(Self::$variant(command) => {
                        crate::$module::operations::operation(Wanted::Command(command))
                    })*
                }
            }

            fn properties(&self) -> &dyn primitive::Command {
                match self {
                    $(Self::$variant(command) => command,)*
                }
            }

            /// Its trace context, if it can carry one.
            pub(crate) fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
                match self {
                    $(Self::$variant(command) => primitive::Command::traceparent(command),)*
                }
            }
        }

        impl Query {
            /// Its row, whether it is about the present or the past.
            pub fn operation(&self) -> Option<&'static Operation> {
                match self {
                    $(Self::$variant(query) => {
                        crate::$module::operations::operation(Wanted::Query(query))
                    })*
                    Self::Context(query) => context::operations::operation(Wanted::Query(query)),
                    Self::At(_, query) => query.operation(),
                }
            }
        }

        $(
            impl From<crate::$module::Command> for Command {
                fn from(command: crate::$module::Command) -> Self {
                    Self::$variant(command)
                }
            }

            impl From<crate::$module::Query> for Query {
                fn from(query: crate::$module::Query) -> Self {
                    Self::$variant(query)
                }
            }
        )*
    };
}
primitives!(sums);

/// The unit that is executed atomically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutation {
    /// One command.
    Command(Command),
    /// One command that is rejected if the token is stale.
    Fenced {
        /// The token of a lease, a hold, a permit or a session.
        token: Token,
        /// The command.
        command: Box<Command>,
    },
    /// Several commands with preconditions, executed atomically.
    Transaction {
        /// The preconditions.
        require: Vec<Precondition>,
        /// The commands, in order.
        commands: Vec<Command>,
        /// The indexes of commands that may have no effect.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        optional: Vec<usize>,
    },
    /// Any of these, answered with the [`Minimal`](crate::Minimal) form of its reply.
    Minimal(Box<Mutation>),
}

impl Mutation {
    /// The same, answered with the minimal form of its reply.
    #[must_use]
    pub fn into_minimal(self) -> Self {
        match self {
            Self::Minimal(_) => self,
            Self::Command(_) | Self::Fenced { .. } | Self::Transaction { .. } => {
                Self::Minimal(Box::new(self))
            }
        }
    }

    /// Its commands, in order.
    pub fn commands(&self) -> &[Command] {
        match self {
            Self::Command(command) => std::slice::from_ref(command),
            Self::Fenced { command, .. } => std::slice::from_ref(command),
            Self::Transaction { commands, .. } => commands,
            Self::Minimal(mutation) => mutation.commands(),
        }
    }

    /// The mutation to execute, however it is answered.
    pub fn executed(&self) -> &Self {
        match self {
            Self::Minimal(mutation) => mutation.executed(),
            Self::Command(_) | Self::Fenced { .. } | Self::Transaction { .. } => self,
        }
    }
}

/// A mutation with the idempotency key of its caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The mutation to execute.
    pub mutation: Mutation,
    /// Repeating the request with the same key has no second effect.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self { mutation: Mutation::Command(command), idempotency_key: None }
    }
}

impl Command {
    /// How long it may wait, if it can wait.
    pub fn wait_ms(&self) -> Option<u64> {
        self.properties().wait_ms().filter(|wait_ms| *wait_ms > 0)
    }

    /// Whether it has an effect before it waits: a request or a reply is sent at once, and only
    /// what comes next is waited for.
    pub fn acts_before_it_waits(&self) -> bool {
        matches!(self, Self::Message(message::Command::Request(_) | message::Command::Reply(_)))
    }

    /// Whether it has a token field, which its own rules check.
    pub fn brings_token(&self) -> bool {
        let named = || self.operation().is_some_and(|operation| operation.names_token);
        self.properties().has_optional_token().unwrap_or_else(named)
    }

    /// The token of the caller's lease, hold or permit, if it names one.
    pub fn token(&self) -> Option<Token> {
        self.properties().token()
    }

    /// The agent that it names as its actor or beneficiary.
    pub(crate) fn named_agent(&self) -> Option<&AgentId> {
        self.properties().named_agent()
    }
}

impl Query {
    /// Whether answering it needs more than the current state.
    pub fn is_about_the_past(&self) -> bool {
        match self {
            Self::At(..) => true,
            Self::State(query) if query.names_revision() => true,
            query => query.operation().is_some_and(|operation| operation.is_about_the_past),
        }
    }

    /// The agent that its field `agent` names. On some interfaces that is also the agent that asks,
    /// so it may be a question about an agent that is gone.
    pub fn about_agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent::Query::Get { agent }) => Some(agent),
            Self::Message(message::Query::List(list)) => list.agent.as_ref(),
            Self::Context(context::Query::Build(build)) => Some(&build.agent),
            Self::Task(task::Query::List(list)) => list.agent.as_ref(),
            Self::Spend(spend::Query::Get { agent, .. }) => agent.as_ref(),
            Self::Spend(spend::Query::List(list)) => list.agent.as_ref(),
            Self::At(_, query) => query.about_agent(),
            Self::State(_)
            | Self::Namespace(_)
            | Self::Agent(agent::Query::List { .. })
            | Self::Message(message::Query::Get { .. } | message::Query::Handlers { .. })
            | Self::Contract(_)
            | Self::Topic(_)
            | Self::Stream(_)
            | Self::Rule(_)
            | Self::UserEvent(_)
            | Self::Reaction(_)
            | Self::Lock(_)
            | Self::Semaphore(_)
            | Self::Barrier(_)
            | Self::Task(
                task::Query::Get { .. }
                | task::Query::Stats { .. }
                | task::Query::Why { .. }
                | task::Query::History { .. },
            )
            | Self::Join(_)
            | Self::Pipeline(_)
            | Self::Checkpoint(_)
            | Self::Artifact(_)
            | Self::Secret(_)
            | Self::Handoff(_)
            | Self::Wait(_)
            | Self::Workspace(_) => None,
        }
    }

    /// The same query about the past; none if it is always about the past.
    pub fn at(mut self, at: At) -> Option<Self> {
        // Its cursor contains a revision, whatever a time would mean by now.
        let is_pinned = matches!(
            &self,
            Self::State(state::Query::Snapshot(it)) if it.at.is_none() && it.cursor.is_some()
        );
        if is_pinned && matches!(at, At::Time(_)) {
            return Some(self);
        }
        if self.is_about_the_past() && !is_pinned {
            return None;
        }
        if let (Self::State(query), At::Revision(revision)) = (&mut self, at) {
            // These have an index, which makes them faster.
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
