//! What carries commands to where they are decided, and answers back.

use std::fmt::Debug;
use std::future::Future;

use baton_core::names::NameError;
use baton_core::{
    AgentId, Answer, Entry, IdempotencyKey, Kind, Mutation, Query, Rejection, Reply, WorkspaceName,
    wire,
};

/// Where a request is meant to go, and who makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Which workspace.
    pub workspace: WorkspaceName,
    /// Who acts.
    pub agent: AgentId,
    /// The caller's own name for the next command: under the same key it has no second effect.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// What carries commands, questions and watches: an engine in this process, or a connection.
///
/// 1. An answer that is given is durable.
/// 2. If an error does not say [`is_unknown`](Failure::is_unknown), nothing was done.
/// 3. A future that is dropped may leave a command carried out or not; a question never leaves a
///    trace.
pub trait Carrier: Clone + Debug + Send + Sync + 'static {
    /// Why a call did not give what was asked for.
    type Error: Failure;
    /// The events of a workspace, in order, without gap or duplicate.
    type Watch: Send + 'static;

    /// Carries out a command or a transaction.
    fn mutate(
        &self,
        caller: &Caller,
        mutation: Mutation,
    ) -> impl Future<Output = Result<Answer, Self::Error>> + Send;

    /// Answers a question.
    fn ask(
        &self,
        caller: &Caller,
        query: Query,
    ) -> impl Future<Output = Result<Answer, Self::Error>> + Send;

    /// Begins a watch.
    fn watch(
        &self,
        caller: &Caller,
        request: wire::Watch,
    ) -> impl Future<Output = Result<Self::Watch, Self::Error>> + Send;
}

/// Why a call did not give what was asked for, in the words that all carriers share.
pub trait Failure: std::error::Error + From<Rejection> + From<NameError> + Send + 'static {
    /// Stable across releases; documented in `docs/errors.md`.
    fn code(&self) -> &str;

    /// What the caller should do about it.
    fn kind(&self) -> Kind;

    /// What to do next, as a sentence.
    fn hint(&self) -> &str;

    /// Whether the request may have been carried out although it failed. Everything else that
    /// fails was not.
    fn is_unknown(&self) -> bool;

    /// The entry that won, or none if it was removed, when this is a version conflict; itself when
    /// it is something else.
    fn into_winner(self) -> Result<Option<Entry>, Self>;

    /// What the rules could not have answered: the reply to a command is of its own kind.
    fn odd(reply: &Reply) -> Self;
}
