//! Waiting calls and tokens: which calls wait at any time, and which tokens are live.
//!
//! Laws, for every primitive that lets callers wait:
//!
//! 1. A wait starts once, by its own caller, and its number is the revision of that commit.
//! 2. It ends once: granted, timed out, or because its caller or the session of its caller is gone;
//!    each only if that is true.
//! 3. Nothing is granted to a caller that was gone before.
//! 4. When a server has lost its memory, all callers are gone: the first events in a workspace end
//!    all its waits.
//! 5. Tokens grow over the whole workspace, whichever agent gets them.
//! 6. A call that waited with an idempotency key and got something has a receipt.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::{AgentId, Batch, IdempotencyKey, Timestamp, Token, WaitId, waiting::wait};

use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, demand};
use crate::models::live::LiveModel;
use crate::models::status_wait::StatusWaits;

/// A waiting call.
#[derive(Clone, Debug)]
struct OpenWait {
    agent: AgentId,
    until: Timestamp,
    /// The caller was gone after this revision.
    gone_after: Option<u64>,
    key: Option<IdempotencyKey>,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// With a result.
    Granted,
    /// Without a result.
    Left(wait::Left),
    /// Without a result, because it was reset for all.
    Reset,
}

/// All waits, current or ended.
#[derive(Default)]
pub struct Waits {
    open: BTreeMap<u64, OpenWait>,
    /// The revision at which each ended, and how.
    closed: BTreeMap<u64, (u64, WaitEnd)>,
    /// Callers that disconnected before their wait was durable, and the revision.
    abandoned: BTreeMap<u64, u64>,
    /// Waits whose callers were lost with the memory of a server.
    forsaken: BTreeSet<u64>,
    /// The waiting calls by idempotency key.
    keyed: BTreeMap<(AgentId, IdempotencyKey), Timeline<Option<u64>>>,
    /// The waits for the status of a task or a hand-off.
    pub(crate) statuses: StatusWaits,
    /// Keys whose receipt must be in the current batch.
    receipts_due: Vec<(AgentId, IdempotencyKey)>,
    /// The agents whose calls ended in the current batch.
    callers: Vec<AgentId>,
    /// The live requests, which end waits for messages.
    pub(crate) live: LiveModel,
}

impl Waits {
    /// A call starts to wait.
    pub fn begin(
        &mut self,
        batch: &Batch,
        agent: &AgentId,
        wait: WaitId,
        until: Timestamp,
    ) -> Audit {
        demand!(wait.0 == batch.revision.0, "the call of `{agent}` got number {wait}");
        demand!(batch.agent == *agent, "`{agent}` waits by the hand of `{}`", batch.agent);
        demand!(until > batch.time, "`{agent}` waits until {until}, which is over");
        // A call that waits for work of any kind is in several queues under one number.
        if let Some(open) = self.open.get(&wait.0) {
            let same = open.agent == *agent && open.until == until;
            demand!(same, "two calls begin to wait at revision {wait}");
            return Ok(());
        }
        let gone_after = self.abandoned.remove(&wait.0);
        let open = OpenWait { agent: agent.clone(), until, gone_after, key: None };
        self.open.insert(wait.0, open);
        Ok(())
    }

    /// It waits with a key.
    pub fn begin_keyed(&mut self, batch: &Batch, keyed: &wait::Keyed) -> Audit {
        let revision = batch.revision.0;
        let Some(open) = self.open.get_mut(&keyed.wait.0).filter(|_| keyed.wait.0 == revision)
        else {
            return Err(crate::auditor::Breach(format!("`{}` is the key of no call", keyed.key)));
        };
        demand!(open.agent == keyed.agent, "`{}` is the key of another agent", keyed.key);
        open.key = Some(keyed.key.clone());
        let waits = self.keyed.entry((keyed.agent.clone(), keyed.key.clone())).or_default();
        let twice = waits.now().copied().flatten();
        demand!(twice.is_none(), "two calls wait under `{}`", keyed.key);
        waits.set(revision, Some(keyed.wait.0));
        Ok(())
    }

    fn end(
        &mut self,
        revision: u64,
        wait: WaitId,
        agent: &AgentId,
        how: WaitEnd,
    ) -> Audit<OpenWait> {
        let Some(open) = self.open.remove(&wait.0) else {
            return Err(crate::auditor::Breach(format!(
                "call {wait} of `{agent}` does not wait: {how:?}"
            )));
        };
        demand!(open.agent == *agent, "call {wait} is of `{}`, not of `{agent}`", open.agent);
        self.closed.insert(wait.0, (revision, how));
        self.forsaken.remove(&wait.0);
        self.callers.push(agent.clone());
        if let Some(key) = &open.key {
            let name = (open.agent.clone(), key.clone());
            self.keyed.entry(name).or_default().set(revision, None);
        }
        Ok(open)
    }

    /// A call gets what it waited for.
    pub fn granted(&mut self, batch: &Batch, wait: WaitId, agent: &AgentId) -> Audit {
        let revision = batch.revision.0;
        let open = self.end(revision, wait, agent, WaitEnd::Granted)?;
        demand!(
            open.gone_after.is_none_or(|gone| revision <= gone),
            "call {wait} of `{agent}` was granted something, but its caller was gone after {:?}",
            open.gone_after
        );
        if let Some(key) = open.key {
            self.receipts_due.push((open.agent, key));
        }
        Ok(())
    }

    /// The call can never be granted what it waits for: its time has passed.
    pub fn expect_no_grant(&mut self, wait: u64) {
        if let Some(open) = self.open.get_mut(&wait) {
            open.until = Timestamp(0);
        }
    }

    /// A call gets the answer that it waited for. Nothing is granted, so nothing is stored.
    pub fn notified(&mut self, batch: &Batch, wait: WaitId, agent: &AgentId) -> Audit {
        self.end(batch.revision.0, wait, agent, WaitEnd::Granted).map(drop)
    }

    /// A call stops waiting without a result.
    pub fn left(
        &mut self,
        batch: &Batch,
        wait: WaitId,
        agent: &AgentId,
        left: wait::Left,
        ended: &BTreeSet<AgentId>,
    ) -> Audit {
        if left == wait::Left::Elsewhere {
            let ended = self.closed.get(&wait.0).map(|(revision, _)| *revision);
            demand!(ended == Some(batch.revision.0), "call {wait} was not answered elsewhere");
            return Ok(());
        }
        let open = self.end(batch.revision.0, wait, agent, WaitEnd::Left(left))?;
        let by_engine = batch.agent == AgentId::engine();
        match left {
            wait::Left::Timeout => {
                demand!(by_engine, "the time of call {wait} was over by an agent's hand");
                demand!(
                    batch.time >= open.until,
                    "call {wait} of `{agent}` was over at {}, it may wait until {}",
                    batch.time,
                    open.until
                );
            }
            wait::Left::Gone => {
                let gone =
                    open.gone_after.is_some() || self.live.may_explain(wait.0, batch.revision.0);
                demand!(
                    by_engine && gone,
                    "call {wait} of `{agent}` was given up without a reason"
                );
            }
            // The ledger of pools checks that its weight does not fit.
            wait::Left::TooHeavy => demand!(!by_engine, "no agent made a semaphore smaller"),
            wait::Left::Elsewhere => {}
            wait::Left::SessionEnded => {
                demand!(
                    ended.contains(agent),
                    "call {wait}: the session of `{agent}` has not ended"
                );
            }
        }
        Ok(())
    }

    /// A call ends because its barrier was reset.
    pub fn reset(&mut self, batch: &Batch, wait: WaitId, agent: &AgentId) -> Audit {
        self.end(batch.revision.0, wait, agent, WaitEnd::Reset).map(drop)
    }

    /// The caller is gone: nothing may be granted after this revision.
    pub fn abandon(&mut self, wait: u64, revision: u64) {
        self.live.gone(wait);
        match self.open.get_mut(&wait) {
            Some(open) => {
                open.gone_after.get_or_insert(revision);
            }
            None => {
                self.abandoned.insert(wait, revision);
            }
        }
    }

    /// All callers are lost with the memory of the server.
    pub fn abandon_all(&mut self, revision: u64) {
        self.live.forget();
        // Waits that were not durable are lost too, and their numbers may be used again.
        self.abandoned.clear();
        for (wait, open) in &mut self.open {
            open.gone_after.get_or_insert(revision);
            self.forsaken.insert(*wait);
        }
    }

    /// A waiting call of an agent.
    pub fn of(&self, agent: &AgentId) -> Option<u64> {
        self.open.iter().find(|(_, open)| open.agent == *agent).map(|(wait, _)| *wait)
    }

    /// Takes the agents whose calls ended since the last time.
    pub fn take_callers(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.callers)
    }

    /// Whether any call waits.
    pub fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether any call waited after a revision.
    pub fn any_at(&self, at: u64) -> bool {
        let ended_later = self.closed.iter().any(|(wait, (end, _))| *wait <= at && *end > at);
        ended_later || self.open.keys().any(|wait| *wait <= at)
    }

    /// A call that should have ended by this time.
    pub fn overdue(&self, now: Timestamp) -> Option<(u64, &AgentId)> {
        let mut over = self.open.iter().filter(|(_, open)| open.until <= now);
        over.next().map(|(wait, open)| (*wait, &open.agent))
    }

    /// The revision at which a call ended, and how.
    pub fn closed(&self, wait: u64) -> Option<(u64, WaitEnd)> {
        self.closed.get(&wait).copied()
    }

    /// The waiting call with a key after a revision.
    pub fn under(&self, agent: &AgentId, key: &IdempotencyKey, at: u64) -> Option<u64> {
        self.keyed.get(&(agent.clone(), key.clone()))?.at(at).copied().flatten()
    }

    /// A batch is complete. Returns the keys that must have a receipt in it.
    pub fn complete(&mut self, batch: &Batch) -> Audit<Vec<(AgentId, IdempotencyKey)>> {
        demand!(
            self.forsaken.is_empty(),
            "{:?} happened before the abandoned calls {:?} were given up",
            batch.events,
            self.forsaken
        );
        Ok(std::mem::take(&mut self.receipts_due))
    }
}

/// All granted tokens.
#[derive(Default)]
pub struct Tokens {
    newest: u64,
    lives: BTreeMap<u64, TokenLife>,
}

/// To which agent a token was granted, since which revision it is live, and since which it is not.
struct TokenLife {
    holder: AgentId,
    since: u64,
    end: Option<u64>,
}

impl Tokens {
    /// A token is issued.
    pub fn give(&mut self, batch: &Batch, token: Token, agent: &AgentId) -> Audit {
        demand!(
            token.0 > self.newest,
            "`{agent}` got token {token}, but {} was given before",
            self.newest
        );
        self.newest = token.0;
        let life = TokenLife { holder: agent.clone(), since: batch.revision.0, end: None };
        self.lives.insert(token.0, life);
        Ok(())
    }

    /// A token is stale from now on.
    pub fn end(&mut self, batch: &Batch, token: u64) {
        if let Some(life) = self.lives.get_mut(&token) {
            life.end.get_or_insert(batch.revision.0);
        }
    }

    /// Whether a token is live after a revision.
    pub fn is_live(&self, token: Token, at: u64) -> bool {
        self.holder(token, at).is_some()
    }

    /// The agent that a token belongs to, if it is live after a revision.
    pub fn holder(&self, token: Token, at: u64) -> Option<&AgentId> {
        let life = self.lives.get(&token.0)?;
        let is_live = life.since <= at && life.end.is_none_or(|end| at < end);
        is_live.then_some(&life.holder)
    }
}
