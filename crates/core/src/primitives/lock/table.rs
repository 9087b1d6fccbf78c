//! The table of locks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::vocabulary::{Event, Hold, Lock, Status};
use crate::names::{AgentId, LockName};
use crate::numbers::{Token, WaitId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{self, WaitQueues};

/// A call that waits for a lock.
pub type Waiter = wait_queue::Waiter<LockName>;

/// All locks that are held or waited for. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    holds: BTreeMap<LockName, Hold>,
    by_token: BTreeMap<Token, LockName>,
    by_holder: BTreeSet<(AgentId, LockName)>,
    ends: BTreeSet<(Timestamp, LockName)>,
    wait_queues: WaitQueues<LockName>,
    // Not logged: since when this server has been up to receive renewals.
    awake_since: Timestamp,
}

/// How to undo one change: the previous hold and waiter.
pub struct Undo {
    hold: Option<(LockName, Option<Hold>)>,
    wait: Option<(WaitId, Option<Waiter>)>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = (Vec<Hold>, Vec<Waiter>);

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.name();
        let before = self.holds.get(name);
        let (hold, wait) = match event {
            Event::Acquired { name, holder, token, ttl_ms, wait } => {
                assert!(before.is_none(), "a lock has one holder at a time");
                let hold = Hold {
                    name: name.clone(),
                    holder: holder.clone(),
                    token: *token,
                    acquired_at: moment.time,
                    expires_at: moment.time.after(*ttl_ms),
                    ttl_ms: *ttl_ms,
                };
                (Some(Some(hold)), wait.map(|wait| (wait, None)))
            }
            Event::Renewed { ttl_ms, .. } => {
                let expires_at = moment.time.after(*ttl_ms);
                let renewed =
                    before.map(|hold| Hold { expires_at, ttl_ms: *ttl_ms, ..hold.clone() });
                (Some(renewed), None)
            }
            Event::Released { .. } | Event::Expired { .. } | Event::Dropped { .. } => {
                (Some(None), None)
            }
            Event::Queued { name, waiter, wait, ttl_ms, until } => {
                let who =
                    Wait { id: *wait, agent: waiter.clone(), since: moment.time, until: *until };
                let waiter = Waiter::new(name.clone(), who, *ttl_ms);
                (None, Some((*wait, Some(waiter))))
            }
            Event::GaveUp { wait, .. } => (None, Some((*wait, None))),
        };
        Undo {
            hold: hold.map(|after| (name.clone(), self.replace_hold(name, after))),
            wait: wait.map(|(id, after)| (id, self.wait_queues.replace(id, after))),
        }
    }

    fn undo(&mut self, undo: Undo) {
        if let Some((name, before)) = undo.hold {
            self.replace_hold(&name, before);
        }
        if let Some((id, before)) = undo.wait {
            self.wait_queues.replace(id, before);
        }
    }

    fn facts(&self) -> Self::Facts {
        (self.holds.values().cloned().collect(), self.wait_queues.all().cloned().collect())
    }

    fn restore((holds, waits): Self::Facts) -> Self {
        let mut table = Self::default();
        for hold in holds {
            table.replace_hold(&hold.name.clone(), Some(hold));
        }
        for waiter in waits {
            table.wait_queues.replace(waiter.wait.id, Some(waiter));
        }
        table
    }

    fn check(&self) {
        let count = self.holds.len();
        assert_eq!(count, self.by_token.len(), "every hold has its own token");
        assert_eq!(count, self.by_holder.len(), "every hold has a holder");
        assert_eq!(count, self.ends.len(), "every hold ends");
        self.wait_queues.check();
        for waiter in self.wait_queues.all() {
            assert!(self.holds.contains_key(&waiter.name), "nobody waits for a free lock");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let hold = self.ends.first().map(|(moment, _)| *moment);
        hold.into_iter().chain(self.wait_queues.next_end()).min()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        self.ends = self.holds.values().map(|hold| (self.end(hold), hold.name.clone())).collect();
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.wait_queues.all().map(|waiter| waiter.wait.id)
    }

    fn is_waiting(&self, wait: WaitId) -> bool {
        self.wait_queues.get(wait).is_some()
    }

    fn holder_of(&self, token: Token) -> Option<&AgentId> {
        self.by_token.get(&token).and_then(|name| self.holds.get(name)).map(|hold| &hold.holder)
    }
}

impl Table {
    fn replace_hold(&mut self, name: &LockName, after: Option<Hold>) -> Option<Hold> {
        let before = self.holds.remove(name);
        if let Some(before) = &before {
            self.by_token.remove(&before.token);
            self.by_holder.remove(&(before.holder.clone(), name.clone()));
            self.ends.remove(&(self.end(before), name.clone()));
        }
        if let Some(after) = after {
            let twice = self.by_token.insert(after.token, name.clone());
            assert!(twice.is_none(), "no two holds have the same token");
            self.by_holder.insert((after.holder.clone(), name.clone()));
            self.ends.insert((self.end(&after), name.clone()));
            self.holds.insert(name.clone(), after);
        }
        before
    }

    /// When a hold expires. Time without a server does not count, because no renewal could arrive.
    fn end(&self, hold: &Hold) -> Timestamp {
        #[cfg(feature = "planted")]
        if crate::planted::is("lock.ends_early") {
            return hold.acquired_at.after(hold.ttl_ms / 2);
        }
        hold.expires_at.max(self.awake_since.after(hold.ttl_ms))
    }

    /// The hold of a lock.
    pub fn hold(&self, name: &LockName) -> Option<&Hold> {
        self.holds.get(name)
    }

    /// The number of held locks.
    pub fn held(&self) -> usize {
        self.holds.len()
    }

    /// The number of locks that an agent holds.
    pub fn held_by(&self, agent: &AgentId) -> usize {
        self.holds_of(agent).count()
    }

    /// The locks that an agent holds, by name.
    pub fn holds_of(&self, agent: &AgentId) -> impl Iterator<Item = &Hold> {
        let names = self.by_holder.range((agent.clone(), LockName::least())..);
        names.take_while(move |(holder, _)| holder == agent).map(|(_, name)| &self.holds[name])
    }

    /// Holds by name, after this one.
    pub fn after(&self, cursor: Option<&LockName>) -> impl Iterator<Item = &Hold> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.holds.range::<LockName, _>((from, Bound::Unbounded)).map(|(_, hold)| hold)
    }

    /// A lock as callers see it.
    pub fn lock(&self, name: &LockName) -> Lock {
        let hold = self.holds.get(name).cloned();
        let status = if hold.is_some() { Status::Held } else { Status::Free };
        let waiters = self.wait_queues.of(name).map(|waiter| waiter.wait.clone()).collect();
        Lock { name: name.clone(), status, hold, waiters }
    }

    /// The first call in the wait queue of a lock.
    pub fn first_in_line(&self, name: &LockName) -> Option<&Waiter> {
        #[cfg(feature = "planted")]
        if crate::planted::is("lock.last_in_line") {
            return self.wait_queues.of(name).last();
        }
        self.wait_queues.of(name).next()
    }

    /// A waiting call.
    pub fn waiter(&self, id: WaitId) -> Option<&Waiter> {
        self.wait_queues.get(id)
    }

    /// All waiting calls, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.wait_queues.all()
    }

    /// The waiting calls of an agent, in order of arrival.
    pub fn waits_of(&self, agent: &AgentId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of_agent(agent)
    }

    /// Expired holds.
    pub fn overdue_holds(&self, now: Timestamp) -> impl Iterator<Item = &Hold> {
        let over = self.ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, name)| &self.holds[name])
    }

    /// Waiting calls that have timed out.
    pub fn overdue_waits(&self, now: Timestamp) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.overdue(now)
    }
}
