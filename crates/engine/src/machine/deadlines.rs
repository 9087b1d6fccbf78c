//! The deadlines of workspaces, and the time at which the driver has to wake up.
//!
//! ```text
//!   deadlines of workspaces in memory ─┐
//!   deadlines of those that are not ───┼──▶ the alarm: until then the driver sleeps
//!   deadlines of live requests ────────┤
//!   deferred writes ───────────────────┘
//! ```

use std::collections::BTreeSet;

use baton_core::{AgentId, Signal, Timestamp, WorkspaceName};

use super::local_time::by_clock;
use super::{Machine, Resident};

/// How long a deferred write waits if no other write follows: hardly noticeable, and many times the
/// duration of a write.
const DEFER_MS_MAX: u64 = 5;
/// How long after a workspace was to be loaded for its deadline it is loaded again, if it is still
/// not in memory: its storage may have failed.
const LOAD_AGAIN_MS: u64 = 1_000;

impl Machine {
    /// Sets the deadline of a workspace on disk, by its own time. The last call counts.
    pub fn remember_deadline(&mut self, workspace: WorkspaceName, moment: Option<Timestamp>) {
        self.forget_sleeper(&workspace);
        if let Some(moment) = moment {
            let moment = by_clock(moment, self.ahead_of(&workspace));
            self.deadlines.insert((moment, workspace.clone()));
            self.asleep.insert(workspace, moment);
        }
    }

    pub(super) fn forget_sleeper(&mut self, workspace: &WorkspaceName) {
        if let Some((name, moment)) = self.asleep.remove_entry(workspace) {
            self.deadlines.remove(&(moment, name));
        }
    }

    /// Workspaces that are not in memory and have a deadline.
    pub fn asleep(&self) -> Vec<WorkspaceName> {
        self.asleep.keys().cloned().collect()
    }

    /// Workspaces with a due deadline.
    pub fn due(&self, now: Timestamp) -> Vec<WorkspaceName> {
        let is_due = |(moment, _): &&(Timestamp, WorkspaceName)| *moment <= now;
        let due = self.deadlines.iter().take_while(is_due);
        let live = self.live_deadlines.iter().take_while(is_due);
        // Actions that are due in a workspace whose tables are away are done when the tables are
        // back.
        let due = due.chain(live).filter(|(_, workspace)| !self.is_blocked(workspace));
        due.map(|(_, workspace)| workspace.clone()).collect()
    }

    /// The last commit may be written together with the next one, because it answers no caller. If
    /// none follows, the driver writes it soon.
    pub fn defer_write(&mut self, now: Timestamp) {
        self.deferred_until.get_or_insert(now.after(DEFER_MS_MAX));
    }

    /// The next deadline of all workspaces.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let first = [&self.deadlines, &self.live_deadlines].map(BTreeSet::first);
        first.into_iter().flatten().map(|(moment, _)| *moment).min()
    }

    /// The driver has written the open group, and sleeps until the next deadline. While writes are
    /// deferred it wakes up soon, so that they need not wake it.
    pub fn set_alarm(&mut self, now: Timestamp) -> Option<Timestamp> {
        let soon = self.deferred_until.take().map(|_| now.after(DEFER_MS_MAX));
        self.alarm = self.next_deadline().into_iter().chain(soon).min();
        self.alarm
    }

    /// Whether something is due before the driver wakes up: then it must be woken. Called under the
    /// lock under which the alarm is set, or a deadline could be missed between the two.
    pub fn needs_wakeup(&self) -> bool {
        let next = self.next_deadline().into_iter().chain(self.deferred_until).min();
        next.is_some_and(|next| self.alarm.is_none_or(|alarm| next < alarm))
    }

    /// Executes what is due in a workspace; false if it is not in memory. Such a workspace reports
    /// its deadline again when it is loaded, and is due again soon if that fails.
    pub fn expire(&mut self, workspace: &WorkspaceName, now: Timestamp) -> bool {
        let Some(resident) = self.residents.get_mut(workspace) else {
            self.forget_sleeper(workspace);
            let again = now.after(LOAD_AGAIN_MS);
            self.deadlines.insert((again, workspace.clone()));
            self.asleep.insert(workspace.clone(), again);
            return false;
        };
        if resident.is_blocked() {
            return true;
        }
        self.expire_live(workspace, now);
        let resident = self.residents.get_mut(workspace).expect("it was just there");
        let due = resident.due(&mut self.deadlines, workspace, now);
        for signal in due {
            // The rest stays due.
            if self.is_blocked(workspace) {
                break;
            }
            self.signal(workspace, vec![signal], now);
        }
        true
    }
}

impl Resident {
    /// The signals for what is due. Without any, only the sessions of agents that wait were due.
    fn due(
        &mut self,
        deadlines: &mut BTreeSet<(Timestamp, WorkspaceName)>,
        workspace: &WorkspaceName,
        now: Timestamp,
    ) -> Vec<Signal> {
        let local = self.local(now);
        self.hear_live(local);
        let due = self.space.due(local);
        let deadline = self.space.next_deadline();
        move_deadline(deadlines, workspace, &mut self.deadline, deadline, self.ahead_ms);
        due
    }

    /// An agent made a call that changed nothing. It counts as a heartbeat.
    pub(super) fn hear(
        &mut self,
        deadlines: &mut BTreeSet<(Timestamp, WorkspaceName)>,
        workspace: &WorkspaceName,
        agent: &AgentId,
        now: Timestamp,
    ) {
        let local = self.local(now);
        if self.space.hear(agent, local) {
            let deadline = self.space.next_deadline();
            move_deadline(deadlines, workspace, &mut self.deadline, deadline, self.ahead_ms);
        }
    }
}

/// A workspace in memory has another deadline. Both are by its own time.
pub(super) fn move_deadline(
    deadlines: &mut BTreeSet<(Timestamp, WorkspaceName)>,
    workspace: &WorkspaceName,
    before: &mut Option<Timestamp>,
    after: Option<Timestamp>,
    ahead_ms: u64,
) {
    if let Some(moment) = before.take() {
        deadlines.remove(&(by_clock(moment, ahead_ms), workspace.clone()));
    }
    if let Some(moment) = after {
        deadlines.insert((by_clock(moment, ahead_ms), workspace.clone()));
    }
    *before = after;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use baton_core::{Timestamp, WorkspaceName};
    use baton_log::Position;

    use super::super::Machine;

    #[test]
    fn a_deadline_is_not_lost_if_its_workspace_cannot_be_loaded() {
        let mut machine = Machine::new(Position(0), HashMap::new(), Timestamp(0));
        let workspace = WorkspaceName::parse("w").expect("a good name");
        machine.remember_deadline(workspace.clone(), Some(Timestamp(50)));
        for now in [Timestamp(100), Timestamp(1_100), Timestamp(2_100)] {
            assert_eq!(machine.due(now), std::slice::from_ref(&workspace));
            assert!(!machine.expire(&workspace, now), "it is not in memory");
            assert!(machine.due(now).is_empty(), "it is being loaded");
        }
    }
}
