//! Checks answers about semaphores, and that batches about them are what was requested.

use baton_core::semaphore::{
    self, Acquire, Command as SemaphoreCommand, Event as SemaphoreEvent, Permit, PermitWait,
    Rejection, Reply as SemaphoreReply, Semaphore,
};
use baton_core::waiting::wait::{Left, Wait};
use baton_core::{Answer, Event, Rejection as AnyRejection, Reply, SemaphoreName, limits};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::lock::{is_shown, same_queue};
use crate::models::lock_pool::{Pool, PoolHold, PoolKind, semaphore_name};
use crate::models::wait::WaitEnd;

fn same_permit(there: &PoolHold, shown: &Permit) -> bool {
    there.holder == shown.holder
        && is_shown(there.token, shown.token)
        && there.since == shown.acquired_at
        && there.expires_at == shown.expires_at
        && there.ttl_ms == shown.ttl_ms
        && there.weight == shown.weight
}

fn same_waits(pool: &Pool, shown: &[PermitWait]) -> bool {
    let wait = |shown: &PermitWait| {
        let PermitWait { id, agent, since, until, .. } = shown.clone();
        Wait { id, agent, since, until }
    };
    let waits: Vec<Wait> = shown.iter().map(wait).collect();
    let weights = pool.queue.iter().map(|there| there.weight);
    same_queue(pool, &waits) && weights.eq(shown.iter().map(|shown| shown.weight))
}

impl Ledger {
    fn semaphore(&self, name: &SemaphoreName, at: u64) -> Option<&Pool> {
        self.pool(&semaphore_name(name), at)
    }

    fn permit_shown(&self, name: &SemaphoreName, shown: &Permit, at: u64) -> Audit {
        let pool = self.semaphore(name, at);
        let is_there = |held: &PoolHold| same_permit(held, shown);
        let there = pool.is_some_and(|pool| pool.holds.iter().any(is_there));
        demand!(shown.name == *name && there, "{shown:?} is shown, there is {pool:?}");
        Ok(())
    }

    fn semaphore_shown(&self, shown: &Semaphore, at: u64) -> Audit {
        let Some(pool) = self.semaphore(&shown.name, at) else {
            return Err(Breach(format!("{shown:?} is shown, it is not there")));
        };
        let holders = &shown.holders;
        let mut pairs = pool.holds.iter().zip(holders);
        let same = shown.permits == pool.permits
            && shown.free == pool.free()
            && pool.holds.len() == holders.len()
            && pairs.all(|(held, permit)| same_permit(held, permit))
            && same_waits(pool, &shown.waiters);
        demand!(same, "{shown:?} is shown, it is {pool:?}");
        Ok(())
    }

    /// Checks an accepted semaphore command without effect.
    pub(crate) fn semaphore_no_effect(
        &self,
        command: &SemaphoreCommand,
        reply: &Reply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (
                SemaphoreCommand::Acquire(acquire),
                Reply::Semaphore(SemaphoreReply::Permit(None)),
            ) => {
                let pool = self.semaphore(&acquire.name, at);
                let weight = acquire.weight.unwrap_or(1);
                let full = pool.is_some_and(|pool| pool.must_wait(weight));
                let waits = acquire.wait_ms.unwrap_or(0) > 0;
                demand!(full && !waits, "there was a permit to get in {pool:?}");
                Ok(())
            }
            (
                SemaphoreCommand::Resize { name, permits },
                Reply::Semaphore(SemaphoreReply::Semaphore(shown)),
            ) => {
                demand!(
                    shown.name == *name && shown.permits == *permits,
                    "it was not resized to {permits}: {shown:?}"
                );
                self.semaphore_shown(shown, at)
            }
            (
                SemaphoreCommand::Renew { name, token, .. },
                Reply::Semaphore(SemaphoreReply::Permit(Some(permit))),
            ) => {
                demand!(permit.token == *token, "another permit is shown");
                self.permit_shown(name, permit, at)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a semaphore command with an effect.
    pub(crate) fn semaphore_reply(
        &self,
        command: &SemaphoreCommand,
        reply: &SemaphoreReply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (
                SemaphoreCommand::Acquire(Acquire { name, .. })
                | SemaphoreCommand::Renew { name, .. },
                SemaphoreReply::Permit(Some(permit)),
            ) => self.permit_shown(name, permit, at),
            (
                SemaphoreCommand::Release { name, .. } | SemaphoreCommand::Resize { name, .. },
                SemaphoreReply::Semaphore(shown),
            ) => {
                demand!(shown.name == *name, "another semaphore is shown");
                self.semaphore_shown(shown, at)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a query about semaphores.
    pub(crate) fn semaphores_shown(
        &self,
        query: &semaphore::Query,
        reply: &SemaphoreReply,
        at: u64,
    ) -> Audit {
        match (query, reply) {
            (semaphore::Query::Get { name }, SemaphoreReply::Semaphore(shown)) => {
                demand!(shown.name == *name, "another semaphore is shown");
                self.semaphore_shown(shown, at)
            }
            (semaphore::Query::List { .. }, SemaphoreReply::Semaphores { semaphores, .. }) => {
                for shown in semaphores {
                    self.semaphore_shown(shown, at)?;
                }
                let there = self.pools.iter().filter(|((kind, _), timeline)| {
                    *kind == PoolKind::Semaphore && timeline.at(at).is_some()
                });
                let (shown, there) = (semaphores.len(), there.count());
                demand!(shown == there, "{shown} of {there} semaphores are listed");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a call that waited for a permit.
    pub(crate) fn permit_ended(
        &self,
        asked: &DecidedRequest<'_>,
        name: &SemaphoreName,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Semaphore(SemaphoreReply::Permit(Some(permit))))) => {
                let holder = &permit.holder;
                demand!(holder == asked.agent, "the answer says that `{holder}` has it");
                self.permit_shown(name, permit, revision)
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Semaphore(SemaphoreReply::Permit(None)))) => {
                Ok(())
            }
            (
                WaitEnd::Left(Left::TooHeavy),
                Err(AnyRejection::Semaphore(Rejection::TooHeavy { name: named, permits, .. })),
            ) => {
                let there = self.semaphore(name, revision).map(|pool| pool.permits);
                demand!(
                    named == name && there == Some(*permits),
                    "{permits} permits of `{named}` are shown, there are {there:?}"
                );
                Ok(())
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Semaphore(Rejection::SessionEnded { name: named, agent })),
            ) => {
                demand!(
                    named == name && agent == asked.agent,
                    "the answer names the session of another agent"
                );
                Ok(())
            }
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks a refused semaphore command.
    pub(crate) fn refused_semaphore(
        &self,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            Rejection::NotFound { name } => {
                demand!(self.semaphore(name, at).is_none(), "`{name}` was there");
            }
            Rejection::PermitsDiffer { name, given, permits } => {
                let pool = self.semaphore(name, at);
                let there = pool.filter(|pool| !pool.is_resized).map(|pool| pool.permits);
                demand!(there == Some(*permits) && given != permits, "it is {pool:?}");
            }
            Rejection::TooHeavy { name, weight, permits } => {
                coverage.met("answer: weight refused");
                // It may be the number that the call itself gave for a new one.
                let there = self.semaphore(name, at).map_or(*permits, |pool| pool.permits);
                demand!(there == *permits && weight > permits, "it has {there} permits");
            }
            Rejection::StaleToken { name, given, free } => {
                coverage.met("answer: stale permit refused");
                let Some(pool) = self.semaphore(name, at) else {
                    return Err(Breach(format!("`{name}` was not there")));
                };
                let live = pool.holds.iter().any(|held| held.token == given.0);
                demand!(!live, "token {given} of `{name}` was refused, but it was live");
                let there = pool.free();
                demand!(there == *free, "{free} permits are called free, {there} are");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }

    /// Whether an acquire would have to wait.
    pub(crate) fn must_wait_for(&self, acquire: &Acquire, at: u64) -> bool {
        let pool = self.semaphore(&acquire.name, at);
        let weight = acquire.weight.unwrap_or(1);
        acquire.wait_ms.is_some() && pool.is_some_and(|pool| pool.must_wait(weight))
    }
}

impl BatchReader<'_> {
    /// The effects of a semaphore command.
    pub(crate) fn semaphore(&mut self, command: &SemaphoreCommand) -> Audit {
        match command {
            SemaphoreCommand::Acquire(acquire) => self.acquire_permit(acquire),
            SemaphoreCommand::Renew { token, ttl_ms, .. } => {
                if let Some(Event::Semaphore(SemaphoreEvent::Renewed {
                    token: renewed,
                    ttl_ms: lasts,
                    ..
                })) = self.peek()
                {
                    let lasts = ttl_ms.is_none_or(|ttl| ttl == *lasts);
                    demand!(renewed == token && lasts, "another permit was renewed");
                    self.skip();
                }
                Ok(())
            }
            SemaphoreCommand::Release { name, token } => {
                match self.take()? {
                    Event::Semaphore(SemaphoreEvent::Released { name: released, token: stale }) => {
                        demand!(name == released && token == stale, "another permit was released");
                    }
                    other => demand!(false, "a release was due, not {}", other.kind()),
                }
                self.follow_grants();
                Ok(())
            }
            SemaphoreCommand::Resize { name, permits } => self.resize(name, *permits),
        }
    }

    /// Without events it had that number already, as the answer shows. A law of the ledger checks
    /// that exactly those calls leave whose weight does not fit.
    fn resize(&mut self, name: &SemaphoreName, permits: u64) -> Audit {
        if let Some(Event::Semaphore(SemaphoreEvent::Resized { name: there, permits: now })) =
            self.peek()
        {
            demand!(name == there && permits == *now, "another semaphore was resized");
            self.skip();
            let is_refused = |event: &Event| {
                let left = Left::TooHeavy;
                matches!(event, Event::Semaphore(SemaphoreEvent::GaveUp { left: it, .. })
                    if *it == left)
            };
            while self.peek().is_some_and(is_refused) {
                self.skip();
            }
            self.follow_grants();
        }
        Ok(())
    }

    fn acquire_permit(&mut self, acquire: &Acquire) -> Audit {
        if let Some(Event::Semaphore(SemaphoreEvent::Created { name, permits })) = self.peek() {
            let fits = *name == acquire.name && Some(*permits) == acquire.permits;
            demand!(fits, "another semaphore was created");
            self.skip();
        }
        let ttl = acquire.ttl_ms.unwrap_or(limits::HOLD_TTL_MS_DEFAULT);
        let wanted = (&acquire.name, ttl, acquire.weight.unwrap_or(1));
        match self.peek() {
            Some(Event::Semaphore(SemaphoreEvent::Acquired {
                name,
                ttl_ms,
                weight,
                wait: None,
                ..
            })) => {
                demand!((name, *ttl_ms, *weight) == wanted, "another permit was taken");
                self.skip();
            }
            Some(Event::Semaphore(SemaphoreEvent::Queued {
                name, ttl_ms, until, weight, ..
            })) => {
                demand!((name, *ttl_ms, *weight) == wanted, "it waits for something else");
                let longest = acquire.wait_ms.map(|wait| self.batch.time.after(wait));
                demand!(longest == Some(*until), "it waits until {until}, not {longest:?}");
                self.skip();
            }
            _ => demand!(acquire.wait_ms.unwrap_or(0) == 0, "it did not even wait"),
        }
        Ok(())
    }
}
