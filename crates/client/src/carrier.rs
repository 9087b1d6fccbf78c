//! The carrier of calls to an engine: the engine in this process, or a connection.

use std::fmt::Debug;
use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;

use baton_core::access::Viewer;
use baton_core::artifact::Artifact;
use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::workspace::Forked;
use baton_core::{
    AgentId, Answer, ArtifactId, ContentName, IdempotencyKey, MediaType, Mutation, Query, SecretId,
    WorkspaceName, wire,
};

use crate::{Error, Watch};

/// The workspace that a call is for, and the agent that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// The agent.
    pub agent: AgentId,
    /// The idempotency key of the next command: a repetition under the same key has no effect.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether the engine shows it the fencing tokens of other agents. A server decides that by the
    /// access token, whatever this field is.
    pub sees_tokens: bool,
}

impl Caller {
    /// The agent that an answer is for.
    pub fn viewer(&self) -> Viewer<'_> {
        Viewer { agent: &self.agent, sees_tokens: self.sees_tokens }
    }
}

/// Options of an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// A name for people.
    pub name: Option<ContentName>,
    /// The media type.
    pub media_type: Option<MediaType>,
    /// How long the artifact is kept while nothing refers to it.
    pub keep_ms: Option<u64>,
    /// The id that the artifact must have.
    pub expected: Option<ArtifactId>,
}

/// Options of a new secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretOptions {
    /// A name for people.
    pub name: Option<ContentName>,
    /// How long the secret is kept.
    pub ttl_ms: Option<u64>,
}

/// The result of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredArtifact {
    /// The artifact.
    pub artifact: Artifact,
    /// Whether the workspace had it before.
    pub known: bool,
}

/// A call of a batch.
#[derive(Clone, Debug)]
pub enum BatchedCall {
    /// A command or a transaction.
    Mutation(Mutation),
    /// A query.
    Query(Query),
}

/// A call that is under way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Carries commands, queries, watches and bytes. All handles share one, behind an `Arc`.
///
/// 1. The content of an answer is durable.
/// 2. If a call fails, nothing was done, unless the error [`is_unknown`](Error::is_unknown).
/// 3. If a future is dropped, its command may have been executed or not. A query has no effect.
/// 4. Uploads and downloads hold one piece in memory, whatever their size.
pub trait Carrier: Debug + Send + Sync + 'static {
    /// Executes a command or a transaction.
    fn mutate<'a>(&'a self, caller: &'a Caller, mutation: Mutation) -> Pending<'a, Answer>;

    /// Answers a query.
    fn ask<'a>(&'a self, caller: &'a Caller, query: Query) -> Pending<'a, Answer>;

    /// Executes calls in this order, each independently, and returns the outcome of each. One that
    /// is refused does not stop the next.
    fn batch<'a>(
        &'a self,
        caller: &'a Caller,
        calls: Vec<BatchedCall>,
    ) -> Pending<'a, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(calls.len());
            for call in calls {
                outcomes.push(match call {
                    BatchedCall::Mutation(mutation) => self.mutate(caller, mutation).await,
                    BatchedCall::Query(query) => self.ask(caller, query).await,
                });
            }
            Ok(outcomes)
        })
    }

    /// Starts a watch.
    fn watch<'a>(&'a self, caller: &'a Caller, request: wire::Watch) -> Pending<'a, Watch>;

    /// Stores everything that a reader returns as an artifact.
    fn put<'a>(
        &'a self,
        caller: &'a Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> Pending<'a, StoredArtifact>;

    /// Starts to read an artifact at an offset.
    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        artifact: &'a ArtifactId,
        offset: u64,
    ) -> Pending<'a, Box<dyn Content>>;

    /// Stores a secret.
    fn put_secret<'a>(
        &'a self,
        caller: &'a Caller,
        options: SecretOptions,
        value: Vec<u8>,
    ) -> Pending<'a, Secret>;

    /// Returns the value of a secret, after the access was recorded.
    fn reveal<'a>(&'a self, caller: &'a Caller, secret: &'a SecretId) -> Pending<'a, Vec<u8>>;

    /// Writes the workspace as one file, in its current state or at a point in history.
    fn export<'a>(
        &'a self,
        caller: &'a Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Pending<'a, ()>;

    /// Creates the caller's workspace, which must not exist, from such a file.
    fn import<'a>(&'a self, caller: &'a Caller, from: Box<dyn Read + Send>) -> Pending<'a, Forked>;
}

/// The bytes of an artifact, piece by piece.
pub trait Content: Send {
    /// The next piece; none at the end.
    fn next(&mut self) -> Pending<'_, Option<Vec<u8>>>;
}
