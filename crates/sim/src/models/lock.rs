//! Checks answers about holds and waits, and that batches about them are what was requested.
//!
//! A waiting call is checked twice: once its wait is durable, others may see it in the queue; and
//! when a later batch has ended the wait, the caller gets its answer. Both are compared with the
//! log, and the answer must be exactly what the log contains.

use baton_core::lock::{self, Command as LockCommand, Event as LockEvent, Reply as LockReply};
use baton_core::waiting::wait::{Left, Step};
use baton_core::{
    AgentId, Answer, Command, Event, LockName, Mutation, Precondition, Rejection, Reply, Token,
    WaitId, barrier, handoff, join, limits, message, pipeline, semaphore, stream, task, wait,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::{BatchReader, explain};
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::lock_pool::{Pool, PoolHold, PoolKind};
use crate::models::wait::WaitEnd;

/// The commands of a mutation, in order.
pub(crate) fn commands(mutation: &Mutation) -> &[Command] {
    mutation.commands()
}

/// How a waiting call was answered, for the coverage.
fn answered(how: WaitEnd) -> &'static str {
    match how {
        WaitEnd::Granted => "answer: granted after a wait",
        WaitEnd::Left(Left::Timeout) => "answer: wait timed out",
        WaitEnd::Left(_) => "answer: session ended while it waited",
        WaitEnd::Reset => "answer: reset while it waited",
    }
}

impl Ledger {
    /// Checks a call that waits durably. True if it had its own effect.
    pub fn queued(
        &mut self,
        asked: &DecidedRequest<'_>,
        wait: u64,
        coverage: &mut Coverage,
    ) -> Audit<bool> {
        let DecidedRequest { agent, request, decided_at, .. } = *asked;
        demand!(decided_at <= self.head(), "decided at {decided_at}, which is not durable");
        demand!(decided_at >= self.answered, "decided at {decided_at}, before an earlier answer");
        self.answered = decided_at;
        let under = request.idempotency_key.as_ref();
        if let Some(first) = under.and_then(|key| self.waits.under(agent, key, decided_at)) {
            coverage.met("wait: repeated under its key");
            demand!(first == wait, "call {wait} waits under the key of call {first}");
            return Ok(false);
        }
        self.check_fence(agent, &request.mutation, decided_at)?;
        let revision = decided_at + 1;
        demand!(wait == revision, "the call of `{agent}` got number {wait} at {revision}");
        let Some(batch) = self.batch(revision).cloned() else {
            return Err(Breach(format!("revision {revision} is not in the log")));
        };
        explain(self, &batch, agent, request)?;
        let begins = |event: &Event| event.wait() == Some(Step::Begins(WaitId(wait)));
        demand!(batch.events.iter().any(begins), "call {wait} does not wait: {:?}", batch.events);
        self.answered = revision;
        Ok(true)
    }

    /// Checks the answer to a waiting call.
    pub fn ended(
        &mut self,
        asked: &DecidedRequest<'_>,
        wait: u64,
        answer: &Result<Answer, Rejection>,
        coverage: &mut Coverage,
    ) -> Audit {
        let DecidedRequest { agent, request, .. } = *asked;
        let Some((revision, how)) = self.waits.closed(wait) else {
            return Err(Breach(format!("call {wait} of `{agent}` got {answer:?}, but it waits")));
        };
        let words = |breach: Breach| {
            Breach(format!("call {wait} ended at {revision}, {how:?}: {}", breach.0))
        };
        if let Ok(Answer { revision: shown, .. }) = answer {
            demand!(shown.0 == revision, "call {wait} ended at {revision}, answered at {shown}");
        }
        let [command] = commands(&request.mutation) else {
            return Err(Breach("a transaction has waited".to_owned()));
        };
        match (how, command, answer) {
            (WaitEnd::Left(Left::Gone), ..) => {
                return Err(Breach(format!("call {wait} was given up, but got {answer:?}")));
            }
            (_, Command::Lock(LockCommand::Acquire(acquire)), answer) => {
                self.lock_ended(asked, &acquire.name, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Semaphore(semaphore::Command::Acquire(acquire)), answer) => {
                self.permit_ended(asked, &acquire.name, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Barrier(barrier::Command::Arrive(arrive)), answer) => {
                self.arrival_ended(asked, arrive, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Join(join::Command::Wait { join, .. }), answer) => {
                self.join_ended(asked, join, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Wait(wait::Command::Next(next)), answer) => {
                self.next_ended(asked, next, (revision, how), answer, coverage).map_err(words)?;
            }
            (_, Command::Wait(command), answer) => {
                self.status_wait_ended(asked, (wait, command), how, answer).map_err(words)?;
            }
            (_, Command::Handoff(handoff::Command::Receive { .. }), answer) => {
                self.receive_ended(asked, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Message(command), answer) => {
                self.message_wait_ended(asked, command, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Stream(stream::Command::Receive(receive)), answer) => {
                self.stream_wait_ended(receive, (revision, how), answer).map_err(words)?;
            }
            (_, Command::Task(task::Command::Claim(claim)), answer) => {
                self.claim_ended(asked, claim, (revision, how), answer).map_err(words)?;
            }
            (_, command, answer) => {
                return Err(Breach(format!("{command:?} waited, and got {answer:?}")));
            }
        }
        coverage.met(answered(how));
        if let (Some(key), Ok(answer), WaitEnd::Granted) = (&request.idempotency_key, answer, how) {
            let name = (revision, agent.clone(), key.clone());
            let keyed = self.keyed.entry(name).or_default();
            keyed.request.get_or_insert(request.clone());
            let first = keyed.answer.get_or_insert(answer.clone());
            demand!(first == answer, "`{key}` was first answered with {first:?}, now {answer:?}");
        }
        Ok(())
    }

    fn lock_ended(
        &self,
        asked: &DecidedRequest<'_>,
        name: &LockName,
        (revision, how): (u64, WaitEnd),
        answer: &Result<Answer, Rejection>,
    ) -> Audit {
        let reply = answer.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Lock(LockReply::Hold(Some(hold))))) => {
                demand!(
                    hold.holder == *asked.agent,
                    "the answer says that `{}` has it",
                    hold.holder
                );
                self.hold_shown(name, hold, revision)
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Lock(LockReply::Hold(None)))) => Ok(()),
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(Rejection::Lock(lock::Rejection::SessionEnded { name: named, agent })),
            ) => {
                demand!(
                    named == name && agent == asked.agent,
                    "the answer names the session of another agent"
                );
                Ok(())
            }
            (_, answer) => Err(Breach(format!("the answer is {answer:?}"))),
        }
    }

    /// Checks that a write with a token was allowed, and that the tokens in it are the caller's.
    pub(crate) fn check_fence(&self, agent: &AgentId, mutation: &Mutation, at: u64) -> Audit {
        let mutation = mutation.executed();
        let fence = if let Mutation::Fenced { token, .. } = mutation { Some(*token) } else { None };
        if let Some(token) = fence {
            let live = self.tokens.is_live(token, at);
            demand!(live, "something was done under token {token}, which was stale at {at}");
        }
        let required = match mutation {
            Mutation::Transaction { require, .. } => require.as_slice(),
            Mutation::Command(_) | Mutation::Fenced { .. } | Mutation::Minimal(_) => &[],
        };
        let required = required.iter().filter_map(|precondition| match precondition {
            Precondition::Token(token) => Some(*token),
            _ => None,
        });
        let named = commands(mutation).iter().filter_map(Command::token);
        for token in fence.into_iter().chain(required).chain(named) {
            let holder = self.tokens.holder(token, at);
            let is_own = holder.is_none_or(|holder| holder == agent);
            demand!(is_own, "`{agent}` acted under token {token} of {holder:?}");
        }
        Ok(())
    }

    /// Checks that a token was refused because another agent holds it.
    pub(crate) fn refused_token(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        let Rejection::NotHolder { given, holder, caller } = rejection else { return Ok(()) };
        coverage.met("answer: another agent's token refused");
        let known = self.tokens.holder(*given, asked.decided_at);
        demand!(caller == asked.agent, "the refusal names `{caller}` as the caller");
        demand!(holder != caller, "`{caller}` was refused its own token {given}");
        demand!(known == Some(holder), "token {given} belongs to {known:?}");
        Ok(())
    }

    /// Checks an accepted lock command without effect.
    pub(crate) fn lock_no_effect(&self, command: &LockCommand, reply: &Reply, at: u64) -> Audit {
        match (command, reply) {
            (LockCommand::Acquire(acquire), Reply::Lock(LockReply::Hold(None))) => {
                let pool = self.lock(&acquire.name, at);
                demand!(!pool.holds.is_empty(), "lock `{}` was free", acquire.name);
                demand!(acquire.wait_ms.unwrap_or(0) == 0, "the request was to wait");
                Ok(())
            }
            (
                LockCommand::Renew { name, token, ttl_ms },
                Reply::Lock(LockReply::Hold(Some(hold))),
            ) => {
                self.hold_shown(name, hold, at)?;
                demand!(hold.token == *token, "token {token} was renewed, {} has it", hold.token);
                demand!(ttl_ms.is_none_or(|ttl| ttl == hold.ttl_ms), "the requested time differs");
                Ok(())
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a lock command with an effect.
    pub(crate) fn lock_reply(&self, command: &LockCommand, reply: &LockReply, at: u64) -> Audit {
        match (command, reply) {
            (
                LockCommand::Acquire(lock::Acquire { name, .. }) | LockCommand::Renew { name, .. },
                LockReply::Hold(Some(hold)),
            ) => self.hold_shown(name, hold, at),
            (LockCommand::Release { name, .. }, LockReply::Lock(lock)) => {
                demand!(lock.name == *name, "another lock is shown");
                self.lock_shown(lock, at)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks that a hold is shown as it was.
    fn hold_shown(&self, name: &LockName, hold: &lock::Hold, at: u64) -> Audit {
        let pool = self.lock(name, at);
        let there = pool.holds.first();
        demand!(
            hold.name == *name && there.is_some_and(|there| same_hold(there, hold)),
            "lock `{name}` is shown as {hold:?}, but it is {there:?}"
        );
        Ok(())
    }

    /// Checks that a lock is shown as it was.
    pub(crate) fn lock_shown(&self, shown: &lock::Lock, at: u64) -> Audit {
        let pool = self.lock(&shown.name, at);
        let hold = match (&shown.hold, pool.holds.first()) {
            (None, None) => shown.status == lock::Status::Free,
            (Some(shown_hold), Some(there)) => {
                shown.status == lock::Status::Held && same_hold(there, shown_hold)
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        demand!(hold && same_queue(&pool, &shown.waiters), "{shown:?} is shown, it is {pool:?}");
        Ok(())
    }

    /// Checks the answer to a query about locks.
    pub(crate) fn locks_shown(&self, query: &lock::Query, reply: &LockReply, at: u64) -> Audit {
        match (query, reply) {
            (lock::Query::Get { name }, LockReply::Lock(lock)) => {
                demand!(lock.name == *name, "another lock is shown");
                self.lock_shown(lock, at)
            }
            (lock::Query::List { .. }, LockReply::Locks { locks, deadlocks, .. }) => {
                for lock in locks {
                    demand!(lock.hold.is_some(), "a free lock is listed");
                    self.lock_shown(lock, at)?;
                }
                let held = self.pools.iter().filter(|((kind, _), timeline)| {
                    let held = timeline.at(at).is_some_and(|pool| !pool.holds.is_empty());
                    *kind == PoolKind::Lock && held
                });
                let held = held.count();
                demand!(locks.len() == held, "{} of {held} locks are listed", locks.len());
                self.deadlocks_shown(deadlocks, at)
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks that reported cycles are cycles, and that there are none if none are reported.
    fn deadlocks_shown(&self, shown: &[Vec<lock::Link>], at: u64) -> Audit {
        let mut edges = Vec::new();
        for ((kind, name), timeline) in &self.pools {
            let (PoolKind::Lock, Some(pool)) = (kind, timeline.at(at)) else { continue };
            for (waiter, held) in
                pool.queue.iter().flat_map(|one| pool.holds.iter().map(move |held| (one, held)))
            {
                edges.push((waiter.agent.clone(), name.clone(), held.holder.clone()));
            }
        }
        for circle in shown {
            for (index, link) in circle.iter().enumerate() {
                let edge =
                    (link.agent.clone(), link.waits_for.as_str().to_owned(), link.held_by.clone());
                demand!(edges.contains(&edge), "a deadlock has {link:?}, which is wrong");
                let next = &circle[(index + 1) % circle.len()];
                demand!(link.held_by == next.agent, "{link:?} is not followed by {next:?}");
            }
        }
        // An agent that waits for none that waits is in no cycle; such agents are removed until
        // none is left.
        while let Some(index) =
            edges.iter().position(|(_, _, holder)| !edges.iter().any(|(agent, ..)| agent == holder))
        {
            edges.remove(index);
        }
        demand!(shown.is_empty() == edges.is_empty(), "{edges:?} go in circles, shown: {shown:?}");
        Ok(())
    }

    /// Checks a refused lock command.
    pub(crate) fn refused_lock(
        &self,
        rejection: &lock::Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            lock::Rejection::StaleToken { name, given, hold } => {
                coverage.met("answer: stale hold refused");
                let pool = self.lock(name, at);
                let there = pool.holds.first();
                let live = there.is_some_and(|there| there.token == given.0);
                demand!(!live, "token {given} of lock `{name}` was refused, but it was live");
                let same = match (there, hold) {
                    (None, None) => true,
                    (Some(there), Some(hold)) => same_hold(there, hold),
                    (Some(_), None) | (None, Some(_)) => false,
                };
                demand!(same, "lock `{name}` is shown as {hold:?}, but it is {there:?}");
                Ok(())
            }
            other => {
                let code = other.code();
                Err(Breach(format!("no request can cause `{code}`")))
            }
        }
    }

    /// Checks a refusal because a call would have to wait.
    pub(crate) fn refused_wait(&self, mutation: &Mutation, at: u64) -> Audit {
        let waits = commands(mutation).first().is_some_and(|command| match command {
            Command::Lock(LockCommand::Acquire(acquire)) => {
                acquire.wait_ms.is_some() && !self.lock(&acquire.name, at).holds.is_empty()
            }
            Command::Semaphore(semaphore::Command::Acquire(acquire)) => {
                self.must_wait_for(acquire, at)
            }
            Command::Task(task::Command::Claim(claim)) => claim.wait_ms.is_some(),
            Command::Handoff(handoff::Command::Receive { wait_ms }) => wait_ms.is_some(),
            Command::Barrier(barrier::Command::Arrive(arrive)) => self.must_wait_at(arrive, at),
            _ => false,
        });
        demand!(waits, "{mutation:?} does not have to wait at {at}");
        Ok(())
    }
}

/// Whether a token is the one that is shown, or is not shown: who sees it is checked for all
/// answers alike.
pub(crate) fn is_shown(token: u64, shown: Token) -> bool {
    shown.is_hidden() || shown.0 == token
}

fn same_hold(there: &PoolHold, shown: &lock::Hold) -> bool {
    there.holder == shown.holder
        && is_shown(there.token, shown.token)
        && there.since == shown.acquired_at
        && there.expires_at == shown.expires_at
        && there.ttl_ms == shown.ttl_ms
}

pub(crate) fn same_queue(pool: &Pool, shown: &[baton_core::waiting::wait::Wait]) -> bool {
    let same = |(there, shown): (
        &crate::models::lock_pool::PoolWaiter,
        &baton_core::waiting::wait::Wait,
    )| {
        there.agent == shown.agent
            && there.wait == shown.id.0
            && there.since == shown.since
            && there.until == shown.until
    };
    pool.queue.len() == shown.len() && pool.queue.iter().zip(shown).all(same)
}

impl BatchReader<'_> {
    /// The effects of a lock command.
    pub(crate) fn lock(&mut self, command: &LockCommand) -> Audit {
        match command {
            LockCommand::Acquire(acquire) => self.acquire(acquire),
            LockCommand::Renew { name, ttl_ms, .. } => {
                if let Some(Event::Lock(LockEvent::Renewed { name: renewed, ttl_ms: lasts })) =
                    self.peek()
                    && renewed == name
                {
                    demand!(ttl_ms.is_none_or(|ttl| ttl == *lasts), "it lasts for another time");
                    self.skip();
                }
                Ok(())
            }
            LockCommand::Release { name, token } => {
                match self.take()? {
                    Event::Lock(LockEvent::Released { name: released, token: stale }) => {
                        demand!(name == released && token == stale, "another hold was released");
                    }
                    other => demand!(false, "a release was due, not {}", other.kind()),
                }
                self.follow_grants();
                Ok(())
            }
        }
    }

    fn acquire(&mut self, acquire: &lock::Acquire) -> Audit {
        let ttl = acquire.ttl_ms.unwrap_or(limits::HOLD_TTL_MS_DEFAULT);
        match self.peek() {
            Some(Event::Lock(LockEvent::Acquired { name, holder, ttl_ms, wait: None, .. })) => {
                demand!(name == &acquire.name, "another lock was taken");
                demand!(
                    *holder == self.batch.agent && ttl == *ttl_ms,
                    "it was acquired differently"
                );
                self.skip();
            }
            Some(Event::Lock(LockEvent::Queued { name, ttl_ms, until, .. })) => {
                demand!(name == &acquire.name && ttl == *ttl_ms, "it waits for something else");
                let longest = acquire.wait_ms.map(|wait| self.batch.time.after(wait));
                demand!(longest == Some(*until), "it waits until {until}, not {longest:?}");
                self.skip();
            }
            // In a transaction, a lock that is held already does not reject the rest.
            _ => demand!(acquire.wait_ms.unwrap_or(0) == 0, "it did not even wait"),
        }
        Ok(())
    }

    /// Holds and waits of a session end with it. A law of the ledger checks that exactly these end.
    pub(crate) fn follow_let_go(&mut self) {
        while let Some(event) = self.peek() {
            let let_go = matches!(
                event,
                Event::Lock(
                    LockEvent::GaveUp { left: Left::SessionEnded, .. } | LockEvent::Dropped { .. }
                ) | Event::Semaphore(
                    semaphore::Event::GaveUp { left: Left::SessionEnded, .. }
                        | semaphore::Event::Dropped { .. }
                ) | Event::Barrier(barrier::Event::Withdrawn {
                    left: Some(Left::SessionEnded),
                    ..
                }) | Event::Join(join::Event::GaveUp { left: Left::SessionEnded, .. })
                    | Event::Wait(wait::Event::GaveUp { left: Left::SessionEnded, .. })
                    | Event::Handoff(
                        handoff::Event::GaveUp { left: Left::SessionEnded, .. }
                            | handoff::Event::Undelivered { .. }
                            | handoff::Event::Failed { .. }
                    )
                    | Event::Message(
                        message::Event::GaveUp { left: Left::SessionEnded, .. }
                            | message::Event::HandlersGone { .. }
                            | message::Event::Rerouted { .. }
                            | message::Event::Lost { .. }
                    )
                    | Event::Stream(stream::Event::GaveUp { left: Left::SessionEnded, .. })
                    | Event::Task(
                        task::Event::GaveUp { left: Left::SessionEnded, .. }
                            | task::Event::Failed { cause: task::Cause::AgentGone, .. }
                            | task::Event::Abandoned { .. }
                            // Below a task that was lost.
                            | task::Event::Released { .. }
                    )
                    | Event::Pipeline(pipeline::Event::StageAbandoned { .. })
            );
            if !let_go {
                return;
            }
            self.skip();
        }
    }

    /// Free permits go to the wait queue. A law of the ledger checks that they do, and to which
    /// calls.
    pub(crate) fn follow_grants(&mut self) {
        while let Some(event) = self.peek() {
            let settles = matches!(
                event,
                Event::Join(join::Event::Settled { .. } | join::Event::Answered { .. })
                    | Event::Handoff(
                        handoff::Event::Cancelled { .. }
                            | handoff::Event::Completed { .. }
                            | handoff::Event::Failed { .. }
                    )
            );
            if !settles && !matches!(event.wait(), Some(Step::Granted(_))) {
                return;
            }
            self.skip();
        }
    }
}
