//! Which agents handle which requests, which have received, and which is next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::names::{AgentId, HandlerName};
use crate::time::Timestamp;

/// An agent that is registered for a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handler {
    /// The handler.
    pub handler: HandlerName,
    /// The agent.
    pub agent: AgentId,
    /// When it was registered.
    pub since: Timestamp,
}

/// The record of a receiving agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// When it last received.
    pub heard_at: Timestamp,
    /// The number of the last request that it was given; 0 if there was none.
    pub turn: u64,
}

/// A replaced entry: its name, and its previous value.
pub type Replaced<Name, What> = Option<(Name, Option<What>)>;

/// Which agents are registered for which handlers. It changes only by its `replace` functions and
/// `trim`.
#[derive(Default)]
pub struct HandlerRegistry {
    handlers: BTreeMap<(HandlerName, AgentId), Handler>,
    by_agent: BTreeSet<(AgentId, HandlerName)>,
    listeners: BTreeMap<AgentId, Listener>,
    // The agent that was silent longest is forgotten first.
    silence: BTreeSet<(Timestamp, AgentId)>,
    turns: u64,
}

impl HandlerRegistry {
    /// Sets or removes a handler; returns the previous one.
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

    /// Sets the record of a receiving agent; returns the previous one.
    pub fn replace_listener(
        &mut self,
        agent: &AgentId,
        after: Option<Listener>,
    ) -> Option<Listener> {
        let before = match (self.listeners.get_mut(agent), after) {
            (Some(listener), Some(after)) => Some(std::mem::replace(listener, after)),
            (Some(_), None) => self.listeners.remove(agent),
            (None, Some(after)) => self.listeners.insert(agent.clone(), after),
            (None, None) => None,
        };
        let [silent, heard] = [before, after].map(|listener| listener.map(|it| it.heard_at));
        // A request changes the turn of its receiver, but not the time of its last sign of life.
        if silent != heard {
            if let Some(moment) = silent {
                self.silence.remove(&(moment, agent.clone()));
            }
            self.silence.extend(heard.map(|moment| (moment, agent.clone())));
        }
        before
    }

    /// The number of requests that were assigned.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Sets that number.
    pub fn set_turns(&mut self, turns: u64) {
        self.turns = turns;
    }

    /// The record of a receiving agent.
    pub fn listener(&self, agent: &AgentId) -> Option<Listener> {
        self.listeners.get(agent).copied()
    }

    /// Every agent that receives messages.
    pub fn listeners(&self) -> impl Iterator<Item = (&AgentId, &Listener)> {
        self.listeners.iter()
    }

    /// One agent that is registered for a handler.
    pub fn handler(&self, handler: &HandlerName, agent: &AgentId) -> Option<&Handler> {
        self.handlers.get(&(handler.clone(), agent.clone()))
    }

    /// Every agent that is registered for a handler.
    pub fn of<'a>(&'a self, handler: &'a HandlerName) -> impl Iterator<Item = &'a Handler> {
        let there = self.handlers.range((handler.clone(), AgentId::least())..);
        there.take_while(move |((name, _), _)| name == handler).map(|(_, handler)| handler)
    }

    /// The handlers of an agent.
    pub fn of_agent<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a HandlerName> {
        let there = self.by_agent.range((agent.clone(), HandlerName::least())..);
        there.take_while(move |(owner, _)| owner == agent).map(|(_, name)| name)
    }

    /// Every registration, by handler and agent.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.values()
    }

    /// The next agent in turn: the one that was given a request longest ago, by name among equals.
    pub fn next<'a>(&self, agents: impl Iterator<Item = &'a AgentId>) -> Option<&'a AgentId> {
        let turn = |agent: &AgentId| self.listeners.get(agent).map_or(0, |it| it.turn);
        agents.min_by_key(|agent| (turn(agent), *agent))
    }

    /// Forgets the agent that was silent longest if there are too many. It runs after every batch,
    /// so that replay forgets the same ones.
    pub fn trim(&mut self) {
        while self.listeners.len() > limits::LISTENERS_MAX {
            let Some((_, agent)) = self.silence.first().cloned() else { return };
            self.replace_listener(&agent, None);
        }
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        assert_eq!(self.handlers.len(), self.by_agent.len(), "every handler has an agent");
        assert_eq!(self.listeners.len(), self.silence.len(), "every listener has a last poll");
    }
}
