//! Agents of a workspace.

use std::collections::BTreeSet;
use std::future::IntoFuture;

use baton_core::agent::{Agent, Command, Query, Register, Reply as AgentReply, Status};
use baton_core::{AgentId, Json, Reply, Token};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Agents of a workspace.
#[derive(Clone, Debug)]
pub struct Agents<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Agents<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Begins a session of the acting agent. What it can do may follow before it is awaited.
    pub fn register(&self) -> Registration<C> {
        let agent = self.workspace.agent().clone();
        let register =
            Register { agent, capabilities: BTreeSet::new(), metadata: None, ttl_ms: None };
        Registration { workspace: self.workspace.clone(), register: Ok(register) }
    }

    /// The acting agent is alive.
    pub async fn heartbeat(&self, token: Token) -> Result<Agent, C::Error> {
        let agent = self.workspace.agent().clone();
        self.execute(Command::Heartbeat { agent, token: Some(token) }).await
    }

    /// Ends the session of the acting agent. What it held is let go.
    pub async fn leave(&self, token: Token) -> Result<Agent, C::Error> {
        let agent = self.workspace.agent().clone();
        self.execute(Command::Leave { agent, token: Some(token) }).await
    }

    /// One of them.
    pub async fn get(&self, agent: &str) -> Result<Agent, C::Error> {
        let query = Query::Get { agent: AgentId::parse(agent)? };
        record(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// Those that have a session, by id.
    pub async fn active(&self) -> Result<Vec<Agent>, C::Error> {
        self.list(None, Some(Status::Active)).await
    }

    /// Those that can do something, or are in some state, by id.
    pub async fn list(
        &self,
        capability: Option<&str>,
        status: Option<Status>,
    ) -> Result<Vec<Agent>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let capability = capability.map(str::to_owned);
            let query = Query::List { capability, status, limit: None, cursor };
            match self.workspace.ask(baton_core::Query::from(query)).await?.reply {
                Reply::Agent(AgentReply::Agents { agents, cursor: next }) => {
                    all.extend(agents);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    async fn execute(&self, command: Command) -> Result<Agent, C::Error> {
        record(self.workspace.execute(command).await?.reply)
    }
}

fn record<F: Failure>(reply: Reply) -> Result<Agent, F> {
    match reply {
        Reply::Agent(AgentReply::Agent(agent)) => Ok(agent),
        reply => Err(F::odd(&reply)),
    }
}

/// A session that begins when this is awaited.
#[must_use = "nobody is registered before this is awaited"]
pub struct Registration<C> {
    workspace: Workspace<C>,
    register: Prepared<Register>,
}

impl<C: Carrier> Registration<C> {
    fn with(mut self, change: impl FnOnce(&mut Register)) -> Self {
        self.register = self.register.map(|mut register| {
            change(&mut register);
            register
        });
        self
    }

    /// Something that the agent can do.
    pub fn capability(self, name: &str) -> Self {
        self.with(|register| {
            register.capabilities.insert(name.to_owned());
        })
    }

    /// Whatever else is worth knowing.
    pub fn metadata(mut self, metadata: impl Serialize) -> Self {
        self.register = self.register.and_then(|mut register| {
            register.metadata = Some(Json::of(&metadata)?);
            Ok(register)
        });
        self
    }

    /// How long it may be silent before it is called lost.
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        self.with(|register| register.ttl_ms = Some(milliseconds))
    }
}

impl<C: Carrier> IntoFuture for Registration<C> {
    type Output = Result<Agent, C::Error>;
    type IntoFuture = Sent<Agent, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            record(self.workspace.execute(Command::Register(self.register?)).await?.reply)
        })
    }
}
