//! The agents of a workspace.

use std::collections::BTreeSet;

use baton_core::agent::{Agent, Command, Query, Register, Status};
use baton_core::wait::{Next, Work, WorkKind};
use baton_core::{AgentId, Json, TaskType, Token, wait};
use serde::Serialize;

use crate::request::request;
use crate::{Agents, Error};

impl Agents {
    /// Starts a session of the acting agent.
    pub fn register(&self) -> Registration {
        let agent = self.workspace.agent().clone();
        let capabilities = BTreeSet::new();
        let register = Register { agent, capabilities, metadata: None, ttl_ms: None, parent: None };
        Registration::new(&self.workspace, Ok(register))
    }

    /// Renews the session of the acting agent.
    pub async fn heartbeat(&self, token: Token) -> Result<Agent, Error> {
        let agent = self.workspace.agent().clone();
        self.workspace.run(Command::Heartbeat { agent, token: Some(token) }).await
    }

    /// Ends the session of the acting agent and releases everything it held.
    pub async fn leave(&self, token: Token) -> Result<Agent, Error> {
        let agent = self.workspace.agent().clone();
        self.workspace.run(Command::Leave { agent, token: Some(token) }).await
    }

    /// Receives the next hand-off, message or task for the acting agent. Without
    /// [`wait_ms`](TakingNext::wait_ms), the call does not wait.
    pub fn next(&self) -> TakingNext {
        TakingNext::new(&self.workspace, Ok(Next::default()))
    }

    /// Reads an agent.
    pub async fn get(&self, agent: &str) -> Result<Agent, Error> {
        self.workspace.query(Query::Get { agent: AgentId::parse(agent)? }).await
    }

    /// Lists the agents that have a session, by id.
    pub async fn active(&self) -> Result<Vec<Agent>, Error> {
        self.list(None, Some(Status::Active)).await
    }

    /// Lists the agents with a capability or a status, by id.
    pub async fn list(
        &self,
        capability: Option<&str>,
        status: Option<Status>,
    ) -> Result<Vec<Agent>, Error> {
        let list = |cursor| {
            let capability = capability.map(str::to_owned);
            Query::List { capability, status, limit: None, cursor }
        };
        self.workspace.pages(None, list).await
    }
}

request! {
    /// Starts a session when it is awaited.
    Registration(Register) -> Agent: |workspace, register|
        workspace.run(Command::Register(register));
    /// Adds a capability of the agent.
    capability(name: &str) |register| register.capabilities.insert(name.to_owned());
    /// Attaches metadata.
    metadata(metadata: impl Serialize) |register| register.metadata = Some(Json::of(&metadata)?);
    /// Sets the agent that supervises this one: when its session ends, this one ends too.
    parent(agent: &str) |register| register.parent = Some(AgentId::parse(agent)?);
    /// Sets how long the session lasts after each heartbeat.
    ttl_ms(milliseconds: u64) |register| register.ttl_ms = Some(milliseconds);
}

request! {
    /// Receives work when it is awaited; none if there was none in time.
    TakingNext(Next) -> Option<Work>: |workspace, next| workspace.run(wait::Command::Next(next));
    /// Only work of this kind, or of several.
    of_kind(kind: WorkKind) |next| next.kinds.get_or_insert_default().insert(kind);
    /// Only tasks of this type, or of several.
    of_type(task_type: &str) |next|
        next.types.get_or_insert_default().insert(TaskType::parse(task_type)?);
    /// Claims tasks with this capability, instead of those of the session.
    capability(name: &str) |next|
        next.capabilities.get_or_insert_default().insert(name.to_owned());
    /// Sets the lease of a task.
    lease_ms(milliseconds: u64) |next| next.lease_ms = Some(milliseconds);
    /// Sets how long after its delivery a message is delivered again, unless it is acknowledged.
    redeliver_ms(milliseconds: u64) |next| next.redeliver_ms = Some(milliseconds);
    /// Sets how long to wait.
    wait_ms(milliseconds: u64) |next| next.wait_ms = Some(milliseconds);
}
