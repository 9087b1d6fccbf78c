//! Every way in which the rules can say no, as a sum over the primitives.

use serde::Serialize;
use thiserror::Error;

use crate::kind::Kind;
use crate::names::{IdempotencyKey, NameError};
use crate::numbers::{Revision, Token};
use crate::reply::Reply;
use crate::state::Entry;
use crate::transaction::Precondition;
use crate::{
    agent, artifact, barrier, checkpoint, context, contracts, handoff, join, lock, message,
    namespace, pipeline, reaction, rule, secret, semaphore, state, stream, task, topic, user_event,
    workspace,
};

/// The rules said no. Refusals are answers, not failures: nothing was written.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub enum Rejection {
    /// By shared state.
    #[error(transparent)]
    State(#[from] state::Rejection),
    /// By namespaces.
    #[error(transparent)]
    Namespace(#[from] namespace::Rejection),
    /// By agents.
    #[error(transparent)]
    Agent(#[from] agent::Rejection),
    /// By messages.
    #[error(transparent)]
    Message(#[from] message::Rejection),
    /// By topics.
    #[error(transparent)]
    Topic(#[from] topic::Rejection),
    /// By streams.
    #[error(transparent)]
    Stream(#[from] stream::Rejection),
    /// By rules for hand-offs.
    #[error(transparent)]
    Rule(#[from] rule::Rejection),
    /// By the event bus.
    #[error(transparent)]
    Bus(#[from] user_event::Rejection),
    /// By reactions.
    #[error(transparent)]
    Reaction(#[from] reaction::Rejection),
    /// By contracts.
    #[error(transparent)]
    Contract(#[from] contracts::Rejection),
    /// By context.
    #[error(transparent)]
    Context(#[from] context::Rejection),
    /// By locks.
    #[error(transparent)]
    Lock(#[from] lock::Rejection),
    /// By semaphores.
    #[error(transparent)]
    Semaphore(#[from] semaphore::Rejection),
    /// By barriers.
    #[error(transparent)]
    Barrier(#[from] barrier::Rejection),
    /// By joins.
    #[error(transparent)]
    Join(#[from] join::Rejection),
    /// By checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Rejection),
    /// By artifacts.
    #[error(transparent)]
    Artifact(#[from] artifact::Rejection),
    /// By secrets.
    #[error(transparent)]
    Secret(#[from] secret::Rejection),
    /// By hand-offs.
    #[error(transparent)]
    Handoff(#[from] handoff::Rejection),
    /// By tasks.
    #[error(transparent)]
    Task(#[from] task::Rejection),
    /// By pipelines.
    #[error(transparent)]
    Pipeline(#[from] pipeline::Rejection),
    /// By the workspace itself.
    #[error(transparent)]
    Workspace(#[from] workspace::Rejection),
    /// One command of a transaction was refused, so none was done.
    #[error("command {index} of the transaction was refused: {cause}")]
    InTransaction {
        /// Which command, counted from 0.
        index: usize,
        /// The cause's own code.
        cause_code: &'static str,
        /// Why.
        cause: Box<Rejection>,
    },
    /// A precondition does not hold.
    #[error("precondition {index} of the transaction does not hold")]
    PreconditionFailed {
        /// Which, counted from 0.
        index: usize,
        /// The precondition.
        precondition: Box<Precondition>,
        /// The entry that is there, if it is about one.
        entry: Option<Box<Entry>>,
        /// The workspace's revision.
        revision: Revision,
    },
    /// Nothing to do.
    #[error("the transaction has no commands")]
    EmptyTransaction {},
    /// Whoever acts under the token must not any more.
    #[error("no lease, hold, permit or session has token {given} any more")]
    StaleToken {
        /// What was given.
        given: Token,
    },
    /// What is decided together cannot wait.
    #[error("a command of a transaction cannot wait")]
    CannotWait {},
    /// More than one commit may hold.
    #[error("the commit would have {given} {what}, at most {max} are allowed")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        given: usize,
        /// How much there may be.
        max: usize,
    },
    /// The workspace would have more keys than it may.
    #[error("the workspace would have {given} entries, its quota is {max}")]
    TooManyEntries {
        /// How many it would have.
        given: u64,
        /// How many it may have.
        max: u64,
    },
    /// The workspace would hold more than it may.
    #[error("the workspace would hold {given} bytes, its quota is {max}")]
    TooManyBytes {
        /// How many it would hold.
        given: u64,
        /// How many it may hold.
        max: u64,
    },
    /// Policies kept causing each other.
    #[error("policies went on for more than {max} rounds")]
    PolicyRounds {
        /// The limit.
        max: usize,
    },
    /// The idempotency key was used for something else.
    #[error("idempotency key `{key}` was used before for another request")]
    KeyReused {
        /// Which.
        key: IdempotencyKey,
    },
    /// A name is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A value is not JSON, or nested too deep.
    #[error("the value is not acceptable JSON: {0}")]
    Json(#[from] crate::json::JsonError),
    /// A pattern is not valid.
    #[error(transparent)]
    Pattern(#[from] crate::pattern::PatternError),
    /// A schema is not valid.
    #[error(transparent)]
    SchemaText(#[from] crate::schema::SchemaError),
}

impl Rejection {
    /// What is kept of it for whoever repeats the request, if it told of an effect.
    pub(crate) fn kept(&self) -> Option<Reply> {
        let Self::Message(message::Rejection::HandlerFailed(failed)) = self else { return None };
        Some(Reply::Message(message::Reply::Failed(failed.clone())))
    }

    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::State(rejection) => rejection.code(),
            Self::Namespace(rejection) => rejection.code(),
            Self::Agent(rejection) => rejection.code(),
            Self::Message(rejection) => rejection.code(),
            Self::Topic(rejection) => rejection.code(),
            Self::Stream(rejection) => rejection.code(),
            Self::Rule(rejection) => rejection.code(),
            Self::Bus(rejection) => rejection.code(),
            Self::Reaction(rejection) => rejection.code(),
            Self::Contract(rejection) => rejection.code(),
            Self::Context(rejection) => rejection.code(),
            Self::Lock(rejection) => rejection.code(),
            Self::Semaphore(rejection) => rejection.code(),
            Self::Barrier(rejection) => rejection.code(),
            Self::Join(rejection) => rejection.code(),
            Self::Checkpoint(rejection) => rejection.code(),
            Self::Artifact(rejection) => rejection.code(),
            Self::Secret(rejection) => rejection.code(),
            Self::Handoff(rejection) => rejection.code(),
            Self::Task(rejection) => rejection.code(),
            Self::Pipeline(rejection) => rejection.code(),
            Self::Workspace(rejection) => rejection.code(),
            Self::InTransaction { .. } => "transaction.command_refused",
            Self::PreconditionFailed { .. } => "transaction.precondition_failed",
            Self::EmptyTransaction {} => "transaction.empty",
            Self::StaleToken { .. } => "request.stale_token",
            Self::CannotWait {} => "transaction.cannot_wait",
            Self::TooLarge { .. } => "transaction.too_large",
            Self::TooManyEntries { .. } => "quota.entries",
            Self::TooManyBytes { .. } => "quota.stored_bytes",
            Self::PolicyRounds { .. } => "policy.too_many_rounds",
            Self::KeyReused { .. } => "idempotency.key_reused",
            Self::Name(_) => "request.bad_name",
            Self::Json(_) => "request.bad_json",
            Self::Pattern(_) => "request.bad_pattern",
            Self::SchemaText(_) => "request.bad_schema",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::State(rejection) => rejection.kind(),
            Self::Namespace(rejection) => rejection.kind(),
            Self::Agent(rejection) => rejection.kind(),
            Self::Message(rejection) => rejection.kind(),
            Self::Topic(rejection) => rejection.kind(),
            Self::Stream(rejection) => rejection.kind(),
            Self::Rule(rejection) => rejection.kind(),
            Self::Bus(rejection) => rejection.kind(),
            Self::Reaction(rejection) => rejection.kind(),
            Self::Contract(rejection) => rejection.kind(),
            Self::Context(rejection) => rejection.kind(),
            Self::Lock(rejection) => rejection.kind(),
            Self::Semaphore(rejection) => rejection.kind(),
            Self::Barrier(rejection) => rejection.kind(),
            Self::Join(rejection) => rejection.kind(),
            Self::Checkpoint(rejection) => rejection.kind(),
            Self::Artifact(rejection) => rejection.kind(),
            Self::Secret(rejection) => rejection.kind(),
            Self::Handoff(rejection) => rejection.kind(),
            Self::Task(rejection) => rejection.kind(),
            Self::Pipeline(rejection) => rejection.kind(),
            Self::Workspace(rejection) => rejection.kind(),
            Self::InTransaction { cause, .. } => cause.kind(),
            Self::PreconditionFailed { .. } | Self::KeyReused { .. } => Kind::Conflict,
            Self::EmptyTransaction {}
            | Self::CannotWait {}
            | Self::Name(_)
            | Self::Json(_)
            | Self::Pattern(_)
            | Self::SchemaText(_) => Kind::Invalid,
            Self::StaleToken { .. } => Kind::Stale,
            Self::TooLarge { .. } => Kind::TooLarge,
            Self::TooManyEntries { .. } | Self::TooManyBytes { .. } | Self::PolicyRounds { .. } => {
                Kind::Exhausted
            }
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::State(rejection) => rejection.hint(),
            Self::Namespace(rejection) => rejection.hint(),
            Self::Agent(rejection) => rejection.hint(),
            Self::Message(rejection) => rejection.hint(),
            Self::Topic(rejection) => rejection.hint(),
            Self::Stream(rejection) => rejection.hint(),
            Self::Rule(rejection) => rejection.hint(),
            Self::Bus(rejection) => rejection.hint(),
            Self::Reaction(rejection) => rejection.hint(),
            Self::Contract(rejection) => rejection.hint(),
            Self::Context(rejection) => rejection.hint(),
            Self::Lock(rejection) => rejection.hint(),
            Self::Semaphore(rejection) => rejection.hint(),
            Self::Barrier(rejection) => rejection.hint(),
            Self::Join(rejection) => rejection.hint(),
            Self::Checkpoint(rejection) => rejection.hint(),
            Self::Artifact(rejection) => rejection.hint(),
            Self::Secret(rejection) => rejection.hint(),
            Self::Handoff(rejection) => rejection.hint(),
            Self::Task(rejection) => rejection.hint(),
            Self::Pipeline(rejection) => rejection.hint(),
            Self::Workspace(rejection) => rejection.hint(),
            Self::InTransaction { cause, .. } => cause.hint(),
            Self::PreconditionFailed { .. } => "read again, decide again, then repeat",
            Self::EmptyTransaction {} => "send at least one command",
            Self::StaleToken { .. } => {
                "stop what was begun under it: it is over, or another has it"
            }
            Self::CannotWait {} => "leave out wait_ms, or send the command by itself",
            Self::TooLarge { .. } => "split it into several commits",
            Self::TooManyEntries { .. } => {
                "delete entries that nobody needs, or ask whoever runs the server for more room"
            }
            Self::TooManyBytes { .. } => {
                "delete what nobody needs, artifacts first, or ask whoever runs the server for more"
            }
            Self::PolicyRounds { .. } => "look for policies or reactions that cause each other",
            Self::KeyReused { .. } => "use a fresh key for every new request",
            Self::Name(_) => "choose a name within the rules of the detail",
            Self::Json(_) => "send one JSON value, nested at most 64 deep",
            Self::Pattern(_) => "use `*` within a segment and `**` for any rest",
            Self::SchemaText(_) => "send a JSON Schema without references to elsewhere",
        }
    }
}
