//! Workspaces that were looked for and do not exist, and how many may be in memory.
//!
//! ```text
//!   query ──▶ not in memory ──▶ the driver looks on disk ──▶ there: loaded
//!                                                       └──▶ absent: its name is kept for a while
//! ```
//!
//! A query about an absent workspace is answered from an empty one that all of them share, so
//! queries about many names cost no memory. The names that are kept are bounded; one that is
//! dropped is looked for again.

use std::collections::{HashSet, VecDeque};

use baton_core::{Answer, Query, Space, Timestamp, WorkspaceName};

use super::{Held, Machine};
use crate::admission::{Admission, RetryAfter};

/// Enough that no caller finds its name dropped between looking and asking.
const NAMES_MAX: usize = 4_096;
/// When there are too many workspaces in memory, this part of them leaves at once, so that the
/// search for the least recently used ones is rare.
const LEAVING_PART: usize = 16;

/// Names without a workspace.
#[derive(Default)]
pub(super) struct Absent {
    names: HashSet<WorkspaceName>,
    /// The same names, oldest first, with some that were removed from the set.
    order: VecDeque<WorkspaceName>,
    space: Box<Space>,
}

impl Absent {
    /// The answer to a question about a workspace that is not in memory. One about the past of a
    /// workspace needs it there even if it does not exist.
    pub(super) fn ask<W>(&self, workspace: &WorkspaceName, query: &Query) -> Admission<W, ()> {
        if !self.names.contains(workspace) {
            return Admission::Retry((), RetryAfter::Find);
        }
        let revision = self.space.revision();
        match self.space.query(query) {
            Some(reply) => {
                let answer = reply.map(|reply| Answer { revision, reply });
                Admission::Answer(Held::new(answer, 0))
            }
            None => Admission::Retry((), RetryAfter::Load),
        }
    }

    pub(super) fn forget(&mut self, workspace: &WorkspaceName) {
        self.names.remove(workspace);
    }
}

impl Machine {
    /// There is nothing of this workspace, in memory or on disk. Called while no other thread can
    /// create it.
    pub fn remember_absent(&mut self, workspace: &WorkspaceName) {
        if !self.absent.names.insert(workspace.clone()) {
            return;
        }
        self.absent.order.push_back(workspace.clone());
        while self.absent.order.len() > NAMES_MAX {
            if let Some(oldest) = self.absent.order.pop_front() {
                self.absent.names.remove(&oldest);
            }
        }
    }

    /// Drops the least recently used workspaces if there are more than this many. Workspaces that
    /// are watched, awaited or not durable yet stay.
    pub fn evict_beyond(&mut self, residents_max: usize) {
        if self.residents.len() < residents_max {
            return;
        }
        let mut used: Vec<(Timestamp, WorkspaceName)> =
            self.residents.iter().map(|(name, there)| (there.used_at, name.clone())).collect();
        used.sort();
        let leaving = (residents_max / LEAVING_PART).max(1);
        for (_, workspace) in used.iter().take(leaving) {
            self.evict(workspace);
        }
    }
}
