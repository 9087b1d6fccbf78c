//! The removal of workspaces from memory: they are evicted, or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::{Revision, Space, Timestamp, WaitId, WorkspaceName};

use super::Machine;
use super::deadlines::move_deadline;
use crate::history::Tail;
use crate::waiter::{WaitResult, Waiter};
use crate::watch::{Wakers, Watchers};

/// Why a workspace stays in memory.
pub enum Stays {
    /// It was changed again: this group must be durable first.
    Changed {
        /// The group.
        group: u64,
    },
    /// Its files are being read.
    Read,
}

/// A workspace that is no longer in memory, with everyone who waits for something in it.
pub struct Removed {
    /// Its tables.
    pub space: Space,
    tail: Tail,
    deadline: Option<Timestamp>,
    watchers: Watchers,
    waiters: BTreeMap<WaitId, Arc<Waiter>>,
}

impl Removed {
    /// Ends the waiting calls with this result, and the watches with this revision as the one to
    /// continue from.
    pub fn end(&mut self, resume_from: Revision, result: &WaitResult) -> Wakers {
        let mut wakers = Wakers::default();
        self.watchers.close(resume_from, &mut wakers);
        let waiters = std::mem::take(&mut self.waiters).into_values();
        wakers.waiters.extend(waiters.map(|waiter| (waiter, result.clone())));
        wakers
    }
}

impl Machine {
    /// Evicts a workspace from memory if all of it is durable and it has no watchers, waiters or
    /// readers. Its deadline is kept, and so are signs of life that are not recorded. Its tables
    /// are to be taken by [`Self::take_evicted`].
    pub fn evict(&mut self, workspace: &WorkspaceName) -> bool {
        let durable = self.durable;
        let Some(resident) = self.residents.get(workspace) else { return false };
        // Also while its tables are away.
        let is_read = Arc::strong_count(&resident.reading) > 1;
        if is_read || resident.newest.group > durable || resident.is_awaited() {
            return false;
        }
        let resident = self.residents.remove(workspace).expect("it was just there");
        self.asleep.extend(resident.alarm().map(|moment| (workspace.clone(), moment)));
        let signs = resident.space.agent.unrecorded_signs();
        let signs: Vec<_> = signs.map(|(agent, moment)| (agent.clone(), moment)).collect();
        if !signs.is_empty() {
            self.signs_of_life.insert(workspace.clone(), signs);
        }
        let resident = *resident;
        if !resident.history.tail.is_empty() {
            self.tails.insert(workspace.clone(), resident.history.tail);
        }
        self.evicted.push(resident.space.into_space());
        true
    }

    /// Tables of workspaces that were evicted since the last call. To free a million entries takes
    /// long: drop them when the machine is no longer locked.
    pub fn take_evicted(&mut self) -> Vec<Space> {
        std::mem::take(&mut self.evicted)
    }

    /// Removes a workspace without any commit after this revision from memory, and returns its
    /// watchers; none if it has commits.
    pub fn take_if_empty(
        &mut self,
        workspace: &WorkspaceName,
        began: Revision,
    ) -> Option<Watchers> {
        self.absent.forget(workspace);
        if let Some(tail) = self.tails.get_mut(workspace) {
            tail.forget(began);
            if !tail.is_empty() {
                return None;
            }
            self.tails.remove(workspace);
        }
        match self.residents.get(workspace) {
            Some(resident) if resident.is_away() || resident.space.revision() > began => None,
            Some(_) => self.residents.remove(workspace).map(|resident| resident.watchers),
            None => Some(Watchers::default()),
        }
    }

    /// Removes a workspace with its tail, if all of it is durable and nothing reads its files.
    pub fn remove(&mut self, workspace: &WorkspaceName) -> Result<Removed, Stays> {
        let durable = self.durable;
        let resident = self.residents.get(workspace).expect("it was just loaded");
        if resident.newest.group > durable {
            return Err(Stays::Changed { group: resident.newest.group });
        }
        if Arc::strong_count(&resident.reading) > 1 {
            return Err(Stays::Read);
        }
        let mut resident = self.residents.remove(workspace).expect("it was just there");
        let (deadline, ahead_ms) = (resident.deadline, resident.ahead_ms);
        move_deadline(&mut self.deadlines, workspace, &mut resident.deadline, None, ahead_ms);
        self.forget_live(workspace, &mut resident);
        let resident = *resident;
        let (space, tail) = (resident.space.into_space(), resident.history.tail);
        let (watchers, waiters) = (resident.watchers, resident.waiters);
        Ok(Removed { space, tail, deadline, watchers, waiters })
    }

    /// The deletion of a workspace was not recorded: it is loaded again when it is used.
    pub fn put_back(&mut self, workspace: &WorkspaceName, removed: Removed) {
        if !removed.tail.is_empty() {
            self.tails.insert(workspace.clone(), removed.tail);
        }
        self.remember_deadline(workspace.clone(), removed.deadline);
    }
}
