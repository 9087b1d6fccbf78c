//! The table of locks.

use super::vocabulary::{Event, Hold, Lock, Status};
use crate::names::{AgentId, LockName};
use crate::numbers::{Token, WaitId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::holds::{HoldChange, Holding, Holds};
use crate::waiting::wait::{Left, Wait};
use crate::waiting::wait_queue;

/// A call that waits for a lock.
pub type Waiter = wait_queue::Waiter<LockName>;

/// All locks that are held or waited for. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    holds: Holds<Hold>,
}

/// How to undo one change: the previous hold and waiter.
pub type Undo = HoldChange<Hold>;

impl Holding for Hold {
    type Name = LockName;
    type Key = LockName;
    type Event = Event;
    const HELD_OR_AWAITED: &'static str = "locks that this agent holds or waits for";

    fn least_key() -> LockName {
        LockName::least()
    }

    fn key(&self) -> LockName {
        self.name.clone()
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
        let wait = &waiter.wait;
        Event::GaveUp { name: waiter.name.clone(), waiter: wait.agent.clone(), wait: wait.id, left }
    }

    #[cfg(feature = "planted")]
    fn end(&self, awake_since: Timestamp) -> Timestamp {
        if crate::planted::is("lock.ends_early") {
            return self.acquired_at.after(self.ttl_ms / 2);
        }
        self.expires_at.max(awake_since.after(self.ttl_ms))
    }
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
        self.holds.replace(HoldChange { hold: hold.map(|after| (name.clone(), after)), wait })
    }

    fn undo(&mut self, undo: Undo) {
        self.holds.replace(undo);
    }

    fn facts(&self) -> Self::Facts {
        let waits = self.holds.waits().all().cloned().collect();
        (self.holds.after(None).cloned().collect(), waits)
    }

    fn restore((holds, waits): Self::Facts) -> Self {
        Self { holds: Holds::restore(holds, waits) }
    }

    fn check(&self) {
        self.holds.check();
        for waiter in self.holds.waits().all() {
            assert!(self.hold(&waiter.name).is_some(), "no call waits for a free lock");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.holds.next_deadline()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.holds.wake(moment);
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.holds.waits().all().map(|waiter| waiter.wait.id)
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
    /// All holds, and the calls that wait for one.
    pub fn holds(&self) -> &Holds<Hold> {
        &self.holds
    }

    /// The hold of a lock.
    pub fn hold(&self, name: &LockName) -> Option<&Hold> {
        self.holds.get(name)
    }

    /// A lock as callers see it.
    pub fn lock(&self, name: &LockName) -> Lock {
        let hold = self.holds.get(name).cloned();
        let status = if hold.is_some() { Status::Held } else { Status::Free };
        let waiters = self.holds.waits().of(name).map(|waiter| waiter.wait.clone()).collect();
        Lock { name: name.clone(), status, hold, waiters }
    }

    /// The first call in the wait queue of a lock.
    pub fn first_in_line(&self, name: &LockName) -> Option<&Waiter> {
        #[cfg(feature = "planted")]
        if crate::planted::is("lock.last_in_line") {
            return self.holds.waits().of(name).last();
        }
        self.holds.waits().of(name).next()
    }
}
