//! Who handles what, who has listened, and whose turn it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::names::{AgentId, HandlerName};
use crate::time::Timestamp;

/// Somebody who answers requests for a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handler {
    /// Which handler.
    pub handler: HandlerName,
    /// Who answers.
    pub agent: AgentId,
    /// Since when.
    pub since: Timestamp,
}

/// What is known of an agent that has asked for its mail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// When it last asked.
    pub heard_at: Timestamp,
    /// The number of the last request it was given; 0 if there was none.
    pub turn: u64,
}

/// An entry that was replaced: its name, and what it was before.
pub type Replaced<Name, What> = Option<(Name, Option<What>)>;

/// Which agents answer for which handlers. Changes only by its `replace` functions and `trim`.
#[derive(Default)]
pub struct HandlerRegistry {
    handlers: BTreeMap<(HandlerName, AgentId), Handler>,
    by_agent: BTreeSet<(AgentId, HandlerName)>,
    listeners: BTreeMap<AgentId, Listener>,
    // Who was silent longest is forgotten first.
    silence: BTreeSet<(Timestamp, AgentId)>,
    turns: u64,
}

impl HandlerRegistry {
    /// Puts a handler, or takes it away; how it was before.
    pub fn replace_handler(
        &mut self,
        handler: &HandlerName,
        agent: &AgentId,
        after: Option<Handler>,
    ) -> Option<Handler> {
        let before = self.handlers.remove(&(handler.clone(), agent.clone()));
        self.by_agent.remove(&(agent.clone(), handler.clone()));
        if let Some(after) = after {
            self.by_agent.insert((agent.clone(), handler.clone()));
            self.handlers.insert((handler.clone(), agent.clone()), after);
        }
        before
    }

    /// Notes what is known of an agent; how it was before.
    pub fn replace_listener(
        &mut self,
        agent: &AgentId,
        after: Option<Listener>,
    ) -> Option<Listener> {
        let before = self.listeners.remove(agent);
        if let Some(before) = before {
            self.silence.remove(&(before.heard_at, agent.clone()));
        }
        if let Some(after) = after {
            self.silence.insert((after.heard_at, agent.clone()));
            self.listeners.insert(agent.clone(), after);
        }
        before
    }

    /// How many requests were given to somebody.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Sets that number.
    pub fn set_turns(&mut self, turns: u64) {
        self.turns = turns;
    }

    /// What is known of an agent that has asked for its mail.
    pub fn listener(&self, agent: &AgentId) -> Option<Listener> {
        self.listeners.get(agent).copied()
    }

    /// Everything that is known of those.
    pub fn listeners(&self) -> impl Iterator<Item = (&AgentId, &Listener)> {
        self.listeners.iter()
    }

    /// Somebody who answers for a handler.
    pub fn handler(&self, handler: &HandlerName, agent: &AgentId) -> Option<&Handler> {
        self.handlers.get(&(handler.clone(), agent.clone()))
    }

    /// Everybody who answers for a handler.
    pub fn of<'a>(&'a self, handler: &'a HandlerName) -> impl Iterator<Item = &'a Handler> {
        let there = self.handlers.range((handler.clone(), AgentId::least())..);
        there.take_while(move |((name, _), _)| name == handler).map(|(_, handler)| handler)
    }

    /// What an agent answers for.
    pub fn of_agent<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a HandlerName> {
        let there = self.by_agent.range((agent.clone(), HandlerName::least())..);
        there.take_while(move |(owner, _)| owner == agent).map(|(_, name)| name)
    }

    /// Everybody who answers, by handler and agent.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.values()
    }

    /// Whose turn it is among some: who was given a request longest ago, by name if that is alike.
    pub fn next<'a>(&self, agents: impl Iterator<Item = &'a AgentId>) -> Option<&'a AgentId> {
        let turn = |agent: &AgentId| self.listeners.get(agent).map_or(0, |it| it.turn);
        agents.min_by_key(|agent| (turn(agent), *agent))
    }

    /// Forgets who was silent longest, if there are too many. It happens after every batch, to the
    /// same ones whenever the batch is replayed.
    pub fn trim(&mut self) {
        while self.listeners.len() > limits::LISTENERS_MAX {
            let Some((_, agent)) = self.silence.first().cloned() else { return };
            self.replace_listener(&agent, None);
        }
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        assert_eq!(self.handlers.len(), self.by_agent.len(), "every handler is somebody's");
        assert_eq!(self.listeners.len(), self.silence.len(), "everybody was heard at some time");
    }
}
