//! A workspace as one agent sees it.

use baton_core::history::At;
use baton_core::{
    AgentId, Answer, Command, IdempotencyKey, Mutation, Precondition, Query, Revision, Token,
    WorkspaceName, workspace,
};

use crate::carrier::{Caller, Carrier};
use crate::{
    Agents, Artifacts, Barriers, BuildingContext, Checkpoints, Contracts, Events, HandoffRules,
    Handoffs, Joins, Locks, Messages, Namespaces, Pipelines, Reactions, Secrets, Semaphores,
    Session, State, Streams, Tasks, Topics, Transaction, Watching,
};

/// A workspace as one agent sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workspace<C> {
    pub(crate) carrier: C,
    pub(crate) caller: Caller,
    token: Option<Token>,
    at: Option<At>,
}

impl<C: Carrier> Workspace<C> {
    /// A workspace, with an agent of no particular name acting. Carriers offer this as a method.
    pub fn new(carrier: C, name: &str) -> Result<Self, C::Error> {
        let caller = Caller {
            workspace: WorkspaceName::parse(name)?,
            agent: AgentId::parse("anonymous")?,
            idempotency_key: None,
        };
        Ok(Self { carrier, caller, token: None, at: None })
    }

    /// The same workspace, with another agent acting.
    pub fn as_agent(&self, agent: &str) -> Result<Self, C::Error> {
        let caller = Caller { agent: AgentId::parse(agent)?, ..self.caller.clone() };
        Ok(Self { caller, ..self.clone() })
    }

    /// The same workspace, for one request that may be repeated: under the same key it has no
    /// second effect and gets the first answer.
    pub fn once(&self, idempotency_key: &str) -> Result<Self, C::Error> {
        let key = IdempotencyKey::parse(idempotency_key)?;
        let caller = Caller { idempotency_key: Some(key), ..self.caller.clone() };
        Ok(Self { caller, ..self.clone() })
    }

    /// The same workspace, under a token that a hold, a lease or a session came with: every change
    /// is refused once the token is stale, because another has taken over.
    #[must_use]
    pub fn under(&self, token: Token) -> Self {
        Self { token: Some(token), ..self.clone() }
    }

    /// The same workspace as it was at a revision or a time: every question about the present is
    /// asked about then. Changes are made in the present all the same.
    #[must_use]
    pub fn at(&self, moment: impl Into<At>) -> Self {
        Self { at: Some(moment.into()), ..self.clone() }
    }

    /// The moment that questions are asked about, if it is not the present.
    pub(crate) fn moment(&self) -> Option<At> {
        self.at
    }

    /// What it is under, for commands that have a token of their own.
    pub(crate) fn token(&self) -> Option<Token> {
        self.token
    }

    /// Its name.
    pub fn name(&self) -> &WorkspaceName {
        &self.caller.workspace
    }

    /// Who acts.
    pub fn agent(&self) -> &AgentId {
        &self.caller.agent
    }

    /// Shared state in one namespace.
    pub fn state(&self, namespace: &str) -> State<C> {
        State::new(self.clone(), namespace)
    }

    /// The state of one conversation of a user with an application.
    pub fn session(&self, app: &str, user: &str, session: &str) -> Result<Session<C>, C::Error> {
        Ok(Session::new(self.clone(), app, user, session)?)
    }

    /// The namespaces.
    pub fn namespaces(&self) -> Namespaces<C> {
        Namespaces::new(self.clone())
    }

    /// The agents.
    pub fn agents(&self) -> Agents<C> {
        Agents::new(self.clone())
    }

    /// Who depends on which keys.
    pub fn contracts(&self) -> Contracts<C> {
        Contracts::new(self.clone())
    }

    /// The messages: mail and requests.
    pub fn messages(&self) -> Messages<C> {
        Messages::new(self.clone())
    }

    /// The topics.
    pub fn topics(&self) -> Topics<C> {
        Topics::new(self.clone())
    }

    /// The streams.
    pub fn streams(&self) -> Streams<C> {
        Streams::new(self.clone())
    }

    /// The rules for hand-offs.
    pub fn rules(&self) -> HandoffRules<C> {
        HandoffRules::new(self.clone())
    }

    /// What the agent that acts should know, as one text for a model.
    pub fn context(&self) -> BuildingContext<C> {
        BuildingContext::new(self.clone())
    }

    /// What happens: saying it, asking about it, and being told.
    pub fn events(&self) -> Events<C> {
        Events::new(self.clone())
    }

    /// What happens because something happened.
    pub fn reactions(&self) -> Reactions<C> {
        Reactions::new(self.clone())
    }

    /// The tasks.
    pub fn tasks(&self) -> Tasks<C> {
        Tasks::new(self.clone())
    }

    /// The joins.
    pub fn joins(&self) -> Joins<C> {
        Joins::new(self.clone())
    }

    /// The checkpoints.
    pub fn checkpoints(&self) -> Checkpoints<C> {
        Checkpoints::new(self.clone())
    }

    /// The artifacts.
    pub fn artifacts(&self) -> Artifacts<C> {
        Artifacts::new(self.clone())
    }

    /// The secrets.
    pub fn secrets(&self) -> Secrets<C> {
        Secrets::new(self.clone())
    }

    /// The locks.
    pub fn locks(&self) -> Locks<C> {
        Locks::new(self.clone())
    }

    /// The semaphores.
    pub fn semaphores(&self) -> Semaphores<C> {
        Semaphores::new(self.clone())
    }

    /// The barriers.
    pub fn barriers(&self) -> Barriers<C> {
        Barriers::new(self.clone())
    }

    /// The hand-offs.
    pub fn handoffs(&self) -> Handoffs<C> {
        Handoffs::new(self.clone())
    }

    /// The pipelines.
    pub fn pipelines(&self) -> Pipelines<C> {
        Pipelines::new(self.clone())
    }

    /// Several commands, all or nothing.
    pub fn transaction(&self) -> Transaction<C> {
        Transaction::new(self.clone())
    }

    /// Every event whose subject matches a pattern such as `state/shared/**`, from now on.
    pub fn watch(&self, pattern: &str) -> Watching<C> {
        Watching::new(self.clone(), pattern)
    }

    /// Carries out one command.
    ///
    /// The answer comes when it is durable. If the future is dropped before, the command may or may
    /// not have been carried out; [`once`](Self::once) makes repeating it safe.
    pub async fn execute(&self, command: impl Into<Command>) -> Result<Answer, C::Error> {
        self.mutate(Mutation::Command(command.into())).await
    }

    /// Carries out one command or one transaction, as [`execute`](Self::execute) does.
    pub async fn mutate(&self, mutation: Mutation) -> Result<Answer, C::Error> {
        self.carrier.mutate(&self.caller, self.fenced(mutation)).await
    }

    /// The mutation under the token, if there is one. One that brings a token of its own keeps it.
    fn fenced(&self, mutation: Mutation) -> Mutation {
        let Some(token) = self.token else { return mutation };
        match mutation {
            Mutation::Command(command) if command.brings_token() => Mutation::Command(command),
            Mutation::Command(command) => Mutation::Fenced { token, command: Box::new(command) },
            Mutation::Fenced { token, command } => Mutation::Fenced { token, command },
            Mutation::Transaction { mut require, commands } => {
                require.insert(0, Precondition::Token(token));
                Mutation::Transaction { require, commands }
            }
        }
    }

    /// Answers one question.
    pub async fn ask(&self, query: impl Into<Query>) -> Result<Answer, C::Error> {
        let query = query.into();
        // What is about the past by itself says so, and is asked as it is.
        let query = match self.at {
            Some(at) if !query.is_about_the_past() => query.at(at).expect("it is of the present"),
            Some(_) | None => query,
        };
        self.carrier.ask(&self.caller, query).await
    }

    /// The revision of the last change.
    pub async fn revision(&self) -> Result<Revision, C::Error> {
        Ok(self.ask(Query::Workspace(workspace::Query::Get)).await?.revision)
    }
}
