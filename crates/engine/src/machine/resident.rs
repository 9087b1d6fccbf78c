//! The groups that have changed a workspace in memory, and its waiting calls.

use std::sync::Arc;

use baton_core::{
    Answer, Batch, CallOutcome, Rejection, Reply, Request, Revision, WaitId, WorkspaceName,
};

use super::group::Group;
use super::{Held, Mark, Queued, Resident};
use crate::admission::{Admission, HeldAnswer};
use crate::error::Error;
use crate::waiter::Waiter;
use crate::watch::{Notices, Wakers};

impl Resident {
    /// The admission of a committed request. A caller that has to wait is registered; it replaces a
    /// caller that waits already, which made the same request under the same key.
    pub(super) fn admission(
        &mut self,
        workspace: &WorkspaceName,
        outcome: CallOutcome,
        group: u64,
        is_urgent: bool,
    ) -> Admission<Queued, Request> {
        let wait = match outcome {
            CallOutcome::Answered(answer) => {
                return Admission::Answer(Held::new(Ok(answer), group));
            }
            CallOutcome::Waits(wait) => wait,
        };
        let waiter = self.register(workspace, wait);
        Admission::Wait(Queued { waiter, group, is_urgent })
    }

    /// Registers the caller of a waiting call.
    pub(super) fn register(&mut self, workspace: &WorkspaceName, wait: WaitId) -> Arc<Waiter> {
        let waiter = Waiter::new(workspace.clone(), wait);
        if let Some(before) = self.waiters.insert(wait, Arc::clone(&waiter)) {
            let reason = "the same request came again and waits in its place".to_owned();
            before.complete(Err(Error::Unknown { reason }));
        }
        waiter
    }

    /// Delivers live events: with the group they follow, or at once if that is durable.
    pub(super) fn deliver_live(
        &mut self,
        live: impl Iterator<Item = Arc<Batch>>,
        workspace: &WorkspaceName,
        mut groups: [Option<&mut Group>; 2],
        number: u64,
        live_wakers: &mut Wakers,
    ) {
        #[cfg(feature = "planted")]
        if baton_core::planted::is("machine.live_overtakes") {
            groups = [None, None];
        }
        for live in live {
            match groups.iter_mut().flatten().find(|group| group.number == number) {
                Some(group) => group.watched.push((workspace.clone(), live)),
                None => self.watchers.deliver(&Notices::of(&live), live_wakers),
            }
        }
    }

    /// Joins the open group, with the revision before its first change there.
    pub(super) fn enter(&mut self, open: &mut Group, workspace: &WorkspaceName, before: Revision) {
        if self.newest.group != open.number {
            self.earlier = self.newest;
            self.newest = Mark { group: open.number, before };
            self.group_slot = open.join(workspace);
        }
    }

    /// An answer that depends on this revision, held until that is durable.
    pub(super) fn seen(
        &self,
        reply: Result<Reply, Rejection>,
        touched: Revision,
        durable: u64,
    ) -> HeldAnswer {
        let group = self.undurable(touched, durable);
        // The entry may be durable while later changes are not: the revision must not reveal those.
        let seen = group.max(durable);
        #[cfg(feature = "planted")]
        let seen = if baton_core::planted::is("machine.tells_too_much") { u64::MAX } else { seen };
        let revision = self.revision_after(seen);
        #[cfg(feature = "planted")]
        let group = if baton_core::planted::is("machine.dirty_read") { 0 } else { group };
        Held::new(reply.map(|reply| Answer { revision, reply }), group)
    }

    /// Whether the workspace has watchers, waiting calls or pending webhook calls.
    pub fn is_awaited(&self) -> bool {
        !self.watchers.is_empty() || !self.waiters.is_empty() || self.space.reaction.is_calling()
    }

    /// The newest revision that is durable once this group is.
    pub(super) fn revision_after(&self, group: u64) -> Revision {
        let later = [self.earlier, self.newest].into_iter().find(|mark| mark.group > group);
        later.map_or(self.space.revision(), |mark| mark.before)
    }

    /// The group that must be durable before this revision may be shown; 0 if it is already.
    pub fn undurable(&self, revision: Revision, durable: u64) -> u64 {
        for mark in [self.newest, self.earlier] {
            if mark.group > durable && revision > mark.before {
                return mark.group;
            }
        }
        0
    }
}
