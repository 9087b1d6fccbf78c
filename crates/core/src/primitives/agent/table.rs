//! The table of agents.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::supervision::Supervision;
use super::vocabulary::{Agent, Event, Status};
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All agents of a workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    by_id: BTreeMap<AgentId, Agent>,
    // When the session of each active agent expires.
    deadlines: BTreeSet<(Timestamp, AgentId)>,
    // Active agents by the token of their session.
    sessions: BTreeSet<(Token, AgentId)>,
    // Active agents by each of their capabilities.
    capable: BTreeMap<String, BTreeSet<AgentId>>,
    // Not logged: since when this server has been up to receive heartbeats.
    awake_since: Timestamp,
    // Not a fact of the log: the latest calls of active agents that left no trace in it.
    heard: BTreeMap<AgentId, Timestamp>,
    // Ended agents by the end of their session: the first to be forgotten comes first.
    ended: BTreeSet<(Timestamp, AgentId)>,
    pub(super) supervision: Supervision,
}

/// The data to undo one change: the previous record of the agent, and the time of its last sign of
/// life.
pub struct Undo {
    agent: AgentId,
    before: Option<Agent>,
    heard: Option<Timestamp>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Vec<Agent>;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let id = event.agent();
        let before = self.by_id.get(id).cloned();
        let after = match event {
            Event::Joined { agent, capabilities, metadata, ttl_ms, token, parent, .. } => {
                assert!(
                    before.as_ref().is_none_or(|before| before.token < *token),
                    "tokens only grow"
                );
                Some(Agent {
                    id: agent.clone(),
                    status: Status::Active,
                    capabilities: capabilities.clone(),
                    metadata: metadata.clone(),
                    ttl_ms: *ttl_ms,
                    token: *token,
                    registered_at: moment.time,
                    last_seen_at: moment.time,
                    ended_at: None,
                    parent: parent.clone(),
                })
            }
            Event::Seen { .. } => {
                before.clone().map(|agent| Agent { last_seen_at: moment.time, ..agent })
            }
            Event::Left { .. } => before.clone().map(|agent| agent.end(Status::Left, moment)),
            Event::Lost { .. } => before.clone().map(|agent| agent.end(Status::Lost, moment)),
            Event::Forgotten { .. } => None,
        };
        let heard = self.heard.get(id).copied();
        let goes_on = matches!(event, Event::Seen { .. });
        self.replace(id, after, heard.filter(|_| goes_on));
        Undo { agent: id.clone(), before, heard }
    }

    fn undo(&mut self, undo: Undo) {
        self.replace(&undo.agent, undo.before, undo.heard);
    }

    fn facts(&self) -> Vec<Agent> {
        self.after(None).cloned().collect()
    }

    fn restore(agents: Self::Facts) -> Self {
        let mut table = Self::default();
        for agent in agents {
            table.replace(&agent.id.clone(), Some(agent), None);
        }
        table
    }

    fn check(&self) {
        let active = self.by_id.values().filter(|agent| agent.status == Status::Active).count();
        assert_eq!(active, self.deadlines.len(), "exactly the active agents have a deadline");
        assert_eq!(active, self.sessions.len(), "every session has a token");
        assert_eq!(self.by_id.len() - active, self.ended.len(), "all others have ended");
        for (_, id) in &self.deadlines {
            assert!(self.is_active(id), "an agent with a deadline is active");
        }
        for id in self.heard.keys() {
            assert!(self.is_active(id), "an agent that was heard is active");
        }
        let mut capable = BTreeMap::new();
        let all = self.by_id.values().filter(|agent| agent.status == Status::Active);
        all.for_each(|agent| list(&mut capable, agent));
        assert!(self.capable == capable, "the active agents are found by their capabilities");
        self.check_supervision();
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let overdue = self.orphans().next().map(|_| Timestamp::default());
        overdue.or_else(|| self.deadlines.first().map(|(moment, _)| *moment))
    }

    fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        self.deadlines = self
            .by_id
            .values()
            .filter(|agent| agent.status == Status::Active)
            .map(|agent| (self.deadline(agent), agent.id.clone()))
            .collect();
    }

    fn holder_of(&self, token: Token) -> Option<&AgentId> {
        let mut from = self.sessions.range((token, AgentId::least())..);
        from.next().filter(|(found, _)| *found == token).map(|(_, agent)| agent)
    }
}

impl Table {
    fn replace(&mut self, id: &AgentId, after: Option<Agent>, heard: Option<Timestamp>) {
        let session = |agent: &Agent| (agent.token, agent.status);
        let is_same = self.by_id.get(id).map(session) == after.as_ref().map(session);
        if is_same {
            self.replace_record(id, after, heard);
            return;
        }
        // A session keeps the capabilities that it began with.
        if let Some(before) = self.by_id.get(id).filter(|agent| agent.status == Status::Active) {
            unlist(&mut self.capable, before);
        }
        if let Some(after) = after.as_ref().filter(|agent| agent.status == Status::Active) {
            list(&mut self.capable, after);
        }
        self.replace_record(id, after, heard);
        self.mark_orphans(id);
    }

    fn replace_record(&mut self, id: &AgentId, after: Option<Agent>, heard: Option<Timestamp>) {
        if let Some(before) = self.by_id.get(id) {
            self.supervision.remove(before);
            if let Some(moment) = before.ended_at {
                self.ended.remove(&(moment, id.clone()));
            } else {
                let (moment, token) = (self.deadline(before), before.token);
                self.deadlines.remove(&(moment, id.clone()));
                self.sessions.remove(&(token, id.clone()));
            }
        }
        match heard {
            Some(moment) => self.heard.insert(id.clone(), moment),
            None => self.heard.remove(id),
        };
        let Some(after) = after else {
            self.by_id.remove(id);
            return;
        };
        if let Some(moment) = after.ended_at {
            self.ended.insert((moment, id.clone()));
        } else {
            self.deadlines.insert((self.deadline(&after), id.clone()));
            self.sessions.insert((after.token, id.clone()));
            self.supervision.insert(&after);
        }
        self.by_id.insert(id.clone(), after);
    }

    /// An agent.
    pub fn get(&self, id: &AgentId) -> Option<&Agent> {
        self.by_id.get(id)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether an agent has a session.
    pub fn is_active(&self, id: &AgentId) -> bool {
        self.get(id).is_some_and(|agent| agent.status == Status::Active)
    }

    /// Agents by id, after one of them.
    pub fn after(&self, cursor: Option<&AgentId>) -> impl Iterator<Item = &Agent> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_id.range::<AgentId, _>((from, Bound::Unbounded)).map(|(_, agent)| agent)
    }

    /// Active agents with a capability, by id.
    pub fn capable(&self, capability: &str) -> impl Iterator<Item = &AgentId> {
        self.capable.get(capability).into_iter().flatten()
    }

    /// Whether an active agent has all of these capabilities.
    pub fn has_capable(&self, capabilities: &BTreeSet<String>) -> bool {
        let Some(first) = capabilities.first() else { return !self.sessions.is_empty() };
        self.capable(first).any(|id| self.by_id[id].capabilities.is_superset(capabilities))
    }

    /// The agent whose session ended first.
    pub fn longest_ended(&self) -> Option<&AgentId> {
        self.ended.first().map(|(_, agent)| agent)
    }

    /// Agents whose session has expired.
    pub fn silent(&self, now: Timestamp) -> impl Iterator<Item = &AgentId> {
        self.deadlines.iter().take_while(move |(moment, _)| *moment <= now).map(|(_, id)| id)
    }

    /// The heartbeat to record because an agent's command was accepted, if its last one is too old.
    pub fn heartbeat_due(&self, id: &AgentId, now: Timestamp) -> Option<Event> {
        let agent = self.get(id).filter(|agent| agent.status == Status::Active)?;
        let is_due = now.since(agent.last_seen_at) >= agent.heartbeat_ms();
        #[cfg(feature = "planted")]
        let is_due = is_due && !crate::planted::is("agent.only_heartbeats_count");
        is_due.then(|| Event::Seen { agent: id.clone() })
    }

    /// An agent made a call that leaves no trace in the log. It counts as a heartbeat, in memory
    /// only: after a restart every session has its whole time again. Returns whether the agent's
    /// deadline has moved.
    pub fn hear(&mut self, id: &AgentId, now: Timestamp) -> bool {
        let Some(agent) = self.get(id).filter(|agent| agent.status == Status::Active) else {
            return false;
        };
        if now.since(self.last_sign(agent)) < agent.heartbeat_ms() {
            return false;
        }
        let before = (self.deadline(agent), id.clone());
        self.deadlines.remove(&before);
        self.heard.insert(id.clone(), now);
        self.deadlines.insert((self.deadline(&self.by_id[id]), id.clone()));
        true
    }

    /// The agents with signs of life since the last recorded one, which are only in memory.
    pub fn unrecorded_signs(&self) -> impl Iterator<Item = (&AgentId, Timestamp)> {
        let heard = self.heard.iter().map(|(agent, heard)| (agent, *heard));
        heard.filter(|(id, heard)| self.get(id).is_some_and(|it| it.last_seen_at < *heard))
    }

    fn last_sign(&self, agent: &Agent) -> Timestamp {
        let heard = self.heard.get(&agent.id).copied().unwrap_or_default();
        agent.last_seen_at.max(self.awake_since).max(heard)
    }

    /// When silence since the last sign of life becomes too long. Signs of life are recorded only
    /// every so often, so the unrecorded part is added: no agent is declared lost before its time.
    fn deadline(&self, agent: &Agent) -> Timestamp {
        let since = self.last_sign(agent);
        #[cfg(feature = "planted")]
        if crate::planted::is("agent.lost_early") {
            return since.after(agent.ttl_ms / 2);
        }
        since.after(agent.ttl_ms + agent.heartbeat_ms())
    }
}

impl Agent {
    /// How old the recorded sign of life may be before another one is recorded.
    pub(super) fn heartbeat_ms(&self) -> u64 {
        self.ttl_ms / limits::HEARTBEAT_FRACTION
    }

    fn end(self, status: Status, moment: &Moment<'_>) -> Self {
        Self { status, ended_at: Some(moment.time), ..self }
    }
}

fn list(capable: &mut BTreeMap<String, BTreeSet<AgentId>>, agent: &Agent) {
    for name in &agent.capabilities {
        capable.entry(name.clone()).or_default().insert(agent.id.clone());
    }
}

fn unlist(capable: &mut BTreeMap<String, BTreeSet<AgentId>>, agent: &Agent) {
    for name in &agent.capabilities {
        let agents = capable.get_mut(name).expect("an active agent was listed");
        agents.remove(&agent.id);
        if agents.is_empty() {
            capable.remove(name);
        }
    }
}
