//! Pools with a limited number of holders: locks and semaphores, according to the log.
//!
//! A lock is a pool with one permit. Laws:
//!
//! 1. Nothing is granted beyond the number of permits, and each hold has its own token.
//! 2. A later call goes to the end of the wait queue; the first in the queue is served next.
//! 3. The first in the queue does not wait while its weight is free: it gets it in the same batch.
//! 4. A hold ends by its holder, with the session of the holder, or when it expires: never earlier
//!    than promised, and times without a server do not count.
//! 5. When a session ends, everything that it holds and waits for ends in the same batch.
//! 6. A change of the number of permits ends no hold. It ends exactly the waits that it makes
//!    impossible.

use std::collections::BTreeSet;

use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Batch, Event, LockName, SemaphoreName, Timestamp, Token, WaitId, lock, semaphore,
};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// The kind of pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolKind {
    /// One permit.
    Lock,
    /// The number of permits that the first call, or a resize, has set.
    Semaphore,
}

/// The kind and name of a pool.
pub type PoolName = (PoolKind, String);

/// A held permit.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolHold {
    /// The holder.
    pub holder: AgentId,
    /// The token.
    pub token: u64,
    /// The revision of the grant.
    pub revision: u64,
    /// When it was granted.
    pub since: Timestamp,
    /// When it expires, as promised.
    pub expires_at: Timestamp,
    /// The duration of a renewal.
    pub ttl_ms: u64,
    /// How many permits it takes.
    pub weight: u64,
}

/// A call that waits for a permit.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolWaiter {
    /// The agent.
    pub agent: AgentId,
    /// The waiting call.
    pub wait: u64,
    /// When it started to wait.
    pub since: Timestamp,
    /// When it times out.
    pub until: Timestamp,
    /// The requested time to live.
    pub ttl_ms: u64,
    /// The requested number of permits.
    pub weight: u64,
}

/// A pool as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The maximum weight of all holders.
    pub permits: u64,
    /// Whether the number of permits was changed.
    pub is_resized: bool,
    /// The holds.
    pub holds: Vec<PoolHold>,
    /// The wait queue, in order of arrival.
    pub queue: Vec<PoolWaiter>,
}

impl Pool {
    /// A free lock.
    pub fn free_lock() -> Self {
        Self { permits: 1, is_resized: false, holds: Vec::new(), queue: Vec::new() }
    }

    fn taken(&self) -> u64 {
        self.holds.iter().map(|held| held.weight).sum()
    }

    /// How many permits are free.
    pub fn free(&self) -> u64 {
        self.permits.saturating_sub(self.taken())
    }

    /// Whether a new call of this weight has to wait.
    pub fn must_wait(&self, weight: u64) -> bool {
        self.free() < weight || !self.queue.is_empty()
    }

    /// A call leaves the queue without a result: refused if and only if its weight never fits.
    fn leave(&mut self, wait: WaitId, weight: u64, left: Left) -> Audit {
        let index = self.queue.iter().position(|there| there.wait == wait.0);
        let Some(index) = index else {
            return Err(Breach(format!("call {wait} is not in the queue")));
        };
        let waiter = self.queue.remove(index);
        demand!(waiter.weight == weight, "call {wait} asked for {}", waiter.weight);
        let is_in_vain = weight > self.permits;
        demand!(
            is_in_vain == (left == Left::TooHeavy),
            "call {wait} asked for {weight} of {} permits and left: {left:?}",
            self.permits
        );
        Ok(())
    }

    fn take(&mut self, token: Token) -> Audit<PoolHold> {
        let index = self.holds.iter().position(|held| held.token == token.0);
        let Some(index) = index else {
            return Err(Breach(format!("it is not held under token {token}")));
        };
        Ok(self.holds.remove(index))
    }
}

/// A change of a pool, in terms common to all kinds.
#[derive(Clone, Copy)]
pub(crate) enum PoolChange<'a> {
    Acquired { holder: &'a AgentId, token: Token, ttl_ms: u64, weight: u64, wait: Option<WaitId> },
    Renewed { token: Option<Token>, ttl_ms: u64 },
    Released { token: Token },
    Expired { token: Token },
    Dropped { token: Token },
    Queued { agent: &'a AgentId, wait: WaitId, ttl_ms: u64, until: Timestamp, weight: u64 },
    GaveUp { agent: &'a AgentId, wait: WaitId, left: Left, weight: u64 },
    Resized { permits: u64 },
}

/// A lock event in these terms.
fn of_lock(event: &lock::Event) -> PoolChange<'_> {
    match event {
        lock::Event::Acquired { holder, token, ttl_ms, wait, .. } => {
            let (token, ttl_ms, wait) = (*token, *ttl_ms, *wait);
            PoolChange::Acquired { holder, token, ttl_ms, weight: 1, wait }
        }
        lock::Event::Renewed { ttl_ms, .. } => PoolChange::Renewed { token: None, ttl_ms: *ttl_ms },
        lock::Event::Released { token, .. } => PoolChange::Released { token: *token },
        lock::Event::Expired { token, .. } => PoolChange::Expired { token: *token },
        lock::Event::Dropped { token, .. } => PoolChange::Dropped { token: *token },
        lock::Event::Queued { waiter: agent, wait, ttl_ms, until, .. } => {
            let (wait, ttl_ms, until) = (*wait, *ttl_ms, *until);
            PoolChange::Queued { agent, wait, ttl_ms, until, weight: 1 }
        }
        lock::Event::GaveUp { waiter: agent, wait, left, .. } => {
            PoolChange::GaveUp { agent, wait: *wait, left: *left, weight: 1 }
        }
    }
}

/// A semaphore event in these terms; none if it creates one.
fn of_semaphore(event: &semaphore::Event) -> Option<PoolChange<'_>> {
    use semaphore::Event;
    Some(match event {
        Event::Created { .. } | Event::Forgotten { .. } => return None,
        Event::Resized { permits, .. } => PoolChange::Resized { permits: *permits },
        Event::Acquired { holder, token, ttl_ms, weight, wait, .. } => {
            let (token, ttl_ms, weight, wait) = (*token, *ttl_ms, *weight, *wait);
            PoolChange::Acquired { holder, token, ttl_ms, weight, wait }
        }
        Event::Renewed { token, ttl_ms, .. } => {
            PoolChange::Renewed { token: Some(*token), ttl_ms: *ttl_ms }
        }
        Event::Released { token, .. } => PoolChange::Released { token: *token },
        Event::Expired { token, .. } => PoolChange::Expired { token: *token },
        Event::Dropped { token, .. } => PoolChange::Dropped { token: *token },
        Event::Queued { waiter: agent, wait, ttl_ms, until, weight, .. } => {
            let (wait, ttl_ms, until, weight) = (*wait, *ttl_ms, *until, *weight);
            PoolChange::Queued { agent, wait, ttl_ms, until, weight }
        }
        Event::GaveUp { waiter: agent, wait, left, weight, .. } => {
            PoolChange::GaveUp { agent, wait: *wait, left: *left, weight: *weight }
        }
    })
}

/// Counts what made room for a call that waited, other than the end of a hold.
fn cover_grant(batch: &Batch, coverage: &mut Coverage) {
    use semaphore::Event as Change;
    let has = |is: fn(&Change) -> bool| {
        let mut events = batch.events.iter();
        events.any(|event| matches!(event, Event::Semaphore(event) if is(event)))
    };
    let is_end = |event: &Change| {
        matches!(event, Change::Released { .. } | Change::Expired { .. } | Change::Dropped { .. })
    };
    if has(|event| matches!(event, Change::Resized { .. })) {
        coverage.met("batch: larger semaphore granted");
    } else if has(|event| matches!(event, Change::GaveUp { .. })) && !has(is_end) {
        coverage.met("batch: departure from a queue granted");
    }
}

/// The name of a lock among the pools.
pub fn lock_name(name: &LockName) -> PoolName {
    (PoolKind::Lock, name.as_str().to_owned())
}

/// The name of a semaphore among the pools.
pub fn semaphore_name(name: &SemaphoreName) -> PoolName {
    (PoolKind::Semaphore, name.as_str().to_owned())
}

impl Ledger {
    /// A pool as it was after a revision.
    pub fn pool(&self, name: &PoolName, at: u64) -> Option<&Pool> {
        self.pools.get(name)?.at(at)
    }

    /// A lock as it was after a revision.
    pub fn lock(&self, name: &LockName, at: u64) -> Pool {
        self.pool(&lock_name(name), at).cloned().unwrap_or_else(Pool::free_lock)
    }

    pub(crate) fn add_lock(
        &mut self,
        batch: &Batch,
        event: &lock::Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = lock_name(event.name());
        let pool = self.lock(event.name(), u64::MAX);
        let changed = self.change(pool, batch, &of_lock(event), ended, coverage);
        let pool =
            changed.map_err(|breach| Breach(format!("lock `{}`: {}", event.name(), breach.0)))?;
        self.pools.entry(name.clone()).or_default().set(batch.revision.0, pool);
        self.touched.insert(name);
        Ok(())
    }

    pub(crate) fn add_semaphore(
        &mut self,
        batch: &Batch,
        event: &semaphore::Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = semaphore_name(event.name());
        let pool = self.pool(&name, u64::MAX).cloned();
        let words = |breach: Breach| Breach(format!("semaphore `{}`: {}", event.name(), breach.0));
        let pool = match (event, of_semaphore(event), pool) {
            (semaphore::Event::Created { permits, .. }, _, None) => {
                Pool { permits: *permits, ..Pool::free_lock() }
            }
            (_, Some(change), Some(pool)) => {
                self.change(pool, batch, &change, ended, coverage).map_err(words)?
            }
            (event, ..) => return Err(words(Breach(format!("{event:?} cannot be")))),
        };
        self.pools.entry(name.clone()).or_default().set(batch.revision.0, pool);
        self.touched.insert(name);
        Ok(())
    }

    fn change(
        &mut self,
        mut pool: Pool,
        batch: &Batch,
        change: &PoolChange<'_>,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit<Pool> {
        match *change {
            PoolChange::Acquired { holder, token, ttl_ms, weight, wait } => {
                self.acquired(&mut pool, batch, (holder, ttl_ms, weight), token, wait)?;
                if wait.is_some() {
                    coverage.met("batch: handed over to the first in line");
                    cover_grant(batch, coverage);
                }
            }
            PoolChange::Resized { permits } => {
                if permits > pool.permits {
                    coverage.met("batch: semaphore made larger");
                }
                (pool.permits, pool.is_resized) = (permits, true);
                if pool.taken() > permits {
                    coverage.met("batch: semaphore made smaller than its holders");
                }
            }
            PoolChange::Renewed { token, ttl_ms } => {
                let mut holds = pool.holds.iter_mut();
                let held = holds.find(|held| token.is_none_or(|token| held.token == token.0));
                let Some(held) = held else { return Err(Breach("it has no holder".to_owned())) };
                held.ttl_ms = ttl_ms;
                held.expires_at = batch.time.after(ttl_ms);
            }
            PoolChange::Released { token } => {
                pool.take(token)?;
                self.tokens.end(batch, token.0);
            }
            PoolChange::Expired { token } => {
                let held = pool.take(token)?;
                self.tokens.end(batch, token.0);
                self.check_expired(batch, held.expires_at, held.ttl_ms)?;
                coverage.met("batch: hold expired");
            }
            PoolChange::Dropped { token } => {
                let held = pool.take(token)?;
                self.tokens.end(batch, token.0);
                demand!(ended.contains(&held.holder), "the session of its holder has not ended");
                coverage.met("batch: hold dropped with its session");
            }
            PoolChange::Queued { agent, wait, ttl_ms, until, weight } => {
                demand!(
                    weight <= pool.permits && pool.must_wait(weight),
                    "`{agent}` waits for {weight} permits of {pool:?}"
                );
                if pool.free() >= weight {
                    coverage.met("batch: heavy waiter was not overtaken");
                }
                self.waits.begin(batch, agent, wait, until)?;
                let (agent, wait, since) = (agent.clone(), wait.0, batch.time);
                pool.queue.push(PoolWaiter { agent, wait, since, until, ttl_ms, weight });
            }
            PoolChange::GaveUp { agent, wait, left, weight } => {
                pool.leave(wait, weight, left)?;
                self.waits.left(batch, wait, agent, left, ended)?;
                coverage.left(left);
            }
        }
        Ok(pool)
    }

    fn acquired(
        &mut self,
        pool: &mut Pool,
        batch: &Batch,
        (holder, ttl_ms, weight): (&AgentId, u64, u64),
        token: Token,
        wait: Option<WaitId>,
    ) -> Audit {
        demand!(
            pool.free() >= weight,
            "`{holder}` got {weight} of {} permits under token {token} while {:?} had it",
            pool.permits,
            pool.holds
        );
        self.tokens.give(batch, token, holder)?;
        if let Some(wait) = wait {
            let first = pool.queue.first().map(|first| first.wait);
            demand!(first == Some(wait.0), "call {wait} got it when {first:?} was first in line");
            let first = pool.queue.remove(0);
            demand!(
                first.ttl_ms == ttl_ms && first.weight == weight,
                "`{holder}` requested {first:?}"
            );
            self.waits.granted(batch, wait, holder)?;
        } else {
            demand!(pool.queue.is_empty(), "`{holder}` has passed {:?}", pool.queue);
            demand!(batch.agent == *holder, "`{holder}` did not ask for it");
        }
        pool.holds.push(PoolHold {
            holder: holder.clone(),
            token: token.0,
            revision: batch.revision.0,
            since: batch.time,
            expires_at: batch.time.after(ttl_ms),
            ttl_ms,
            weight,
        });
        Ok(())
    }

    /// Checks that a hold that was promised until a time, and can be renewed by this much, has
    /// ended.
    pub(crate) fn check_expired(&self, batch: &Batch, expires_at: Timestamp, ttl_ms: u64) -> Audit {
        demand!(batch.agent == AgentId::engine(), "its deadline was recorded by an agent");
        let time = batch.time;
        demand!(time >= expires_at, "its time was over at {time}, it lasts until {expires_at}");
        let served_for = self.served_for();
        demand!(
            served_for >= ttl_ms,
            "its time was over after {served_for} ms in which it could be renewed, not {ttl_ms}"
        );
        Ok(())
    }

    /// A batch is complete: no call waits for what is free, and no ended session has holds or waits
    /// from before.
    pub(crate) fn check_pools(&mut self, revision: u64, ended: &BTreeSet<AgentId>) -> Audit {
        for name in std::mem::take(&mut self.touched) {
            let Some(pool) = self.pool(&name, revision) else { continue };
            demand!(
                pool.queue.first().is_none_or(|first| first.weight > pool.free()),
                "{name:?} is free, and yet {:?} wait",
                pool.queue
            );
            let in_vain = pool.queue.iter().find(|there| there.weight > pool.permits);
            demand!(in_vain.is_none(), "{in_vain:?} waits for more than {name:?} has");
        }
        if ended.is_empty() {
            return Ok(());
        }
        for (name, timeline) in &self.pools {
            let Some(pool) = timeline.now() else { continue };
            let holds = |held: &&PoolHold| held.revision < revision && ended.contains(&held.holder);
            let waits = |there: &&PoolWaiter| there.wait < revision && ended.contains(&there.agent);
            let left = (pool.holds.iter().find(holds), pool.queue.iter().find(waits));
            demand!(left == (None, None), "a session ended, and {name:?} still has {left:?}");
        }
        Ok(())
    }

    /// Expired holds.
    pub(crate) fn overdue_hold(&self, now: Timestamp) -> Option<(&PoolName, &PoolHold)> {
        let holds = self.pools.iter().flat_map(|(name, timeline)| {
            let holds = timeline.now().map(|pool| pool.holds.iter()).into_iter().flatten();
            holds.map(move |held| (name, held))
        });
        let end = |held: &PoolHold| held.expires_at.max(self.woken_at.after(held.ttl_ms));
        holds.into_iter().find(|(_, held)| end(held) <= now)
    }
}
