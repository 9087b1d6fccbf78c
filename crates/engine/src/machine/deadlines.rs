//! When time causes something, and when the driver has to look.
//!
//! ```text
//!   deadlines of workspaces in memory ─┐
//!   deadlines of those that are not ───┼──▶ the alarm: until then the driver sleeps
//!   what was left to be written soon ──┘
//! ```

use std::collections::BTreeSet;

use baton_core::{AgentId, Timestamp, WorkspaceName};

use super::{Absent, Machine};

/// How long what nobody waits for stays unwritten if nothing comes after it: as long as one hardly
/// notices, and many times what a write takes.
const DEFER_MS_MAX: u64 = 5;

impl Machine {
    /// A workspace on disk wants to be woken at this time. The last word counts.
    pub fn remember_deadline(&mut self, workspace: WorkspaceName, moment: Option<Timestamp>) {
        self.forget_sleeper(&workspace);
        if let Some(moment) = moment {
            self.deadlines.insert((moment, workspace.clone()));
            self.asleep.insert(workspace, moment);
        }
    }

    pub(super) fn forget_sleeper(&mut self, workspace: &WorkspaceName) {
        if let Some((name, moment)) = self.asleep.remove_entry(workspace) {
            self.deadlines.remove(&(moment, name));
        }
    }

    /// Workspaces that are not in memory, and in which time will cause something.
    pub fn asleep(&self) -> Vec<WorkspaceName> {
        self.asleep.keys().cloned().collect()
    }

    /// Workspaces for which time has caused something by now.
    pub fn due(&self, now: Timestamp) -> Vec<WorkspaceName> {
        let due = self.deadlines.iter().take_while(|(moment, _)| *moment <= now);
        due.map(|(_, workspace)| workspace.clone()).collect()
    }

    /// What was gathered last may be written with whatever comes next: nobody is told anything by
    /// it. If nothing comes, the driver looks after it soon.
    pub fn defer_write(&mut self, now: Timestamp) {
        self.deferred_until.get_or_insert(now.after(DEFER_MS_MAX));
    }

    /// When time next causes something anywhere.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(moment, _)| *moment)
    }

    /// The driver has written what was gathered, and sleeps until time next causes something, and
    /// no longer. While things are being left it looks again soon, so that nobody has to wake it.
    pub fn set_alarm(&mut self, now: Timestamp) -> Option<Timestamp> {
        let soon = self.deferred_until.take().map(|_| now.after(DEFER_MS_MAX));
        self.alarm = self.next_deadline().into_iter().chain(soon).min();
        self.alarm
    }

    /// Whether something is to be done before the driver looks again: then it must be woken. Asked
    /// under the lock under which the alarm is set, or a deadline could fall between the two.
    pub fn needs_wakeup(&self) -> bool {
        let next = self.next_deadline().into_iter().chain(self.deferred_until).min();
        next.is_some_and(|next| self.alarm.is_none_or(|alarm| next < alarm))
    }

    /// Lets time cause what is due in a workspace. One that is not in memory tells its deadline
    /// again when it is loaded.
    pub fn expire(&mut self, workspace: &WorkspaceName, now: Timestamp) -> Result<(), Absent<()>> {
        let Some(resident) = self.residents.get(workspace) else {
            self.forget_sleeper(workspace);
            return Err(Absent(()));
        };
        for command in resident.space.due(now) {
            let held = self.submit(workspace, command.into(), &AgentId::engine(), now);
            // Nobody waits for it; what time causes is seen by its events.
            let _ = held.map_err(|_| Absent(()))?;
        }
        Ok(())
    }
}

/// A workspace in memory has another deadline.
pub(super) fn move_deadline(
    deadlines: &mut BTreeSet<(Timestamp, WorkspaceName)>,
    workspace: &WorkspaceName,
    before: &mut Option<Timestamp>,
    after: Option<Timestamp>,
) {
    if let Some(moment) = before.take() {
        deadlines.remove(&(moment, workspace.clone()));
    }
    if let Some(moment) = after {
        deadlines.insert((moment, workspace.clone()));
    }
    *before = after;
}
