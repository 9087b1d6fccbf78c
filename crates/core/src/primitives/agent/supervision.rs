//! Supervision: agents below other agents.
//!
//! A session ends together with the session of its supervisor, and what it held is released in the
//! same commit. If all of that does not fit into one commit, the supervisor's session ends alone.
//! The agents below are then orphans: their tokens are void at once, and their sessions end in the
//! commits that follow.

use std::collections::BTreeSet;

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Agent, Event, Status};
use crate::limits;
use crate::names::AgentId;
use crate::space::stamp::Stamp;

/// Active agents by their parent.
#[derive(Default)]
pub(super) struct Supervision {
    children: BTreeSet<(AgentId, AgentId)>,
    /// The agents whose supervisor's session has ended.
    orphans: BTreeSet<AgentId>,
}

impl Supervision {
    /// Removes the session of an agent.
    pub(super) fn remove(&mut self, agent: &Agent) {
        if let Some(parent) = &agent.parent {
            self.children.remove(&(parent.clone(), agent.id.clone()));
            self.orphans.remove(&agent.id);
        }
    }

    /// Adds the session of an agent.
    pub(super) fn insert(&mut self, agent: &Agent) {
        if let Some(parent) = &agent.parent {
            self.children.insert((parent.clone(), agent.id.clone()));
        }
    }

    /// Whether an active agent has a parent.
    pub(super) fn is_used(&self) -> bool {
        !self.children.is_empty()
    }

    fn of<'a>(&'a self, parent: &'a AgentId) -> impl Iterator<Item = &'a AgentId> {
        let from = self.children.range((parent.clone(), AgentId::least())..);
        from.take_while(move |(there, _)| there == parent).map(|(_, child)| child)
    }
}

impl Table {
    /// The session of an agent started or ended: some agents may be orphans now, or no longer.
    pub(super) fn mark_orphans(&mut self, agent: &AgentId) {
        let below: Vec<AgentId> = self.supervision.of(agent).cloned().collect();
        for id in below.into_iter().chain([agent.clone()]) {
            if self.get(&id).is_some_and(|record| self.has_lost_parent(record)) {
                self.supervision.orphans.insert(id);
            } else {
                self.supervision.orphans.remove(&id);
            }
        }
    }

    /// A supervisor that registered again has a newer token than those below its last session.
    fn has_lost_parent(&self, record: &Agent) -> bool {
        let parent = record.parent.as_ref().filter(|_| record.status == Status::Active);
        parent.is_some_and(|parent| {
            self.get(parent).is_none_or(|it| it.status != Status::Active || it.token > record.token)
        })
    }

    /// Active agents whose supervisor's session has ended.
    pub fn orphans(&self) -> impl Iterator<Item = &AgentId> {
        self.supervision.orphans.iter()
    }

    /// The parent of an agent.
    pub fn parent(&self, agent: &AgentId) -> Option<&AgentId> {
        self.get(agent)?.parent.as_ref()
    }

    /// Whether an active agent is supervised.
    pub fn has_supervised(&self) -> bool {
        self.supervision.is_used()
    }

    /// An agent and those above it, from the bottom.
    fn chain<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a AgentId> {
        let chain = std::iter::successors(Some(agent), |agent| self.parent(agent));
        chain.take(limits::AGENT_DEPTH_MAX + 1)
    }

    /// The agent at or above this one whose supervisor's session has ended: its session is to end.
    pub fn orphaned(&self, agent: &AgentId) -> Option<&AgentId> {
        if self.supervision.orphans.is_empty() {
            return None;
        }
        let agent = self.get(agent).map(|record| &record.id)?;
        self.chain(agent).find(|agent| self.supervision.orphans.contains(*agent))
    }

    /// All agents below this one, each after its parent.
    pub fn below(&self, agent: &AgentId) -> Vec<AgentId> {
        let mut below: Vec<AgentId> = self.supervision.of(agent).cloned().collect();
        let mut next = 0;
        while let Some(parent) = below.get(next).cloned() {
            below.extend(self.supervision.of(&parent).cloned());
            next += 1;
        }
        below
    }

    /// Asserts that the index matches the records.
    pub(super) fn check_supervision(&self) {
        let active = || self.after(None).filter(|agent| agent.status == Status::Active);
        let supervised = active().filter(|agent| agent.parent.is_some()).count();
        assert_eq!(supervised, self.supervision.children.len(), "every child is found");
        let orphans = active().filter(|agent| self.has_lost_parent(agent)).map(|agent| &agent.id);
        assert!(orphans.eq(self.orphans()), "orphans have a parent without that session");
    }
}

/// Refuses a parent that cannot supervise an agent.
pub(super) fn check_parent(
    table: &Table,
    agent: &AgentId,
    parent: &AgentId,
) -> Result<(), Rejection> {
    if table.chain(parent).any(|above| above == agent) {
        return Err(Rejection::Cycle { agent: agent.clone(), parent: parent.clone() });
    }
    if !table.is_active(parent) || table.orphaned(parent).is_some() {
        return Err(Rejection::NoParent { parent: parent.clone() });
    }
    let depth = table.chain(parent).count();
    if depth >= limits::AGENT_DEPTH_MAX {
        let max = limits::AGENT_DEPTH_MAX;
        return Err(Rejection::TooDeep { parent: parent.clone(), max });
    }
    Ok(())
}

/// The ends of the sessions below an agent whose session ends.
pub(super) fn ended_below(table: &Table, agent: &AgentId, stamp: &Stamp) -> Vec<Event> {
    if !stamp.ends_below {
        return Vec::new();
    }
    #[cfg(feature = "planted")]
    if crate::planted::is("agent.children_live_on") {
        return Vec::new();
    }
    let lost = |below| Event::Lost { agent: below, because: Some(agent.clone()) };
    table.below(agent).into_iter().map(lost).collect()
}
