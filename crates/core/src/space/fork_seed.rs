//! The start of a space with the content of another workspace.
//!
//! Holders stay in the original workspace: no agent of the new one could renew or release what they
//! hold. So every hold, offer, wait and session ends when the fork is created, in an order in which
//! nothing is granted to the next waiter, and no release counts as a failure.

use std::collections::BTreeSet;

use super::Space;
use crate::command::{Command, Request};
use crate::history::Origin;
use crate::names::AgentId;
use crate::primitive::{self, Table};
use crate::rejection::Rejection;
use crate::signal::Signal;
use crate::time::Timestamp;
use crate::{agent, handoff, secret, task, workspace};

#[cfg(test)]
mod tests;

/// The recorded reason, where there is one.
const REASON: &str = "the workspace began with the content of another";

impl Space {
    /// Makes this copy of another workspace independent. Returns nothing: the changes are in the
    /// tables, and no other code has seen the space yet.
    pub fn seed_fork(&mut self, origin: Origin, now: Timestamp) -> Result<(), Rejection> {
        let engine = AgentId::engine();
        let found = primitive::Signal::Own(workspace::Signal::Found { origin });
        self.signal(vec![Signal::Workspace(found)], now)?;
        #[cfg(feature = "planted")]
        if crate::planted::is("founding.still_held") {
            return Ok(());
        }
        let waits: Vec<_> = self.waits().collect();
        for wait in waits {
            if let Some(signal) = self.give_up(wait) {
                self.signal(vec![signal], now)?;
            }
        }
        for (giver, command) in self.offers() {
            self.act(command, &giver, now)?;
        }
        for (holder, command) in self.leases() {
            self.act(command, &holder, now)?;
        }
        let active = self.agent.after(None).filter(|agent| self.agent.is_active(&agent.id));
        let active: Vec<AgentId> = active.map(|agent| agent.id.clone()).collect();
        for agent in active {
            // The end of a supervisor's session has ended those below it.
            if self.agent.is_active(&agent) {
                self.act(agent::Command::Leave { agent, token: None }.into(), &engine, now)?;
            }
        }
        for holder in self.holders() {
            for signal in Signal::let_go(&holder) {
                self.signal(vec![signal], now)?;
            }
        }
        self.workspace.settle_founding(self.revision, self.time);
        Ok(())
    }

    /// Deletes every secret, if their values were not copied: revealing a reference then fails as
    /// not found.
    pub fn forget_secrets(&mut self, now: Timestamp) -> Result<(), Rejection> {
        let secrets: Vec<_> = self.secret.after(None).map(|it| it.secret.clone()).collect();
        for secret in secrets {
            self.act(secret::Command::Delete { secret }.into(), &AgentId::engine(), now)?;
        }
        Ok(())
    }

    fn act(&mut self, command: Command, agent: &AgentId, now: Timestamp) -> Result<(), Rejection> {
        self.commit(Request::from(command), agent, now).map(drop)
    }

    /// The commands that cancel the open hand-offs.
    fn offers(&self) -> Vec<(AgentId, Command)> {
        let every = handoff::List::default();
        let open = self.handoff.after(&every).filter(|handoff| handoff.status.is_open());
        let withdrawn = open.map(|it| {
            let (handoff, reason) = (it.id.clone(), Some(REASON.to_owned()));
            (it.from.clone(), handoff::Command::Cancel { handoff, reason }.into())
        });
        withdrawn.collect()
    }

    /// The commands that release the tasks, which does not count as a failed attempt.
    fn leases(&self) -> Vec<(AgentId, Command)> {
        let every = task::List::default();
        let held = self.task.after(&every).filter_map(|record| {
            let lease = record.lease.as_ref()?;
            let (task, reason) = (record.id.clone(), Some(REASON.to_owned()));
            let release = task::Release { task, token: lease.token, reason };
            Some((lease.holder.clone(), task::Command::Release(release).into()))
        });
        held.collect()
    }

    /// The agents that hold something without a session.
    fn holders(&self) -> BTreeSet<AgentId> {
        let (locks, permits) = (self.lock.facts().0, self.semaphore.facts().1);
        let locks = locks.into_iter().map(|hold| hold.holder);
        let permits = permits.into_iter().map(|permit| permit.holder);
        let accepted =
            handoff::List { status: Some(handoff::Status::Accepted), ..handoff::List::default() };
        let receivers = self.handoff.after(&accepted).filter_map(|it| it.receiver.clone());
        locks.chain(permits).chain(receivers).collect()
    }
}
