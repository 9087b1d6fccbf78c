//! The removal of a workspace that is deleted from memory.

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
