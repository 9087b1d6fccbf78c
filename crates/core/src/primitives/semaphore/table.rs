//! The table of semaphores.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::vocabulary::{Event, Permit, PermitWait, Semaphore};
use crate::names::{AgentId, SemaphoreName};
use crate::numbers::{Token, WaitId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::holds::{HoldChange, Holding, Holds};
use crate::waiting::wait::{Left, Wait};
use crate::waiting::wait_queue;

/// A call that waits for a permit.
pub type Waiter = wait_queue::Waiter<SemaphoreName>;

/// All semaphores, their permits and their wait queues. Changes only by `Table::evolve` and
/// `Table::undo`.
#[derive(Default)]
pub struct Table {
    records: BTreeMap<SemaphoreName, Record>,
    // Semaphores without holders: the first to be forgotten comes first.
    idle: BTreeSet<(Timestamp, SemaphoreName)>,
    holds: Holds<Permit>,
    // The weight of all that is held of each.
    taken: BTreeMap<SemaphoreName, u64>,
    by_name: BTreeSet<(SemaphoreName, Token)>,
}

/// The part of a semaphore that outlasts its holders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The semaphore.
    pub name: SemaphoreName,
    /// The number of permits.
    pub permits: u64,
    /// Whether the number was changed: callers may give another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_resized: bool,
    /// When it was created, or a permit was last returned.
    pub idle_since: Timestamp,
}

/// How to undo one change: the previous semaphore, permit and waiter.
pub struct Undo {
    name: SemaphoreName,
    record: Option<Record>,
    holds: HoldChange<Permit>,
}

impl Holding for Permit {
    type Name = SemaphoreName;
    type Key = Token;
    type Event = Event;
    const HELD_OR_AWAITED: &'static str = "permits that this agent holds or waits for";

    fn least_key() -> Token {
        Token(0)
    }

    fn key(&self) -> Token {
        self.token
    }

    fn holder(&self) -> &AgentId {
        &self.holder
    }

    fn token(&self) -> Token {
        self.token
    }

    fn expiry(&self) -> (Timestamp, u64) {
        (self.expires_at, self.ttl_ms)
    }

    fn expired(&self) -> Event {
        Event::Expired { name: self.name.clone(), token: self.token }
    }

    fn dropped(&self) -> Event {
        Event::Dropped { name: self.name.clone(), token: self.token }
    }

    fn gave_up(waiter: &Waiter, left: Left) -> Event {
        let Waiter { name, wait, weight, .. } = waiter;
        let (name, agent) = (name.clone(), wait.agent.clone());
        Event::GaveUp { name, waiter: agent, wait: wait.id, left, weight: *weight }
    }
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = (Vec<Record>, Vec<Permit>, Vec<Waiter>);

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.name();
        let mut record = self.records.get(name).cloned();
        let (permit, wait) = match event {
            Event::Created { name, permits } => {
                let (permits, idle_since) = (*permits, moment.time);
                let (name, is_resized) = (name.clone(), false);
                record = Some(Record { name, permits, is_resized, idle_since });
                (None, None)
            }
            Event::Resized { permits, .. } => {
                let (permits, is_resized) = (*permits, true);
                record = record.map(|record| Record { permits, is_resized, ..record });
                (None, None)
            }
            Event::Acquired { name, holder, token, ttl_ms, weight, wait } => {
                assert!(self.free(name) >= *weight, "nothing is granted beyond the permits");
                let permit = Permit {
                    name: name.clone(),
                    holder: holder.clone(),
                    token: *token,
                    weight: *weight,
                    acquired_at: moment.time,
                    expires_at: moment.time.after(*ttl_ms),
                    ttl_ms: *ttl_ms,
                };
                (Some((*token, Some(permit))), wait.map(|wait| (wait, None)))
            }
            Event::Renewed { token, ttl_ms, .. } => {
                let expires_at = moment.time.after(*ttl_ms);
                let permit = self.permit(*token);
                let renewed =
                    permit.map(|permit| Permit { expires_at, ttl_ms: *ttl_ms, ..permit.clone() });
                (Some((*token, renewed)), None)
            }
            Event::Released { token, .. }
            | Event::Expired { token, .. }
            | Event::Dropped { token, .. } => {
                record = record.map(|record| Record { idle_since: moment.time, ..record });
                (Some((*token, None)), None)
            }
            Event::Queued { name, waiter, wait, ttl_ms, until, weight } => {
                let who =
                    Wait { id: *wait, agent: waiter.clone(), since: moment.time, until: *until };
                let (name, ttl_ms, weight) = (name.clone(), *ttl_ms, *weight);
                let waiter = Waiter { name, wait: who, ttl_ms, weight };
                (None, Some((*wait, Some(waiter))))
            }
            Event::GaveUp { wait, .. } => (None, Some((*wait, None))),
            Event::Forgotten { .. } => {
                record = None;
                (None, None)
            }
        };
        let holds = HoldChange { hold: permit, wait };
        self.replace(Undo { name: name.clone(), record, holds })
    }

    fn undo(&mut self, undo: Undo) {
        self.replace(undo);
    }

    fn facts(&self) -> Self::Facts {
        let records = self.records.values().cloned().collect();
        let permits = self.holds.after(None).cloned().collect();
        (records, permits, self.holds.waits().all().cloned().collect())
    }

    fn restore((records, permits, waits): Self::Facts) -> Self {
        let mut table = Self::default();
        for permit in &permits {
            table.count(permit);
        }
        table.holds = Holds::restore(permits, waits);
        for record in records {
            let name = record.name.clone();
            let holds = HoldChange { hold: None, wait: None };
            table.replace(Undo { name, record: Some(record), holds });
        }
        table
    }

    fn check(&self) {
        self.holds.check();
        assert_eq!(self.by_name.len(), self.holds.len(), "every permit has a semaphore");
        for (name, taken) in &self.taken {
            let held = self.by_name.range((name.clone(), Token(0))..);
            let held = held.take_while(|(there, _)| there == name);
            let held = held.filter_map(|(_, token)| self.permit(*token));
            let held: u64 = held.map(|permit| permit.weight).sum();
            assert_eq!(*taken, held, "what is taken is held");
            let record = self.records.get(name).expect("what is held is known");
            // Made smaller, it may have more holders than permits for a time.
            assert!(record.is_resized || *taken <= record.permits, "holders fit permits");
        }
        let idle = self.records.len() - self.taken.len();
        assert_eq!(idle, self.idle.len(), "exactly those without holders are idle");
        for waiter in self.holds.waits().all() {
            let permits = self.permits(&waiter.name);
            assert!(
                permits.is_some_and(|most| waiter.weight <= most),
                "no call waits for more permits than there are"
            );
            let first = self.line(&waiter.name).next().expect("a call waits");
            assert!(first.weight > self.free(&waiter.name), "no call waits for what is free");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.holds.next_deadline()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.holds.wake(moment);
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        // The last in line comes first: if all of them leave, no departure may grant a permit to a
        // call behind it that leaves next.
        let waits: Vec<_> = self.holds.waits().all().map(|waiter| waiter.wait.id).collect();
        waits.into_iter().rev()
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.holds.waits().caller(wait)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.holds.waits().has_caller(agent)
    }

    fn holder_of(&self, token: Token) -> Option<&AgentId> {
        self.holds.holder_of(token)
    }
}

impl Table {
    /// Applies a change in either direction; returns how to undo it.
    fn replace(&mut self, after: Undo) -> Undo {
        let Undo { name, record, holds } = after;
        let before = self.records.remove(&name);
        if let Some(before) = &before {
            self.idle.remove(&(before.idle_since, name.clone()));
        }
        let after = holds.hold.as_ref().and_then(|(_, after)| after.clone());
        let holds = self.holds.replace(holds);
        if let Some((_, Some(before))) = &holds.hold {
            self.discount(before);
        }
        if let Some(after) = &after {
            self.count(after);
        }
        if let Some(after) = record {
            if !self.taken.contains_key(&name) {
                self.idle.insert((after.idle_since, name.clone()));
            }
            self.records.insert(name.clone(), after);
        }
        Undo { name, record: before, holds }
    }

    fn count(&mut self, permit: &Permit) {
        self.by_name.insert((permit.name.clone(), permit.token));
        *self.taken.entry(permit.name.clone()).or_default() += permit.weight;
    }

    fn discount(&mut self, permit: &Permit) {
        self.by_name.remove(&(permit.name.clone(), permit.token));
        let taken = self.taken.get_mut(&permit.name).expect("a permit that is held is taken");
        *taken -= permit.weight;
        if *taken == 0 {
            self.taken.remove(&permit.name);
        }
    }

    /// All permits that are held, and the calls that wait for one.
    pub fn holds(&self) -> &Holds<Permit> {
        &self.holds
    }

    /// How many semaphores there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of permits of a semaphore; none if it is unknown.
    pub fn permits(&self, name: &SemaphoreName) -> Option<u64> {
        self.records.get(name).map(|record| record.permits)
    }

    /// Whether the number of permits was changed since the semaphore was created.
    pub fn is_resized(&self, name: &SemaphoreName) -> bool {
        self.records.get(name).is_some_and(|record| record.is_resized)
    }

    /// The number of free permits.
    pub fn free(&self, name: &SemaphoreName) -> u64 {
        let taken = self.taken.get(name).copied().unwrap_or_default();
        #[cfg(feature = "planted")]
        let taken = taken.saturating_sub(crate::planted::is("semaphore.one_too_many").into());
        self.permits(name).unwrap_or_default().saturating_sub(taken)
    }

    /// The semaphore that has been idle longest.
    pub fn longest_idle(&self) -> Option<&SemaphoreName> {
        self.idle.first().map(|(_, name)| name)
    }

    /// The permit with this token.
    pub fn permit(&self, token: Token) -> Option<&Permit> {
        self.holds.get(&token)
    }

    /// Names in order, after this one.
    pub fn after(&self, cursor: Option<&SemaphoreName>) -> impl Iterator<Item = &SemaphoreName> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.records.range::<SemaphoreName, _>((from, Bound::Unbounded)).map(|(name, _)| name)
    }

    /// A semaphore as callers see it.
    pub fn semaphore(&self, name: &SemaphoreName) -> Option<Semaphore> {
        let record = self.records.get(name)?;
        let tokens = self.by_name.range((name.clone(), Token(0))..);
        let tokens = tokens.take_while(|(there, _)| there == name);
        Some(Semaphore {
            name: name.clone(),
            permits: record.permits,
            free: self.free(name),
            holders: tokens.filter_map(|(_, token)| self.permit(*token)).cloned().collect(),
            waiters: self
                .line(name)
                .map(|waiter| PermitWait::of(&waiter.wait, waiter.weight))
                .collect(),
        })
    }

    /// All calls that wait for a permit of a semaphore, in order of arrival.
    pub fn line(&self, name: &SemaphoreName) -> impl Iterator<Item = &Waiter> {
        self.holds.waits().of(name)
    }
}
