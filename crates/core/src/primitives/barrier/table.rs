//! The table of barriers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::vocabulary::{Barrier, Event};
use crate::names::{AgentId, BarrierName};
use crate::numbers::{Generation, WaitId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;

/// All barriers that were ever arrived at and are not forgotten. Changes only by `Table::evolve`
/// and `Table::undo`.
#[derive(Default)]
pub struct Table {
    records: BTreeMap<BarrierName, Record>,
    // Barriers without arrivals: the first to be forgotten comes first.
    idle: BTreeSet<(Timestamp, BarrierName)>,
    // The largest generation of a forgotten barrier.
    forgotten: Generation,
    by_agent: BTreeSet<(AgentId, BarrierName)>,
    waits: BTreeMap<WaitId, (BarrierName, AgentId)>,
    wait_ends: BTreeSet<(Timestamp, WaitId)>,
}

/// The record of a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The barrier.
    pub name: BarrierName,
    /// The current generation.
    pub generation: Generation,
    /// How many arrivals open it; without arrivals, the number that was last given.
    pub count: u64,
    /// The arrivals.
    pub parties: BTreeMap<AgentId, Party>,
    /// When it last became empty: it opened, or the last arrival was withdrawn.
    pub idle_since: Timestamp,
}

/// An arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// The waiting call, if any.
    pub wait: Option<Wait>,
}

/// How to undo one change.
pub enum Undo {
    /// The record was replaced: the previous one.
    Barrier {
        /// The name.
        name: BarrierName,
        /// The previous record.
        record: Option<Box<Record>>,
        /// The largest forgotten generation before.
        forgotten: Generation,
    },
    /// An arrival was added or removed: the previous state.
    Party {
        /// The barrier.
        name: BarrierName,
        /// The agent.
        party: AgentId,
        /// The previous arrival, if any.
        there: Option<Party>,
        /// The previous number of arrivals that open it.
        count: u64,
        /// When it had last become empty.
        idle_since: Timestamp,
    },
    /// Nothing has changed.
    Nothing,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = (Generation, Vec<Record>);

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let (name, idle_since) = (event.name().clone(), moment.time);
        let forgotten = self.forgotten;
        match event {
            Event::Arrived { party, generation, count, wait, until, .. } => {
                let since = moment.time;
                let wait = wait.zip(*until);
                let wait = wait.map(|(id, until)| Wait { id, agent: party.clone(), since, until });
                let (party, there, count) = (party.clone(), Some(Party { wait }), *count);
                if self.records.contains_key(&name) {
                    return self.change(Undo::Party { name, party, there, count, idle_since });
                }
                let parties = there.map(|there| (party, there)).into_iter().collect();
                let (generation, known) = (*generation, name.clone());
                let record = Record { name: known, generation, count, parties, idle_since };
                self.change(Undo::Barrier { name, record: Some(Box::new(record)), forgotten })
            }
            Event::Withdrawn { party, count, .. } => {
                let (party, there, count) = (party.clone(), None, *count);
                self.change(Undo::Party { name, party, there, count, idle_since })
            }
            Event::Opened { generation, .. } | Event::Reset { generation, .. } => {
                let record = Record {
                    name: name.clone(),
                    generation: generation.next(),
                    count: self.records.get(&name).map_or(0, |record| record.count),
                    parties: BTreeMap::new(),
                    idle_since,
                };
                self.change(Undo::Barrier { name, record: Some(Box::new(record)), forgotten })
            }
            Event::Forgotten { generation, .. } => {
                let forgotten = forgotten.max(*generation);
                self.change(Undo::Barrier { name, record: None, forgotten })
            }
            // It has been empty since it opened.
            Event::Passed { .. } => Undo::Nothing,
        }
    }

    fn undo(&mut self, undo: Undo) {
        self.change(undo);
    }

    fn facts(&self) -> Self::Facts {
        (self.forgotten, self.records.values().cloned().collect())
    }

    fn restore((forgotten, records): Self::Facts) -> Self {
        let mut table = Self { forgotten, ..Self::default() };
        for record in records {
            table.put_in(record);
        }
        table
    }

    fn check(&self) {
        let (mut arrivals, mut waits, mut idle) = (0, 0, 0);
        for record in self.records.values() {
            let there = record.parties.len();
            assert!((there as u64) < record.count, "the last to arrive opens it");
            arrivals += there;
            waits += record.parties.values().filter(|there| there.wait.is_some()).count();
            idle += usize::from(there == 0);
        }
        assert_eq!(arrivals, self.by_agent.len(), "every arrival is of one agent");
        assert_eq!([waits; 2], [self.waits.len(), self.wait_ends.len()], "every wait has an end");
        assert_eq!(idle, self.idle.len(), "exactly those without arrivals are idle");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.wait_ends.first().map(|(moment, _)| *moment)
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.waits.keys().copied()
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.waits.get(&wait).map(|(_, party)| party)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        let waits = |record: &Record| record.parties[agent].wait.is_some();
        self.arrivals_of(agent).any(waits)
    }
}

impl Table {
    /// Applies a change in either direction; returns how to undo it.
    fn change(&mut self, after: Undo) -> Undo {
        match after {
            Undo::Barrier { name, record, forgotten } => {
                let before = self.take_out(&name);
                if let Some(record) = record {
                    self.put_in(*record);
                }
                let forgotten = std::mem::replace(&mut self.forgotten, forgotten);
                Undo::Barrier { name, record: before.map(Box::new), forgotten }
            }
            Undo::Party { name, party, there, count, idle_since } => {
                let mut record =
                    self.records.remove(&name).expect("no arrival is without a barrier");
                self.idle.remove(&(record.idle_since, name.clone()));
                let before = record.parties.remove(&party);
                if let Some(there) = &before {
                    self.leave(&name, &party, there);
                }
                if let Some(there) = there {
                    self.enter(&name, &party, &there);
                    record.parties.insert(party.clone(), there);
                }
                let (count_before, idle_before) = (record.count, record.idle_since);
                (record.count, record.idle_since) = (count, idle_since);
                self.list(record);
                let (there, count, idle_since) = (before, count_before, idle_before);
                Undo::Party { name, party, there, count, idle_since }
            }
            Undo::Nothing => Undo::Nothing,
        }
    }

    fn take_out(&mut self, name: &BarrierName) -> Option<Record> {
        let record = self.records.remove(name)?;
        self.idle.remove(&(record.idle_since, name.clone()));
        for (party, there) in &record.parties {
            self.leave(name, party, there);
        }
        Some(record)
    }

    fn put_in(&mut self, record: Record) {
        for (party, there) in &record.parties {
            self.enter(&record.name, party, there);
        }
        self.list(record);
    }

    fn list(&mut self, record: Record) {
        if record.parties.is_empty() {
            self.idle.insert((record.idle_since, record.name.clone()));
        }
        self.records.insert(record.name.clone(), record);
    }

    fn leave(&mut self, name: &BarrierName, party: &AgentId, there: &Party) {
        self.by_agent.remove(&(party.clone(), name.clone()));
        if let Some(wait) = &there.wait {
            self.waits.remove(&wait.id);
            self.wait_ends.remove(&(wait.until, wait.id));
        }
    }

    fn enter(&mut self, name: &BarrierName, party: &AgentId, there: &Party) {
        self.by_agent.insert((party.clone(), name.clone()));
        if let Some(wait) = &there.wait {
            self.waits.insert(wait.id, (name.clone(), party.clone()));
            self.wait_ends.insert((wait.until, wait.id));
        }
    }

    /// The record of a barrier, if any.
    pub fn get(&self, name: &BarrierName) -> Option<&Record> {
        self.records.get(name)
    }

    /// The current generation of a barrier.
    pub fn generation(&self, name: &BarrierName) -> Generation {
        self.records.get(name).map_or(self.forgotten.next(), |record| record.generation)
    }

    /// How many barriers are known.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The barrier that has been empty longest.
    pub fn longest_idle(&self) -> Option<&BarrierName> {
        self.idle.first().map(|(_, name)| name)
    }

    /// The total number of arrivals.
    pub fn arrivals(&self) -> usize {
        self.by_agent.len()
    }

    /// The barriers at which an agent has arrived, by name.
    pub fn arrivals_of(&self, agent: &AgentId) -> impl Iterator<Item = &Record> {
        let names = self.by_agent.range((agent.clone(), BarrierName::least())..);
        names.take_while(move |(there, _)| there == agent).map(|(_, name)| &self.records[name])
    }

    /// A barrier as callers see it.
    pub fn barrier(&self, name: &BarrierName) -> Barrier {
        let record = self.records.get(name).filter(|record| !record.parties.is_empty());
        let parties = record.into_iter().flat_map(|record| &record.parties);
        Barrier {
            name: name.clone(),
            generation: self.generation(name),
            count: record.map(|record| record.count),
            arrived: parties.clone().map(|(party, _)| party.clone()).collect(),
            waiting: parties.filter(|(_, there)| there.wait.is_some()).count() as u64,
        }
    }

    /// The barrier and the agent of a waiting call.
    pub fn waiting(&self, wait: WaitId) -> Option<(&Record, &AgentId)> {
        let (name, party) = self.waits.get(&wait)?;
        Some((&self.records[name], party))
    }

    /// Every call that waits, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = WaitId> {
        self.waits.keys().copied()
    }

    /// The barriers and agents of the waiting calls that have timed out.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = (&Record, &AgentId)> {
        let over = self.wait_ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.filter_map(|(_, wait)| self.waiting(*wait))
    }
}
