//! A workspace from the point of view of one agent.

use std::sync::Arc;

use baton_core::history::At;
use baton_core::{
    AgentId, Answer, Command, IdempotencyKey, Mutation, Precondition, Query, Revision, Token,
    WorkspaceName, workspace,
};

use crate::carrier::{Caller, Carrier};
use crate::reply::FromReply;
use crate::{BuildingContext, CallBatch, Error, Session, State, Transaction, Watching};

/// A workspace from the point of view of one agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) carrier: Arc<dyn Carrier>,
    pub(crate) caller: Caller,
    token: Option<Token>,
    at: Option<At>,
}

/// Declares the handles that are nothing but a workspace, with the method that returns each.
macro_rules! handles {
    ($($(#[$doc:meta])* $method:ident -> $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name {
                pub(crate) workspace: Workspace,
            }
        )*

        impl Workspace {
            $(
                $(#[$doc])*
                pub fn $method(&self) -> $name {
                    $name { workspace: self.clone() }
                }
            )*
        }
    };
}

handles! {
    /// The namespaces of a workspace.
    namespaces -> Namespaces;
    /// The agents of a workspace.
    agents -> Agents;
    /// The contracts of a workspace: which agents depend on which keys.
    contracts -> Contracts;
    /// The messages of a workspace: mail and requests.
    messages -> Messages;
    /// The topics of a workspace. To receive what is published, watch `topics/NAME`.
    topics -> Topics;
    /// The streams of a workspace.
    streams -> Streams;
    /// The rules for hand-offs of a workspace.
    rules -> HandoffRules;
    /// The events of a workspace: emit them, query them, and handle them as they occur.
    events -> Events;
    /// The reactions of a workspace: commands and webhooks that events trigger.
    reactions -> Reactions;
    /// The tasks of a workspace.
    tasks -> Tasks;
    /// The spending of a workspace, and its budgets.
    spending -> Spending;
    /// The joins of a workspace.
    joins -> Joins;
    /// The checkpoints of a workspace. The agent that works on a task saves and restores its
    /// checkpoints [`under`](Workspace::under) the token of the lease.
    checkpoints -> Checkpoints;
    /// The artifacts of a workspace.
    artifacts -> Artifacts;
    /// The secrets of a workspace.
    secrets -> Secrets;
    /// The locks of a workspace.
    locks -> Locks;
    /// The reservations of a workspace: files that agents have reserved by path pattern.
    reservations -> Reservations;
    /// The semaphores of a workspace.
    semaphores -> Semaphores;
    /// The barriers of a workspace.
    barriers -> Barriers;
    /// The hand-offs of a workspace.
    handoffs -> Handoffs;
    /// The pipelines of a workspace.
    pipelines -> Pipelines;
}

impl Workspace {
    /// A workspace, used by the agent `anonymous`. Carriers offer this as a method.
    pub fn new(carrier: Arc<dyn Carrier>, name: &str) -> Result<Self, Error> {
        let caller = Caller {
            workspace: WorkspaceName::parse(name)?,
            agent: AgentId::parse("anonymous")?,
            idempotency_key: None,
            sees_tokens: false,
        };
        Ok(Self { carrier, caller, token: None, at: None })
    }

    /// The same workspace, used by another agent.
    pub fn as_agent(&self, agent: &str) -> Result<Self, Error> {
        let caller = Caller { agent: AgentId::parse(agent)?, ..self.caller.clone() };
        Ok(Self { caller, ..self.clone() })
    }

    /// The same workspace, for one command that can be repeated: a repetition under the same key
    /// has no effect and returns the first answer.
    pub fn once(&self, idempotency_key: &str) -> Result<Self, Error> {
        let key = IdempotencyKey::parse(idempotency_key)?;
        let caller = Caller { idempotency_key: Some(key), ..self.caller.clone() };
        Ok(Self { caller, ..self.clone() })
    }

    /// The same workspace under the token of a hold, a lease or a session: every change is refused
    /// once the token is stale.
    #[must_use]
    pub fn under(&self, token: Token) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    /// The same workspace at a revision or a time: queries about the present are answered for that
    /// point. Commands are still executed in the present.
    #[must_use]
    pub fn at(&self, moment: impl Into<At>) -> Self {
        Self { at: Some(moment.into()), ..self.clone() }
    }

    /// The point in history that queries are about, if it is not the present.
    pub(crate) fn moment(&self) -> Option<At> {
        self.at
    }

    /// The token, for commands that have a field for it.
    pub(crate) fn token(&self) -> Option<Token> {
        self.token
    }

    /// The name of the workspace.
    pub fn name(&self) -> &WorkspaceName {
        &self.caller.workspace
    }

    /// The agent that uses the workspace.
    pub fn agent(&self) -> &AgentId {
        &self.caller.agent
    }

    /// The shared state in one namespace.
    pub fn state(&self, namespace: &str) -> State {
        State::new(self.clone(), namespace)
    }

    /// The state of one conversation of a user with an application.
    pub fn session(&self, app: &str, user: &str, session: &str) -> Result<Session, Error> {
        Ok(Session::new(self.clone(), app, user, session)?)
    }

    /// The context of the agent: what it should know, as one text for a model.
    pub fn context(&self) -> BuildingContext {
        BuildingContext::of(self)
    }

    /// A transaction: several commands, all or none.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.clone())
    }

    /// Several calls that are sent together, each of which is executed independently.
    ///
    /// ```no_run
    /// # async fn example(lab: baton_client::Workspace) -> Result<(), baton_client::Error> {
    /// use baton_client::core::{TaskType, task, workspace};
    ///
    /// let create = |name: &str| -> Result<_, baton_client::Error> {
    ///     Ok(task::Command::Create(Box::new(task::Create::new(TaskType::parse(name)?))))
    /// };
    /// let batch = lab.batch().command(create("draft")?).command(create("review")?);
    /// for outcome in batch.query(workspace::Query::Get).send().await? {
    ///     println!("{:?}", outcome?.reply);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch(&self) -> CallBatch {
        CallBatch::new(self.clone())
    }

    /// Watches every event whose subject matches a pattern such as `state/shared/**`, from now on.
    pub fn watch(&self, pattern: &str) -> Watching {
        Watching::of(self, pattern)
    }

    /// Executes a command.
    ///
    /// The answer arrives when the command is durable. If the future is dropped before, the command
    /// may have been executed or not; [`once`](Self::once) makes it safe to repeat.
    pub async fn execute(&self, command: impl Into<Command>) -> Result<Answer, Error> {
        self.mutate(Mutation::Command(command.into())).await
    }

    /// Executes a command that is answered with what the caller cannot know, such as the id and the
    /// version, and not with the whole record: see [`Minimal`](baton_core::Minimal). A reply
    /// without a minimal form is returned in full.
    pub async fn execute_minimal(&self, command: impl Into<Command>) -> Result<Answer, Error> {
        self.mutate(Mutation::Command(command.into()).into_minimal()).await
    }

    /// Executes a command or a transaction, as [`execute`](Self::execute) does.
    pub async fn mutate(&self, mutation: Mutation) -> Result<Answer, Error> {
        self.carrier.mutate(&self.caller, self.fenced(mutation)).await
    }

    /// The mutation with the token, if there is one. A command with its own token keeps it.
    pub(crate) fn fenced(&self, mutation: Mutation) -> Mutation {
        let Some(token) = self.token else { return mutation };
        match mutation {
            Mutation::Command(command) if command.brings_token() => Mutation::Command(command),
            Mutation::Command(command) => Mutation::Fenced { token, command: Box::new(command) },
            Mutation::Fenced { token, command } => Mutation::Fenced { token, command },
            Mutation::Transaction { mut require, commands, optional } => {
                require.insert(0, Precondition::Token(token));
                Mutation::Transaction { require, commands, optional }
            }
            Mutation::Minimal(mutation) => self.fenced(*mutation).into_minimal(),
        }
    }

    /// Answers a query.
    pub async fn ask(&self, query: impl Into<Query>) -> Result<Answer, Error> {
        self.carrier.ask(&self.caller, self.at_its_point(query.into())).await
    }

    /// The query at the point in history that this workspace shows, if it shows one.
    pub(crate) fn at_its_point(&self, query: Query) -> Query {
        // Queries about the past have their own point in history.
        match self.at {
            Some(at) if !query.is_about_the_past() => query.at(at).expect("it is of the present"),
            Some(_) | None => query,
        }
    }

    /// The revision of the last change.
    pub async fn revision(&self) -> Result<Revision, Error> {
        Ok(self.ask(workspace::Query::Get).await?.revision)
    }

    /// Executes a command, and returns what its reply contains.
    pub(crate) async fn run<T: FromReply>(&self, command: impl Into<Command>) -> Result<T, Error> {
        of(self.execute(command).await?)
    }

    /// Answers a query, and returns what its reply contains.
    pub(crate) async fn query<T: FromReply>(&self, query: impl Into<Query>) -> Result<T, Error> {
        of(self.ask(query).await?)
    }

    /// Reads a list page by page: all of it, or up to the limit. `query` is given the cursor of
    /// each page; the first has none.
    pub(crate) async fn pages<T, K, Q: Into<Query>>(
        &self,
        limit: Option<u64>,
        mut query: impl FnMut(Option<K>) -> Q,
    ) -> Result<Vec<T>, Error>
    where
        (Vec<T>, Option<K>): FromReply,
    {
        let max = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next): (Vec<T>, Option<K>) = self.query(query(cursor)).await?;
            all.extend(page);
            if next.is_none() || all.len() >= max {
                all.truncate(max);
                return Ok(all);
            }
            cursor = next;
        }
    }
}

/// The content of a reply. A peer may send anything, so a reply of another kind is an error.
pub(crate) fn of<T: FromReply>(answer: Answer) -> Result<T, Error> {
    T::from_reply(answer.reply).map_err(|reply| Error::unexpected(&reply))
}
